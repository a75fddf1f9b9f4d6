// Checks `tidings move` when it is killed and run again, and which stores and databases it refuses.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import SqliteFile from 'better-sqlite3'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { openLogForWriting } from '../../src/log/sqlite/sqlite-log-file.ts'
import { LOG_FILE } from '../../src/log/open-log.ts'
import { ANY_GROUP, cellKey, CellSum, NO_DAY, NO_GENERATION, seriesKey } from '../../src/core/statistics/cells.ts'
import { ALL } from '../../src/core/statistics/grouping-sets.ts'
import { raiseVersion } from '../../src/operations/campaigns/change-goals.ts'
import { addCampaign } from '../../src/store/campaigns/campaigns.ts'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { findMoveProgress } from '../../src/store/moves/moves.ts'
import { STATE_FILE } from '../../src/store/open-database.ts'
import { countPipelines } from '../../src/store/entries/partition-leases.ts'
import { addCells } from '../../src/store/statistics/statistics.ts'
import type { Database } from '../../src/store/store.ts'
import { failureOf, run, runJson, start, startServing, type EndedJson, type Environment } from '../support/program.ts'
import { until } from '../support/server.ts'
import { describeOnPostgres, makeLocation, openTestDatabase, type TestLocation } from '../support/stores.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

const EVENTS = 60_000

/** An embedded store that was served, with one workspace and events in it. */
async function makeSource(workspaceId: string, events = 0): Promise<TestLocation> {
  const location = await makeLocation('sqlite')
  const database = await openTestDatabase(location)
  await createWorkspace(database, workspaceId, {}, Date.now())
  await database.close()
  openLogForWriting(join(location.dataDir, LOG_FILE)).close()
  inState(location, (file) =>
    file.exec(`
      with recursive numbers (number) as (select 1 union all select number + 1 from numbers where number < ${events})
      insert into events (id, workspace_id, user_id, action, attributes, time, received_at)
      select number, '${workspaceId}', number % 100, 'Visited', '{"number":' || number || '}', number, number
      from numbers where number <= ${events}`),
  )
  return location
}

function inState({ dataDir }: TestLocation, change: (file: SqliteFile.Database) => unknown): void {
  const file = new SqliteFile(join(dataDir, STATE_FILE))
  change(file)
  file.close()
}

function moveFrom({ dataDir }: TestLocation, to: string, environment: Environment = {}): Promise<EndedJson> {
  return runJson(['move', '--to', to], { DATA_DIR: dataDir, ...environment })
}

describeOnPostgres('A killed move', () => {
  let source: TestLocation
  let target: TestLocation
  let database: Database

  beforeAll(async () => {
    source = await makeSource('main', EVENTS)
    target = await makeLocation('postgres')
    database = await openTestDatabase(target)
  })
  afterAll(async () => {
    await database.close()
    await Promise.all([source.remove(), target.remove()])
  })

  const url = () => target.databaseUrl as string
  const movedEvents = async () => (await findMoveProgress(database, 'events'))?.rows ?? 0
  const countEvents = async () => {
    const events = database.query.selectFrom('events').select(({ fn }) => fn.countAll<number>().as('count'))
    return (await events.executeTakeFirstOrThrow()).count
  }

  /** Kills a move once it has copied some more events, but not all. */
  async function killInTheMiddle(): Promise<number> {
    const before = await movedEvents()
    const moving = start(['move', '--to', url()], { DATA_DIR: source.dataDir })
    await until('events are copied', async () => (await movedEvents()) > before)
    expect(await moving.stop('SIGKILL')).toMatchObject({ status: null })
    const events = await movedEvents()
    expect(events).toBeGreaterThan(0)
    expect(events).toBeLessThan(EVENTS)
    expect(await countEvents()).toBe(events)
    return events
  }

  it('leaves a database that no command uses or serves', async () => {
    await killInTheMiddle()
    const environment = { DATABASE_URL: url() }
    for (const command of [['workspace', 'list'], ['serve']]) {
      const refused = failureOf(await runJson(command, { ...environment, PORT: '0' }))
      expect(refused).toMatchObject({ status: 1, code: 'conflict' })
      expect(refused?.message).toContain('A move into this database is incomplete.')
    }
  })

  it('leaves an embedded store that can be served', async () => {
    const server = await startServing({ DATA_DIR: source.dataDir })
    expect((await fetch(`${server.started.url}/readyz`)).status).toBe(200)
    await server.stop()
  })

  it('reserves its database against other stores', async () => {
    const other = await makeSource('other')
    const refused = failureOf(await moveFrom(other, url()))
    expect(refused).toMatchObject({ status: 1, code: 'conflict' })
    expect(refused?.message).toContain('Another store')
    await other.remove()
  })

  it('continues where it stopped, even if it is killed again, and then finds no difference', async () => {
    const events = await killInTheMiddle()
    const ended = await moveFrom(source, url())
    expect(ended).toMatchObject({ status: 0, body: { outcome: 'moved' } })
    expect(await countEvents()).toBe(EVENTS)
    const { copied_rows: copied } = ended.body as { copied_rows: number }
    // The tables after the events have few rows.
    expect(copied).toBeGreaterThanOrEqual(EVENTS - events)
    expect(copied).toBeLessThan(EVENTS - events + 100)
  })

  it('also moves later changes of the embedded store', async () => {
    const fresh = await makeLocation('postgres')
    const changing = await makeSource('main', EVENTS)
    const opened = await openTestDatabase(fresh)
    const moving = start(['move', '--to', fresh.databaseUrl as string], { DATA_DIR: changing.dataDir })
    await until('events are copied', async () => (await findMoveProgress(opened, 'events'))?.rows)
    await moving.stop('SIGKILL')
    inState(changing, (file) => file.exec(`update events set action = 'Changed' where id = 1`))
    expect(await moveFrom(changing, fresh.databaseUrl as string)).toMatchObject({
      status: 0,
      body: { outcome: 'moved' },
    })
    const first = opened.query.selectFrom('events').select('action').where('id', '=', 1)
    expect(await first.execute()).toEqual([{ action: 'Changed' }])
    await opened.close()
    await Promise.all([fresh.remove(), changing.remove()])
  })
})

