// Batches that are counted while the one before them is stored: which may be, that they have the same effect, and what happens
// when others change the store meanwhile. `campaign-statistics.test.ts` does the same with random histories.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sql, type KyselyPlugin } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Ahead, BATCHES_BEFORE, NotStored, type StoredAhead } from '../src/pipeline/ahead/ahead.ts'
import { KnownUsers } from '../src/pipeline/ahead/known-users.ts'
import { applyBatch, readBatch } from '../src/pipeline/apply-batch.ts'
import { GoalBooks } from '../src/pipeline/contributions/goal-books.ts'
import { REPORT_BYTES_MAX } from '../src/pipeline/follower/batch-room.ts'
import { LogFollower, type AppliedBatch } from '../src/pipeline/follower/follow-log.ts'
import { verifyStatistics } from '../src/pipeline/recounts/verify-statistics.ts'
import { STATE_FILE } from '../src/store/open-database.ts'
import { findLargeUserIds } from '../src/store/statistics/large-histories.ts'
import type { Database } from '../src/store/store.ts'
import { pause, Turnstile } from '../src/store/turnstile.ts'
import { NOW, openPipelineBench, type PipelineBench, type TestEntry } from './pipeline-bench.ts'
import { AUDIENCE, MESSAGE_EVENTS, reportOf } from './report-calls.ts'
import { until } from './server.ts'

const KNOWN = ['c1', 'c2', 'c3']

let bench: PipelineBench
let campaign: number
let ahead: Ahead
let stored: StoredAhead[]
let failures: unknown[]
/** How many identities were looked up, and how many facts were read, for batches that were to be counted ahead. */
let lookedUp: number
let factsRead: number
/** What others do between the counting of a batch and its storing. */
let meddle: (() => Promise<void>) | undefined

beforeAll(async () => void (bench = await openPipelineBench('sqlite')))
afterAll(() => bench.close())
beforeEach(async () => {
  stored = []
  failures = []
  lookedUp = 0
  factsRead = 0
  meddle = undefined
  ahead = new Ahead({
    dataDir: bench.place.dataDir,
    database: { ...bench.database, query: bench.database.query.withPlugin(COUNT_ROWS) },
    turnstile: new MeddledTurnstile(async () => meddle?.()),
    onStored: (one) => void stored.push(one),
    onFailure: (error) => void failures.push(error),
  })
  await bench.makeWorkspace({ identityResolution: ['crm'] })
  campaign = await bench.makeCampaign()
  await applyAlone(audience(...KNOWN))
})
afterEach(() => ahead.close())

const COUNT_ROWS: KyselyPlugin = {
  transformQuery: ({ node }) => node,
  async transformResult({ result }) {
    for (const row of result.rows) {
      if ('alone' in row) lookedUp++
      if ('message_key' in row || 'evaluated_at' in row) factsRead++
    }
    return result
  },
}

function audience(...customers: readonly string[]): TestEntry {
  const body = reportOf(AUDIENCE, ...customers.map((customer_id) => ({ customer_id })))
  return { kind: AUDIENCE.kind, body, context: { campaign } }
}

function sent(...customers: readonly string[]): TestEntry {
  return messages('sent', customers)
}

function messages(kind: string, customers: readonly string[]): TestEntry {
  const body = reportOf(MESSAGE_EVENTS, ...customers.map((customer_id) => ({ customer_id, kind })))
  return { kind: MESSAGE_EVENTS.kind, body, context: { campaign } }
}

/** Of a user who is found to be one with another by the second. */
const joined: TestEntry = { kind: 'track_user', body: { customer_id: 'c1', user_identifiers: { crm: 'x' } } }
const joins: TestEntry = { kind: 'track_user', body: { customer_id: 'c9', user_identifiers: { crm: 'x' } } }

/** The entries as one batch that follows what is applied or taken; with the ids of their requests. */
async function toBatch(entries: readonly TestEntry[], factsPerUserMax?: number) {
  const end = await bench.logReader.lastPosition()
  const requestIds = await bench.append(...entries)
  const read = await bench.logReader.read(end, { entries: entries.length, bytes: 2 ** 30 })
  const options = { now: NOW, goalBooks: new GoalBooks(), ...(factsPerUserMax !== undefined && { factsPerUserMax }) }
  const batch = await readBatch(bench.database, read, options)
  return { batch, requestIds, after: ahead.position ?? (await bench.cursor()) }
}

