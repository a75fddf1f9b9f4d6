// What batches that are counted ahead remember of their customers: it is not read again, and counts the same.
import type { KyselyPlugin } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { countAhead, storeCounted } from '../src/pipeline/ahead/counted-batch.ts'
import { KnownFacts } from '../src/pipeline/ahead/known-facts.ts'
import { KnownUsers } from '../src/pipeline/ahead/known-users.ts'
import { applyBatch, readBatch } from '../src/pipeline/apply-batch.ts'
import { GoalBooks } from '../src/pipeline/contributions/goal-books.ts'
import { NeedsWriting } from '../src/pipeline/count-statistics.ts'
import { verifyStatistics } from '../src/pipeline/recounts/verify-statistics.ts'
import type { Store } from '../src/store/store.ts'
import { NOW, openPipelineBench, type PipelineBench, type TestEntry } from './pipeline-bench.ts'
import { AUDIENCE, MESSAGE_EVENTS, reportOf } from './report-calls.ts'
import { seededRandom } from './seeded-random.ts'

const CUSTOMERS = Array.from({ length: 10 }, (_, index) => `c${index}`)
const SENT_AT = Date.parse('2026-05-04T09:00:00Z')
const HOUR = 60 * 60 * 1000

let bench: PipelineBench
let campaign: number
let knownFacts: KnownFacts
/** How many facts were read so far, and how often it was asked whether goal events follow touches. */
let read: number
let askedForEvents: number
beforeAll(async () => void (bench = await openPipelineBench('sqlite')))
afterAll(() => bench.close())
beforeEach(async () => {
  await bench.makeWorkspace()
  campaign = await bench.makeCampaign({
    goals: [{ name: 'order', event: 'Ordered', where: [], windowHours: 24 }],
  })
  knownFacts = new KnownFacts()
  read = 0
  askedForEvents = 0
  await applyAlone(audience(CUSTOMERS))
})

const aboutEvents = new WeakSet<object>()
const COUNT_FACTS: KyselyPlugin = {
  transformQuery({ node, queryId }) {
    if (JSON.stringify(node).includes('"since"')) aboutEvents.add(queryId)
    return node
  },
  async transformResult({ result, queryId }) {
    if (aboutEvents.has(queryId)) askedForEvents++
    for (const row of result.rows) if ('message_key' in row || 'evaluated_at' in row) read++
    return result
  },
}

function audience(customers: readonly string[], item: object = {}): TestEntry {
  return entryOf(AUDIENCE, customers, item)
}

function events(kind: string, customers: readonly string[], item: object = {}): TestEntry {
  return entryOf(MESSAGE_EVENTS, customers, { kind, ...item })
}

function entryOf(report: typeof AUDIENCE, customers: readonly string[], item: object): TestEntry {
  const body = reportOf(report, ...customers.map((customer_id) => ({ customer_id, ...item })))
  return { kind: report.kind, body, context: { campaign } }
}

function ordered(customer_id: string, user_time: string): TestEntry {
  return { body: { type: 'event', customer_id, actions: [{ action: 'Ordered', attributes: {}, user_time }] } }
}

function clicks(count: number): TestEntry[] {
  return Array.from({ length: count }, (_, index) => {
    return events('click', ['c1'], { time: new Date(SENT_AT + index).toISOString() })
  })
}

async function applyAlone(...entries: readonly TestEntry[]): Promise<void> {
  await bench.append(...entries)
  await applyBatch(bench.database, await toBatch(), [await bench.cursor()])
}

async function toBatch(factsPerUserMax?: number) {
  const options = { now: NOW, ...(factsPerUserMax !== undefined && { factsPerUserMax }) }
  return readBatch(bench.database, await bench.readNew(), options)
}

interface Options {
  readonly leftShare?: number
  readonly factsPerUserMax?: number
}

/** Counts entries as one batch and stores it; gives how many facts were read to count it, and how many of them were new. */
async function take(entries: readonly TestEntry[], { leftShare = 0, factsPerUserMax }: Options = {}) {
  const before = read
  await bench.append(...entries)
  const counting: Store = { ...bench.database, query: bench.database.query.withPlugin(COUNT_FACTS) }
  const batch = await toBatch(factsPerUserMax)
  if (!(await new KnownUsers().find(bench.database, batch))) throw new Error('it cannot be counted ahead')
  const { batch: counted, left } = await countAhead(counting, batch, {
    knownFacts,
    leftShare,
    from: [await bench.cursor()],
  })
  // As it is told to the thread that stores it.
  const { cells } = counted
  const told = { ...(JSON.parse(JSON.stringify({ ...counted, cells: [] })) as typeof counted), cells }
  const stored = await bench.database.write((store) => storeCounted(store, told, new GoalBooks()))
  knownFacts.noteLeft(left, JSON.parse(JSON.stringify(stored.read)) as typeof stored.read)
  return { read: read - before, stored: stored.facts, left: counted.left.length, leftAlike: counted.leftAlike }
}

async function expectVerified(): Promise<void> {
  expect(await verifyStatistics(bench.database, bench.workspaceId, () => {})).toMatchObject({ differingCells: 0 })
}

