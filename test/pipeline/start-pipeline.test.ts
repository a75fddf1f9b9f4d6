// Checks a pipeline that starts just when the database is unreachable: it waits, and its process does not end.
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { LogWriter } from '../../src/log/event-log.ts'
import { openPostgresLog } from '../../src/log/postgres/postgres-log.ts'
import { startPipeline, type RunningPipeline } from '../../src/pipeline/start-pipeline.ts'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { findReceipt } from '../../src/store/entries/request-receipts.ts'
import type { Database } from '../../src/store/store.ts'
import { WriterLock } from '../../src/runtime/writer-lock.ts'
import { startProxy, type CuttableProxy } from '../support/cuttable-proxy.ts'
import { until } from '../support/server.ts'
import { describeOnPostgres, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

describeOnPostgres('A pipeline that starts while the database is away', () => {
  let location: TestLocation
  let database: Database
  let log: LogWriter
  let proxy: CuttableProxy
  let pipeline: RunningPipeline
  let reported: string[]

  beforeEach(async () => {
    location = await makeStore('postgres')
    database = await openTestDatabase(location)
    await createWorkspace(database, 'main', {}, Date.now())
    log = await openPostgresLog({ url: location.databaseUrl as string })
    proxy = await startProxy(location.databaseUrl as string)
    proxy.cut()
    reported = []
    pipeline = startPipeline({
      location: { dataDir: location.dataDir, databaseUrl: proxy.url, natsUrl: undefined },
      writerLock: new WriterLock().shared,
      onApplied: () => {},
      onFailed: (what) => void reported.push(what),
      onGivenUp: () => void reported.push('given up'),
    })
    await until('it has reported the failure', () => reported.length > 0)
  })
  afterEach(async () => {
    await pipeline.stop()
    await proxy.stop()
    await log.close()
    await database.close()
    await location.remove()
  })

  /** Tracks an event and makes the database reachable again. */
  const track = async () => {
    const body = Buffer.from(JSON.stringify({ customer_id: 'anna', actions: [{ action: 'Order Placed' }] }))
    const entry = { kind: 'track_events', workspaceId: 'main', requestId: 'r1', receivedAt: Date.now() } as const
    await log.append({ ...entry, context: {}, partitionKey: 'anna', events: 1, body })
    proxy.restore()
  }

  it('follows the log when the database is back', async () => {
    expect(reported).toContain('cannot open the log; retrying')
    await track()
    const receipt = await until('it is applied', () => findReceipt(database, 'main', 'r1'))
    expect(receipt).toMatchObject({ status: 'processed', events: 1 })
  })

  it('reads tables by index', async () => {
    await database.changeTables(async ({ query }) => {
      await sql`create table seen as select current_setting('enable_seqscan') as scans limit 0`.execute(query)
      await sql`create function see() returns trigger language plpgsql as
        'begin insert into seen values (current_setting(''enable_seqscan'')); return null; end'`.execute(query)
      await sql`create trigger seeing after insert on request_receipts execute function see()`.execute(query)
    })
    await track()
    const { rows } = await until('it has written', async () => {
      const seen = await sql<{ scans: string }>`select distinct scans from seen`.execute(database.query)
      return seen.rows.length > 0 && seen
    })
    expect(rows).toEqual([{ scans: 'off' }])
  })

  it('stops cleanly on request', async () => {
    await pipeline.stop()
    expect(reported).not.toContain('given up')
  })
})