async function applyAlone(...entries: readonly TestEntry[]): Promise<void> {
  const { batch, after } = await toBatch(entries)
  await applyBatch(bench.database, batch, [after])
}

async function take(entries: readonly TestEntry[], factsPerUserMax?: number) {
  const { batch, after, requestIds } = await toBatch(entries, factsPerUserMax)
  return { isTaken: await ahead.take(batch, after), batch, after, requestIds }
}

async function expectVerified(): Promise<void> {
  const { workspaceId } = bench
  expect(await verifyStatistics(bench.database, workspaceId, () => {})).toMatchObject({ differingCells: 0 })
}

let changes = 0

/** As any request does that writes to the store. */
async function changeSomething(): Promise<void> {
  const name = `change ${++changes}`
  await bench.database.write(async ({ query }) => {
    await query.insertInto('cursors').values({ name, position: 0 }).execute()
  })
}

async function countFacts(): Promise<number> {
  const { rows } = await sql<{ facts: number }>`
    select count(*) as facts
    from (select campaign from message_events union all select campaign from recent_message_events)
    where campaign = ${campaign}`.execute(bench.database.query)
  return rows[0]?.facts as number
}

describe('A batch of reports that is counted ahead', () => {
  it('is stored while the next one is counted, with its receipts and the cursor', async () => {
    await applyAlone(audience('c4'))
    const batches = [[sent('c1'), sent('c2')], [sent('c3', 'c3')], [sent('c4')]]
    const taken: Awaited<ReturnType<typeof take>>[] = []
    for (const entries of batches) taken.push(await take(entries))
    expect(taken.map(({ isTaken }) => isTaken)).toEqual([true, true, true])
    // Two at the most are in hand.
    expect(stored).toMatchObject([{ entries: 2, events: 2 }])
    expect(ahead.position).toBe(await bench.logReader.lastPosition())
    await ahead.settle()
    expect(stored).toMatchObject([
      { entries: 2, events: 2 },
      { entries: 1, events: 1 },
      { entries: 1, events: 1 },
    ])
    expect(ahead.position).toBeUndefined()
    expect(await bench.cursor()).toBe(await bench.logReader.lastPosition())
    const [first, second] = taken.map(({ requestIds }) => requestIds[0])
    expect(await bench.receipt(first)).toMatchObject({ status: 'processed', events: 1, duplicates: 0, error: null })
    expect(await bench.receipt(second)).toMatchObject({ status: 'processed', events: 2, duplicates: 1, error: null })
    expect(await countFacts()).toBe(4)
    await expectVerified()
  })

  it('is counted when the one before it is stored, where it is about the same users', async () => {
    const entries = [sent('c1'), { ...sent('c1'), body: reportOf(MESSAGE_EVENTS, { time: '2026-05-04T10:00:00Z' }) }]
    for (const entry of [...entries, sent('c1', 'c2')]) expect(await take([entry])).toMatchObject({ isTaken: true })
    await ahead.settle()
    expect(stored.map(({ events }) => events)).toEqual([1, 1, 1])
    expect(await countFacts()).toBe(3)
    await expectVerified()
  })

  it('is counted when the ones before it are stored, where it is about users of the first of them', async () => {
    let release = () => {}
    let held: Promise<void> | undefined
    // Until it is released, nothing can be stored.
    meddle = async () => {
      meddle = undefined
      await new Promise<void>((isHeld) => {
        held = bench.database.write(async () => {
          await new Promise<void>((resolve) => {
            release = resolve
            isHeld()
          })
        })
      })
    }
    for (const entry of [sent('c1'), sent('c2')]) expect(await take([entry])).toMatchObject({ isTaken: true })
    // Reports the same once more.
    const third = take([sent('c1')])
    await pause(50)
    release()
    await held
    expect(await third).toMatchObject({ isTaken: true })
    await ahead.settle()
    expect(stored.map(({ events }) => events)).toEqual([1, 1, 0])
    expect(failures).toEqual([])
    await expectVerified()
  })

  it('is not stored when others have changed the store meanwhile, and is counted again', async () => {
    // What has nothing to do with it, and what it is counted by.
    const others = [changeSomething, () => applyAlone(audience('c4'))]
    for (const [index, change] of others.entries()) {
      meddle = change
      const { isTaken, batch } = await take([sent(KNOWN[index] as string)])
      expect(isTaken).toBe(true)
      await expect(ahead.settle()).rejects.toThrow(NotStored)
      expect(ahead.position).toBeUndefined()
      expect(await countFacts()).toBe(index)
      await applyBatch(bench.database, batch, [await bench.cursor()])
      expect(await countFacts()).toBe(index + 1)
    }
    expect(stored).toEqual([])
    expect(failures).toEqual([])
    await expectVerified()
  })

  it('is about users who are looked up once, until others change the store', async () => {
    const after: number[] = []
    const takeAll = async (...entries: TestEntry[]) => {
      expect(await take(entries)).toMatchObject({ isTaken: true })
      after.push(lookedUp)
    }
    await takeAll(sent('c1'))
    await takeAll(sent('c2', 'c3'), sent('c2'))
    // About users of the one before it, so that the thread is told to notice changes from then on.
    await takeAll(sent('c1', 'c3'))
    await ahead.settle()
    await takeAll(sent('c2'))
    await ahead.settle()
    await changeSomething()
    await takeAll(sent('c2'))
    await ahead.settle()
    expect(after).toEqual([1, 3, 3, 3, 4])
    await expectVerified()
  })

  it('is about users whose facts are read once, by whichever thread', async () => {
    await take([sent(...KNOWN)])
    await ahead.settle()
    // The thread that stores has read those of a third of them.
    expect(factsRead).toBe(2)
    expect(await take([messages('delivered', KNOWN)])).toMatchObject({ isTaken: true })
    await ahead.settle()
    expect(factsRead).toBe(2)
    expect(await countFacts()).toBe(2 * KNOWN.length)
    await expectVerified()
  })

  it('is about users of whom only the last are remembered', async () => {
    const { batch } = await toBatch([sent(...KNOWN)])
    const { batch: last } = await toBatch([sent('c2', 'c3')])
    const { batch: first } = await toBatch([sent('c1')])
    const users = new KnownUsers(2)
    const store = { ...bench.database, query: bench.database.query.withPlugin(COUNT_ROWS) }
    const after: number[] = []
    for (const one of [batch, last, first, last]) {
      expect(await users.find(store, one)).toBe(true)
      expect(one.userOf.size).toBe(one.entries.flatMap(({ subjects }) => subjects).length)
      after.push(lookedUp)
    }
    // The first of three is forgotten, and when it is remembered again, the second is.
    expect(after).toEqual([3, 3, 4, 5])
  })

  it('is applied by itself where a user who was looked up before is found to be one with another', async () => {
    expect(await take([sent('c1')])).toMatchObject({ isTaken: true })
    await ahead.settle()
    for (const change of [joined, joins]) await applyAlone(change)
    expect(await take([sent('c1')])).toMatchObject({ isTaken: false })
  })

  it('is applied by itself where a user who was looked up before has grown large', async () => {
    expect(await take([sent('c1')])).toMatchObject({ isTaken: true })
    await ahead.settle()
    const { batch, after } = await toBatch([sent('c1')], 0)
    await applyBatch(bench.database, batch, [after])
    expect(await findLargeUserIds(bench.database, [...batch.aloneUsers.keys()])).toHaveProperty('size', 1)
    expect(await take([sent('c1')])).toMatchObject({ isTaken: false })
  })

  it('is not stored when the one before it was not', async () => {
    meddle = changeSomething
    expect(await take([sent('c1')])).toMatchObject({ isTaken: true })
    meddle = undefined
    expect(await take([sent('c2')])).toMatchObject({ isTaken: true })
    await expect(take([sent('c3')])).rejects.toThrow(NotStored)
    expect(ahead.position).toBeUndefined()
    await ahead.settle()
    expect(await countFacts()).toBe(0)
    expect(stored).toEqual([])
  })

  it('tells of what prevents that it is stored, and is applied by itself', async () => {
    const { isTaken, batch, after } = await takeBroken()
    expect(isTaken).toBe(true)
    await expect(ahead.settle()).rejects.toThrow(NotStored)
    const message = expect.stringContaining('no column named duplicates') as string
    expect(failures).toMatchObject([{ code: 'SQLITE_ERROR', message }])
    await renameColumn('renamed', 'duplicates')
    await applyBatch(bench.database, batch, [after])
    await expectVerified()
  })

  /** Its thread finds the table of receipts changed: as if by a defect, not by others, because it is there before the mark. */
  async function takeBroken() {
    const prepared = await toBatch([sent('c1')])
    await renameColumn('duplicates', 'renamed')
    return { ...prepared, isTaken: await ahead.take(prepared.batch, prepared.after) }
  }
})