describe('What batches have read of customers', () => {
  it.each([0, 1 / 2, 1])('is not read again, with %d of the counting left to the thread that stores', async (share) => {
    expect(await take([events('attempted', CUSTOMERS)])).toMatchObject({ read: 10, stored: 10 })
    for (const kind of ['sent', 'delivered', 'impression', 'click']) {
      const taken = await take([events(kind, CUSTOMERS)], { leftShare: share })
      expect(taken).toMatchObject({ read: 0, stored: 10, left: 0 })
      // All of them are alike.
      expect(taken.leftAlike.map(({ users }) => users)).toEqual(share === 1 ? [10] : [])
    }
    await expectVerified()
  })

  it('is known of those who were left, too', async () => {
    const half = { leftShare: 1 / 2 }
    expect(await take([events('sent', CUSTOMERS)], half)).toMatchObject({ read: 5, left: 5 })
    const { leftAlike, ...taken } = await take([events('delivered', CUSTOMERS)], { leftShare: 1 })
    expect(taken).toMatchObject({ read: 0, left: 0 })
    // All of them are alike, wherever they were counted.
    expect(leftAlike.map(({ users }) => users)).toEqual([10])
    await expectVerified()
  })

  it('is known of those who were left with their first facts', async () => {
    campaign = await bench.makeCampaign({ id: `other-${bench.workspaceId}`, goals: [] })
    expect(await take([audience(CUSTOMERS)], { leftShare: 1 / 2 })).toMatchObject({ read: 0, left: 5, stored: 10 })
    expect(await take([events('sent', CUSTOMERS)])).toMatchObject({ read: 0, left: 0, stored: 10 })
    await expectVerified()
  })

  it('is not known of those who were left with a fact that is known', async () => {
    await applyAlone(events('sent', ['c9']))
    expect(await take([events('sent', CUSTOMERS)], { leftShare: 1 })).toMatchObject({ left: 10, stored: 9 })
    expect(await take([events('delivered', CUSTOMERS)])).toMatchObject({ read: 2 })
    await expectVerified()
  })

  it('counts for users who differ in what was there before', async () => {
    await take([events('sent', CUSTOMERS.slice(0, 5)), events('failed', CUSTOMERS.slice(5))])
    await take([events('sent', CUSTOMERS, { time: '2026-05-05T09:00:00Z' })])
    expect(await take([events('delivered', CUSTOMERS)], { leftShare: 1 })).toMatchObject({ read: 0, stored: 10 })
    await expectVerified()
  })

  it.each<[why: string, entries: () => readonly TestEntry[]]>([
    ['a fact is reported again', () => [events('attempted', ['c1'])]],
    ['there is a new audience', () => [audience(['c1'], { evaluated_at: '2026-05-04T10:00:00Z' })]],
    ['goal events follow a touch', () => [events('impression', ['c1'], { time: '2026-05-04T11:00:00Z' })]],
    ['there are very many facts', () => clicks(16)],
  ])('is read again where %s, and counts the same afterwards', async (_, entries) => {
    await applyAlone(ordered('c1', '2026-05-04T12:00:00Z'))
    await take([events('sent', ['c0', 'c1'], { time: '2026-05-01T09:00:00Z' }), events('attempted', ['c1'])])
    expect(await take([events('delivered', ['c0', 'c1'])])).toMatchObject({ read: 0 })
    expect((await take(entries())).read).toBeGreaterThan(0)
    await take([events('delivered', ['c0', 'c1'], { time: '2026-05-06T09:00:00Z' })])
    await expectVerified()
  })

  it('tells that no goal events follow later touches, and is asked again for earlier ones', async () => {
    await applyAlone(ordered('c1', '2026-05-04T07:00:00Z'))
    await take([events('attempted', ['c0', 'c1'])])
    await take([events('sent', ['c0', 'c1'])])
    expect(askedForEvents).toBe(1)
    expect(await take([events('impression', ['c0', 'c1'], { time: '2026-05-04T09:00:01Z' })])).toMatchObject({
      read: 0,
    })
    expect(askedForEvents).toBe(1)
    expect((await take([events('click', ['c0', 'c1'], { time: '2026-05-04T06:00:00Z' })])).read).toBeGreaterThan(0)
    expect(askedForEvents).toBe(2)
    await expectVerified()
  })

  it('does not tell so where goal events follow much later', async () => {
    // The window of the goal is a day.
    await applyAlone(ordered('c1', '2026-05-06T09:00:00Z'))
    await take([events('attempted', ['c1'])])
    expect(await take([events('sent', ['c1'])])).toMatchObject({ read: 0 })
    expect((await take([events('impression', ['c1'], { time: '2026-05-06T08:00:00Z' })])).read).toBeGreaterThan(0)
    await expectVerified()
  })

  it('is read again where a user has more facts than are counted within a batch', async () => {
    await take([events('attempted', ['c1']), events('sent', ['c1'])])
    await expect(take([events('delivered', ['c1'])], { factsPerUserMax: 2 })).rejects.toThrow(NeedsWriting)
    expect(read).toBe(4)
    await applyBatch(bench.database, await toBatch(), [await bench.cursor()])
    await expectVerified()
  })

  it('is read again where a batch is about two campaigns of a customer', async () => {
    await take([events('sent', ['c1', 'c2'])])
    const other = await bench.makeCampaign({ id: `other-${bench.workspaceId}`, goals: [] })
    const elsewhere = { ...events('sent', ['c1']), context: { campaign: other } }
    expect((await take([events('delivered', ['c1', 'c2']), elsewhere])).read).toBeGreaterThan(0)
    await take([events('impression', ['c1', 'c2'])])
    await expectVerified()
  })

  it('is forgotten where there is more than may be remembered', async () => {
    knownFacts = new KnownFacts(12)
    await take([events('attempted', CUSTOMERS.slice(0, 4))])
    expect(await take([events('sent', CUSTOMERS.slice(0, 4))])).toMatchObject({ read: 0 })
    expect(await take([events('sent', CUSTOMERS.slice(4))])).toMatchObject({ read: 6 })
    // There would be room for two more.
    expect(await take([events('delivered', CUSTOMERS.slice(0, 4))])).toMatchObject({ read: 12 })
    expect(await take([events('delivered', CUSTOMERS.slice(4))])).toMatchObject({ read: 12 })
    await expectVerified()
  })

  it('makes room for others where it is forgotten', async () => {
    knownFacts = new KnownFacts(20)
    for (let round = 0; round < 5; round++) await take([events('attempted', CUSTOMERS)])
    expect(await take([events('sent', CUSTOMERS)])).toMatchObject({ read: 20 })
    expect(await take([events('delivered', CUSTOMERS)])).toMatchObject({ read: 0 })
    await expectVerified()
  })

  it('is of the customers of several workspaces', async () => {
    const first = { workspaceId: bench.workspaceId, campaign }
    await bench.makeWorkspace()
    campaign = await bench.makeCampaign()
    await applyAlone(audience(CUSTOMERS))
    const both = (kind: string): TestEntry[] => {
      const there = { workspaceId: first.workspaceId, context: { campaign: first.campaign } }
      return [{ ...events(kind, CUSTOMERS.slice(0, 3)), ...there }, events(kind, CUSTOMERS)]
    }
    await take(both('sent'))
    const { leftAlike } = await take(both('delivered'), { leftShare: 1 })
    expect(leftAlike.map(({ users }) => users)).toEqual([3, 10])
    for (const workspaceId of [first.workspaceId, bench.workspaceId])
      expect(await verifyStatistics(bench.database, workspaceId, () => {})).toMatchObject({ differingCells: 0 })
  })

  it('is forgotten when that is asked for', async () => {
    await take([events('attempted', CUSTOMERS)])
    knownFacts.clear()
    expect(await take([events('sent', CUSTOMERS)])).toMatchObject({ read: 20 })
    expect(await take([events('delivered', CUSTOMERS)])).toMatchObject({ read: 0 })
    await expectVerified()
  })
})

