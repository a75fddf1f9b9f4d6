// Creates the workspace whose events the benches track, with limits that no bench reaches.
import { LIMIT_DEFAULTS } from '../src/core/workspace.ts'
import { createWorkspace, type NewWorkspace } from '../src/actions/create-workspace.ts'
import { migrate } from '../src/store/migrations.ts'
import { openDatabase } from '../src/store/open-database.ts'

/** Creates the workspace in a new store. */
export async function makeTrackedWorkspace(location: Parameters<typeof openDatabase>[0]): Promise<NewWorkspace> {
  const database = openDatabase(location)
  try {
    await migrate(database, Date.now())
    const limits = { ...LIMIT_DEFAULTS, track_events_per_minute: 1_000_000_000 }
    return await createWorkspace(database, 'bench', { limits }, Date.now())
  } finally {
    await database.close()
  }
}

/** The Authorization header for its data key. */
export function authorizationOf({ id, dataKey }: NewWorkspace): string {
  return `Basic ${Buffer.from(`${id}:${dataKey}`).toString('base64')}`
}
