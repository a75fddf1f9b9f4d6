// Checks a batch that computes for so long between two statements that PostgreSQL ends its transaction: it is not
// retried forever, and work that can be split into shorter portions succeeds.
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { LogFollower } from '../../src/pipeline/follower/follow-log.ts'
import type { StoredHistory } from '../../src/statistics/stored-history.ts'
import { inPortions } from '../../src/statistics/portions.ts'
import { listParkedEntries } from '../../src/store/entries/parked-entries.ts'
import type { Database, Store } from '../../src/store/store.ts'
import { WriterLock } from '../../src/runtime/writer-lock.ts'
import { meddled } from '../support/meddled-store.ts'
import { NOW, openPipelineBench, type PipelineBench } from '../support/pipeline-bench.ts'
import { until } from '../support/server.ts'
import { describeOnPostgres } from '../support/stores.ts'

const ITEMS = Array.from({ length: 10 }, (_, index) => index)

describeOnPostgres('A transaction that is idle for too long', () => {
  let bench: PipelineBench

  beforeAll(async () => void (bench = await openPipelineBench('postgres')))
  afterAll(() => bench.close())
  beforeEach(() => bench.makeWorkspace())

  const events = (customer_id: string, action: string) => ({
    body: { type: 'event', customer_id, actions: [{ action }] },
  })

  it('is not retried forever: its batch is split, and the entry that takes too long is parked', async () => {
    const [start, failures] = [await bench.cursor(), [] as string[]]
    const follower = new LogFollower({
      database: withSlowEvents(bench.database),
      logReader: bench.logReader,
      writerLock: new WriterLock(),
      clock: () => NOW,
      onBatch: () => {},
      onFailure: (_error, what) => void failures.push(what),
    })
    const ids = await bench.append(events('c1', 'quick'), events('c2', 'slow'), events('c3', 'quick'))
    follower.start()
    try {
      await until('the log is followed to its end', async () => (await bench.cursor()) === start + ids.length)
    } finally {
      await follower.stop()
    }
    // On a busy machine the end of the transaction may first look like a lost connection, which is retried.
    const parkings = failures.filter((what) => !what.endsWith('retrying'))
    expect(parkings).toEqual([`entry ${start + 2} cannot be applied and was parked`])
    const receipts = await Promise.all(ids.map((id) => bench.receipt(id)))
    expect(receipts.map((receipt) => receipt?.status)).toEqual(['processed', 'parked', 'processed'])
    const [parked] = await listParkedEntries(bench.database, start, 10)
    expect(parked?.error).toBe('The transaction timed out and was rolled back. Retry after 1 second.')
  })

  it('does not result from many users: after a long computation the remaining users are loaded again', async () => {
    const computed: number[] = []
    await bench.database.write(async (store) => {
      await sql`set local idle_in_transaction_session_timeout = '2s'`.execute(store.query)
      for await (const [item] of inPortions(ITEMS, (portion) => loadNothing(store, portion))) {
        standStill(300)
        computed.push(item)
      }
    })
    expect(computed).toEqual(ITEMS)
  })
})

/** The same database, where storing an event named `slow` is followed by a computation longer than allowed. */
function withSlowEvents(database: Database): Database {
  const write: Database['write'] = (change) => {
    return database.write((store) => change(meddled(store, 'request_receipts', () => computeSlowEvents(store))))
  }
  return { ...database, write }
}

async function computeSlowEvents({ query }: Store): Promise<void> {
  const slow = await sql`select 1 from events where action = 'slow'`.execute(query)
  if (slow.rows.length === 0) return
  await sql`set local idle_in_transaction_session_timeout = '50ms'`.execute(query)
  standStill(300)
}

async function loadNothing({ query }: Store, portion: readonly number[]): Promise<StoredHistory[]> {
  await sql`select 1`.execute(query)
  return portion.map((item) => ({
    user: { userId: item, userIds: [item], customers: [item] },
    memberships: [],
    messages: [],
    goalEvents: [],
    campaigns: 'all',
  }))
}

function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