it('Whatever is reported, and in whatever order, all is counted as it is stored', async () => {
  const seed = Number(process.env['STATISTICS_SEED'] ?? Date.now() % 2 ** 31)
  const random = seededRandom(seed)
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value
  const some = () => CUSTOMERS.filter(() => random() < 0.4).concat(pick(CUSTOMERS))
  const instant = () => new Date(SENT_AT + pick([-30, -13, -1, 0, 0, 1, 15, 40]) * HOUR + pick([0, 1])).toISOString()
  const platform = () => pick(['EMAIL', 'EMAIL', 'EMAIL', 'WEB'])
  const reportAny = (): TestEntry => {
    if (random() < 0.1) {
      const group = pick(['target', 'target', 'campaign_control'])
      return audience(some(), { platform: platform(), evaluated_at: instant(), group, variation: pick(['a', 'b']) })
    }
    const kind = pick(['attempted', 'sent', 'failed', 'delivered', 'impression', 'click'])
    const reason = kind === 'failed' ? { reason: pick(['x', 'y']) } : {}
    return events(kind, some(), { platform: platform(), device_id: pick(['d', 'd', 'e']), time: instant(), ...reason })
  }
  let known = 0
  for (let life = 0; life < 40; life++) {
    // In every other life there is not always room for all.
    knownFacts = new KnownFacts(life % 2 === 0 ? 1_000 : 14)
    await bench.makeWorkspace()
    campaign = await bench.makeCampaign({ id: `life-${bench.workspaceId}` })
    await applyAlone(audience(CUSTOMERS))
    for (let batch = 0; batch < 12; batch++) {
      const taken = await take(Array.from({ length: pick([1, 1, 2]) }, reportAny), { leftShare: pick([0, 0.3, 1]) })
      known += taken.leftAlike.length
    }
    expect(
      await verifyStatistics(bench.database, bench.workspaceId, () => {}),
      `STATISTICS_SEED=${seed}`,
    ).toMatchObject({ differingCells: 0 })
  }
  expect(known).toBeGreaterThan(100)
})
