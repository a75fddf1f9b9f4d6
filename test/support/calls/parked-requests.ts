// Parks entries as the pipeline does when it cannot apply them.
import { parkEntries } from '../../../src/store/entries/parked-entries.ts'
import { saveReceipts } from '../../../src/store/entries/request-receipts.ts'
import type { TestServer } from '../server.ts'

interface ParkedRequest {
  /** A text goes in as it is, JSON or not. */
  readonly body: unknown
  readonly workspaceId?: string
  readonly error?: string
  readonly context?: object
}

/** Far behind the entries that the server itself appends. */
let position = 1_000_000_000

/** Returns the positions. The request ids are `request-of-POSITION`. */
export async function parkRequests(server: TestServer, ...requests: readonly ParkedRequest[]): Promise<number[]> {
  const entries = requests.map(({ body, workspaceId = server.workspace.id, error, context = {} }) => ({
    position: ++position,
    workspaceId,
    kind: 'track_events',
    requestId: `request-of-${position}`,
    receivedAt: Date.now(),
    context: JSON.stringify(context),
    body: typeof body === 'string' ? body : JSON.stringify(body),
    error: error ?? 'the disk was full',
    parkedAt: Date.now(),
  }))
  await server.database.write(async (store) => {
    await parkEntries(store, entries)
    await saveReceipts(
      store,
      entries.map(({ requestId, workspaceId, error, receivedAt }) => {
        return { requestId, workspaceId, status: 'parked', events: 1, duplicates: 0, notCounted: 0, error, receivedAt }
      }),
    )
  })
  return entries.map((entry) => entry.position)
}
