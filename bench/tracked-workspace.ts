// The workspace whose events the benches track, in a store of its own, without a limit that they could reach.
import { LIMIT_DEFAULTS } from '../src/core/workspace.ts'
import { createWorkspace, type NewWorkspace } from '../src/actions/create-workspace.ts'
import { migrate } from '../src/store/migrations.ts'
import { openDatabase } from '../src/store/open-database.ts'

/** Makes it in a store that is new. */
export async function makeTrackedWorkspace(place: Parameters<typeof openDatabase>[0]): Promise<NewWorkspace> {
  const database = openDatabase(place)
  try {
    await migrate(database, Date.now())
    const limits = { ...LIMIT_DEFAULTS, track_events_per_minute: 1_000_000_000 }
    return await createWorkspace(database, 'bench', { limits }, Date.now())
  } finally {
    await database.close()
  }
}

/** The Authorization header of those who track its events. */
export function authorizationOf({ id, dataKey }: NewWorkspace): string {
  return `Basic ${Buffer.from(`${id}:${dataKey}`).toString('base64')}`
}