describeOnPostgres('A move is refused', () => {
  let source: TestLocation
  let target: TestLocation

  beforeAll(async () => {
    source = await makeSource('main')
    target = await makeLocation('postgres')
  })
  afterAll(() => Promise.all([source.remove(), target.remove()]))

  const inTarget = async (change: (database: Database) => Promise<unknown>) => {
    const database = await openTestDatabase(target)
    await change(database)
    await database.close()
  }
  const refusal = async (to = target.databaseUrl as string, environment: Environment = {}) => {
    return failureOf(await moveFrom(source, to, environment))
  }

  it('into a database with rows in any table', async () => {
    const cursor = { name: 'pipeline', position: 7 }
    await inTarget(({ query }) => query.insertInto('cursors').values(cursor).execute())
    const refused = await refusal()
    expect(refused).toMatchObject({ status: 1, code: 'conflict' })
    expect(refused?.message).toContain('cursors')
    await inTarget((database) => sql`truncate cursors`.execute(database.query))
  })

  it('into a database that was served', async () => {
    const other = await makeLocation('postgres')
    const server = await startServing({ DATABASE_URL: other.databaseUrl as string })
    await server.stop()
    expect(await refusal(other.databaseUrl)).toMatchObject({ status: 1, code: 'conflict' })
    await other.remove()
  })

  it('if the log does not belong to the tables', async () => {
    const odd = await makeSource('main')
    inState(odd, (file) => file.exec(`insert into cursors values ('pipeline', 5)`))
    const refused = failureOf(await moveFrom(odd, target.databaseUrl as string))
    expect(refused).toMatchObject({ status: 1, code: 'conflict' })
    expect(refused?.message).toContain('does not belong to these tables. Restore the log and the tables from the same')
    await odd.remove()
  })

  it('if there is no store', async () => {
    const nowhere = await makeLocation('sqlite')
    expect(failureOf(await moveFrom(nowhere, target.databaseUrl as string))).toMatchObject({ code: 'not_found' })
    writeFileSync(join(nowhere.dataDir, STATE_FILE), '')
    expect(failureOf(await moveFrom(nowhere, target.databaseUrl as string))).toMatchObject({ code: 'not_found' })
    await nowhere.remove()
  })

  it('if the store has no workspace', async () => {
    const empty = await makeLocation('sqlite')
    await (await openTestDatabase(empty)).close()
    openLogForWriting(join(empty.dataDir, LOG_FILE)).close()
    expect(failureOf(await moveFrom(empty, target.databaseUrl as string))).toMatchObject({ code: 'not_found' })
    await empty.remove()
  })

  it('from a store that is not embedded, or to an address without PostgreSQL', async () => {
    const environment = { DATABASE_URL: target.databaseUrl as string }
    const wrong = { status: 1, code: 'invalid_request' }
    expect(await refusal(undefined, environment)).toMatchObject({ ...wrong, fields: ['DATABASE_URL'] })
    expect(await refusal('http://127.0.0.1:5432/x')).toMatchObject({ ...wrong, fields: ['--to'] })
    expect(await refusal('postgres://127.0.0.1:1/x')).toMatchObject({ status: 1, code: 'unavailable' })
  })

  it('without a target', async () => {
    expect(await run(['move'], { DATA_DIR: source.dataDir })).toMatchObject({ status: 2, stdout: '' })
  })

  const nats = 'nats://127.0.0.1:1'
  it.each([
    ['', undefined, ['--to']],
    [' ', nats, ['--to']],
    ['postgres://127.0.0.1:1/x', '', ['--nats']],
    ['mysql://x', ' ', ['--nats', '--to']],
    ['', 'http://x', ['--nats', '--to']],
  ])('to %j with the log in %j', async (to, log, fields) => {
    const args = ['move', '--to', to, ...(log === undefined ? [] : ['--nats', log])]
    const refused = failureOf(await runJson(args, { DATA_DIR: source.dataDir }))
    expect({ ...refused, fields: refused?.fields.toSorted() }).toMatchObject({ code: 'invalid_request', fields })
  })

  it('while a pipeline runs on the target', async () => {
    const other = await makeLocation('postgres')
    const pipeline = await startServing({ DATABASE_URL: other.databaseUrl as string }, ['--role', 'pipeline'])
    const database = await openTestDatabase(other)
    await until('it has joined', async () => (await countPipelines(database)) > 0)
    const refused = await refusal(other.databaseUrl)
    expect(refused).toMatchObject({ status: 1, code: 'conflict' })
    expect(refused?.message).toContain('1 pipeline is running on the target')
    await pipeline.stop()
    await database.close()
    expect(await moveFrom(source, other.databaseUrl as string)).toMatchObject({ status: 0 })
    await other.remove()
  })

  it('and leaves the target empty', async () => {
    expect(await moveFrom(source, target.databaseUrl as string)).toMatchObject({
      status: 0,
      body: { outcome: 'moved' },
    })
  })
})