async function renameColumn(from: string, to: string): Promise<void> {
  await bench.database.changeTables(async ({ query }) => {
    await query.schema.alterTable('request_receipts').renameColumn(from, to).execute()
  })
}

it('A batch is applied by itself, and it is told why, where the thread cannot open the store', async () => {
  const lost = new Ahead({
    dataDir: join(bench.place.dataDir, STATE_FILE),
    database: bench.database,
    turnstile: new Turnstile(),
    onStored: () => {},
    onFailure: (error) => void failures.push(error),
  })
  const { batch, after } = await toBatch([sent('c1')])
  expect(await lost.take(batch, after)).toBe(false)
  expect(failures).toHaveLength(1)
  await lost.close()
  await applyBatch(bench.database, batch, [after])
  expect(await countFacts()).toBe(1)
})

describe('A batch that cannot be counted ahead', () => {
  const tracked: TestEntry = { body: { type: 'event', customer_id: 'c1', actions: [{ action: 'A' }] } }
  const elsewhere = (): TestEntry => ({ ...sent('c1'), context: { campaign: campaign + 1_000 } })
  const cases: [what: string, before: TestEntry[], entries: () => TestEntry[], factsPerUserMax?: number][] = [
    ['names a new user', [], () => [sent('c1'), sent('c5')]],
    ['is about a user with two customer ids', [joined, joins], () => [sent('c1')]],
    ['is about a user with very many facts', [], () => [sent('c1')], 0],
    ['has tracked events too', [], () => [sent('c1'), tracked]],
    ['has an entry that cannot be read', [], () => [sent('c1'), { ...sent('c2'), body: '{' }]],
    ['is about a campaign that is not there', [], () => [elsewhere()]],
  ]
  it.each(cases)('%s', async (_, before, entries, factsPerUserMax) => {
    for (const entry of before) await applyAlone(entry)
    const cursor = await bench.cursor()
    expect(await take(entries(), factsPerUserMax)).toMatchObject({ isTaken: false })
    await ahead.settle()
    expect(await bench.cursor()).toBe(cursor)
    expect(await countFacts()).toBe(0)
    expect(stored).toEqual([])
    // Nobody waits for what was not taken.
    await applyAlone(sent('c3'))
    expect(await countFacts()).toBe(1)
  })
})