describeOnPostgres('A move that finds a difference', () => {
  it('fails, leaves the database unusable, and succeeds once the difference is corrected', async () => {
    const source = await makeSource('main')
    const target = await makeLocation('postgres')
    const url = target.databaseUrl as string
    const database = await openTestDatabase(target)
    await addForeignCell(source)
    const ended = await moveFrom(source, url)
    expect(ended).toMatchObject({
      status: 1,
      body: { outcome: 'differs', statistics: [{ workspace_id: 'main', equal: false, cells: 0 }] },
    })
    expect(failureOf(await runJson(['workspace', 'list'], { DATABASE_URL: url }))).toMatchObject({ code: 'conflict' })
    const text = await run(['move', '--to', url], { DATA_DIR: source.dataDir })
    expect(text).toMatchObject({ status: 1, stderr: '' })
    expect(text.stdout).toContain('tidings statistics rebuild')
    expect(await run(['statistics', 'rebuild'], { DATA_DIR: source.dataDir })).toMatchObject({ status: 0 })
    expect(await moveFrom(source, url)).toMatchObject({ status: 0, body: { outcome: 'moved' } })
    await database.close()
    await Promise.all([source.remove(), target.remove()])
  })
})

/** Adds statistics that no fact explains. */
async function addForeignCell(source: TestLocation): Promise<void> {
  const database = await openTestDatabase(source)
  await database.write(async (store) => {
    const details = { name: 'Summer', platforms: ['EMAIL'], goals: [], createdBy: 'anna', createdAt: 0 }
    const { number } = await addCampaign(store, { ...details, id: 'summer', workspaceId: 'main' })
    await raiseVersion(store, 'main')
    const dimensions = { platform: ALL, locale: ALL, variation: ALL }
    const sent = {
      campaign: number,
      generation: NO_GENERATION,
      group: ANY_GROUP,
      metric: 'sent',
      ...dimensions,
    } as const
    const sum = new CellSum()
    sum.add(cellKey(seriesKey(sent), 1, NO_DAY), 1, 1)
    await addCells(store, sum)
  })
  await database.close()
}