describe('A follower with much to apply', () => {
  const BATCHES = 3 * BATCHES_BEFORE
  /** Of one entry each. */
  const large = (entry: TestEntry): TestEntry => ({ ...entry, body: padded(entry.body) })

  it('counts reports ahead after a few batches, and applies each once', async () => {
    const customers = Array.from({ length: BATCHES }, (_, index) => `d${index}`)
    await applyAlone(audience(...customers))
    // Each is about one more user and about one of the entry before it.
    const entries = customers.map((customer, index) => large(sent(customer, customers[index >> 1] as string)))
    const requestIds = await bench.append(...entries, ...entries.slice(0, 2), sent('c1'))
    const { writes, batches } = await follow()
    expect(batches.map(({ events }) => events).reduce((sum, events) => sum + events, 0)).toBe(BATCHES + 1)
    // Those that are counted ahead are stored by another thread.
    expect(writes).toBeLessThan(BATCHES)
    expect(await countFacts()).toBe(BATCHES + 1)
    const receipts = await Promise.all(requestIds.map((id) => bench.receipt(id)))
    expect(receipts.map((receipt) => [receipt?.events, receipt?.duplicates])).toEqual([
      [2, 1],
      ...Array.from({ length: BATCHES - 1 }, () => [2, 1]),
      [2, 2],
      [2, 2],
      [1, 0],
    ])
    await expectVerified()
  })

  it('stores what is less than a batch on the thread too, as long as that is there', async () => {
    const customers = Array.from({ length: BATCHES_BEFORE + 2 }, (_, index) => `d${index}`)
    await applyAlone(audience(...customers))
    await bench.append(...customers.map((customer) => large(sent(customer))), sent('c1'))
    const { writes, batches } = await follow()
    expect(batches.map(({ events }) => events)).toEqual([...customers.map(() => 1), 1])
    expect(writes).toBe(BATCHES_BEFORE)
    await bench.append(sent('c2'), sent('c3'))
    expect(await follow()).toMatchObject({ writes: 1, batches: [{ events: 2 }] })
    await expectVerified()
  })

  it('applies each once, and by itself, where others change the store between counting and storing each time', async () => {
    // The last is applied while the one before it is not stored.
    const customers = Array.from({ length: 2 * (BATCHES_BEFORE + 1) }, (_, index) => `d${index}`)
    await applyAlone(audience(...customers))
    await bench.append(...customers.slice(1).map((customer) => large(sent(customer))), sent('d0'))
    const { writes, batches } = await follow(new MeddledTurnstile(changeSomething))
    expect(batches.map(({ events }) => events)).toEqual(customers.map(() => 1))
    expect(writes).toBe(customers.length)
    await expectVerified()
  })

  it('applies each by itself in a process that may have no further thread, and says so', async () => {
    const customers = Array.from({ length: BATCHES_BEFORE + 2 }, (_, index) => `d${index}`)
    await applyAlone(audience(...customers))
    await bench.append(...customers.map((customer) => large(sent(customer))), sent('c1'))
    const allowed = ['--permission', '--allow-fs-read=*', '--allow-fs-write=*', '--allow-addons']
    const script = new URL('follow-without-threads.ts', import.meta.url).pathname
    const { stdout } = await promisify(execFile)(process.execPath, [...allowed, script, bench.place.dataDir])
    const told = JSON.parse(stdout) as string[]
    expect(told).toHaveLength(1)
    expect(told[0]).toContain('counting ahead failed; applying the batch by itself')
    expect(await countFacts()).toBe(customers.length + 1)
    await expectVerified()
  })

  /** Applies all that is in the log; gives how many batches were applied by the follower itself. */
  async function follow(turnstile = new Turnstile()) {
    const batches: AppliedBatch[] = []
    let writes = 0
    const database: Database = {
      ...bench.database,
      write: (change) => {
        writes++
        return bench.database.write(change)
      },
    }
    const follower = new LogFollower({
      database,
      aheadIn: bench.place.dataDir,
      logReader: bench.logReader,
      turnstile,
      clock: () => NOW,
      onBatch: (applied) => void batches.push(applied),
      onFailure: (error, what) => void failures.push([error, what]),
    })
    const end = await bench.logReader.lastPosition()
    follower.start()
    await until('the log is followed to its end', async () => (await bench.cursor()) >= end)
    await follower.stop()
    expect(failures).toEqual([])
    return { batches, writes }
  }
})

/** Whenever others may pass, one does. */
class MeddledTurnstile extends Turnstile {
  readonly #meddle: () => Promise<void>

  constructor(meddle: () => Promise<void>) {
    super()
    this.#meddle = meddle
  }

  override async letOthersPass(): Promise<void> {
    await super.letOthersPass()
    await this.#meddle()
  }
}

/** JSON with so much space behind it that a batch has no room for another entry. */
function padded(body: unknown): string {
  return JSON.stringify(body).padEnd(REPORT_BYTES_MAX)
}
