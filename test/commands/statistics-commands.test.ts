// Checks `statistics verify` and `rebuild` on every store, beside a serving program. What they print and their exit statuses are those of
// separate processes; the rest is called here.
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import type { Goal } from '../../src/core/campaigns/goal.ts'
import { ANYTHING } from '../../src/core/statistics/anything.ts'
import { NO_DAY, seriesKey, type Cell } from '../../src/core/statistics/cells.ts'
import { fromCalendarDate } from '../../src/core/time-zone.ts'
import { GoalCatalogs } from '../../src/statistics/goal-catalog.ts'
import { rebuildStatistics } from '../../src/statistics/rebuild-statistics.ts'
import { backfillGoals } from '../../src/statistics/backfill-goals.ts'
import { listAllCampaigns, type StoredCampaign } from '../../src/store/campaigns/campaigns.ts'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { numberSeries } from '../../src/store/statistics/series.ts'
import type { Database } from '../../src/store/store.ts'
import { entriesAddedBy } from '../support/audit/audit-entries.ts'
import type { HistoryEntry } from '../support/statistics/history-entries.ts'
import { callCommand } from '../support/calls/call-command.ts'
import { environmentOf, failureOf, run, runJson, startServing, type Environment } from '../support/program.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { event, goal, HOUR, member, message, NOON, workspace } from '../support/statistics/statistics-examples.ts'
import {
  expectAnswers,
  expectVerified,
  openStatisticsStore,
  StatisticsRun,
  type StatisticsStore,
} from '../support/statistics/statistics-run.ts'
import { LOAD_SETTINGS, StatisticsLoad } from '../support/statistics/statistics-load.ts'
import { describeEachStore, makeLocation, openTestDatabase } from '../support/stores.ts'
import { usersOf } from '../support/statistics/many-facts.ts'
import { addUncountedEvents } from '../../src/store/statistics/uncounted-events.ts'

// Every command is a process of its own, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 60_000 })

const DAY = { startDate: '2026-03-10', endDate: '2026-03-11' } as const
/** More differences than the output lists. */
const MANY = 1_005
const REBUILDS = 2

describeEachStore('statistics', (kind) => {
  let opened: StatisticsStore
  let environment: Environment
  let shop: StatisticsRun

  beforeAll(async () => {
    opened = await openStatisticsStore(kind)
    environment = environmentOf(opened.location)
    // Another workspace, whose statistics stay correct.
    await makeShop()
  })
  afterAll(() => opened.close())
  beforeEach(async () => void (shop = await makeShop()))

  async function makeShop(): Promise<StatisticsRun> {
    const campaigns = [{ id: 'c1', goals: [goal({})] }]
    const made = await StatisticsRun.make(opened, workspace({ campaigns }))
    await made.apply(ENTRIES)
    return made
  }

  const statistics = (what: 'verify' | 'rebuild', run = shop) => {
    return callCommand(['statistics', what, '--workspace', run.workspaceId], environment)
  }
  const corrupt = async (...cells: readonly Partial<Cell>[]) => {
    await changeRows(opened.database, await shop.campaignRows(), cells)
  }

  it('verify exits with 0 if a recount finds no difference, and reports what it counted', async () => {
    const numbers = (await shop.campaignRows()).map(({ number }) => number)
    const rows = await opened.database.query
      .selectFrom('statistics')
      .select('day')
      .where('campaign', 'in', numbers)
      .execute()
    const args = ['statistics', 'verify', '--workspace', shop.workspaceId]
    expect(await runJson(args, environment)).toEqual({
      status: 0,
      stderr: '',
      body: {
        equal: true,
        workspaces: [
          {
            workspace_id: shop.workspaceId,
            users: 2,
            facts: 7,
            cells: rows.length,
            users_over_cap: 0,
            events_not_counted: 0,
            differing_cells: 0,
            differences: [],
          },
        ],
      },
    })
  })

  it('verify reports how many users are over a cap, and how many of their facts are not counted', async () => {
    const [ann, bob] = await usersOf(shop)
    const uncounted = new Map([ann, bob].map((person, index) => [person?.userId ?? 0, index + 2]))
    await opened.database.write((store) => addUncountedEvents(store, uncounted))
    await opened.database.write((store) => addUncountedEvents(store, uncounted))
    const over = { users_over_cap: 2, events_not_counted: 10 }
    expect(await statistics('verify')).toMatchObject({ status: 0, body: { equal: true, workspaces: [over] } })
    const { text } = await statistics('verify')
    const cap = '10000 memberships, 10000 message events or 10000 goal events in a campaign'
    expect(text).toContain(`2 users are over a cap of ${cap}; 10 of their facts are not counted`)
  })

  it('verify exits with 1 and prints exactly the rows that were changed, deleted and added', async () => {
    await corrupt(
      { metric: 'sent', users: 1, occurrences: 2 },
      { metric: 'click', users: -1, occurrences: -1 },
      { metric: 'failed', platform: 'TV', locale: 'de', variation: 'B', previousDay: DAY_NUMBER - 2 },
      { metric: ANYTHING, users: 0, occurrences: 4 },
    )
    const campaign = { campaign_id: (await shop.campaignRows())[0]?.id, generation: 0, group: '' }
    const everywhere = { platform: 'all_platforms', locale: 'all_locales', variation: 'all_variations' }
    const first = { ...campaign, ...everywhere, day: '2026-03-10', previous_day: null }
    const added = { platform: 'TV', locale: 'de', variation: 'B', day: '2026-03-10', previous_day: '2026-03-08' }
    const differences = [
      { ...first, metric: 'sent', stored: toCounted(3, 4), counted: toCounted(2, 2) },
      { ...first, metric: 'click', stored: toCounted(0, 0), counted: toCounted(1, 1) },
      { ...campaign, ...added, metric: 'failed', stored: toCounted(1, 1), counted: toCounted(0, 0) },
      { ...first, metric: 'anything', stored: toCounted(0, OCCURRENCES + 4), counted: toCounted(0, OCCURRENCES) },
    ]
    const { status, body } = await statistics('verify')
    const found = body as { equal: boolean; workspaces: [{ differing_cells: number; differences: unknown[] }] }
    expect({ status, equal: found.equal }).toEqual({ status: 1, equal: false })
    expect(found.workspaces).toHaveLength(1)
    expect(found.workspaces[0]).toMatchObject({ workspace_id: shop.workspaceId, differing_cells: 4 })
    expect(inOrder(found.workspaces[0].differences)).toEqual(inOrder(differences))
    const text = await run(['statistics', 'verify', '--workspace', shop.workspaceId], environment)
    expect(text.status).toBe(1)
    expect(text.stdout).toContain('4 cells differ')
    expect(text.stdout).toMatch(/\nRun `tidings statistics rebuild` to correct the statistics\.\n$/)
    for (const { metric } of differences) expect(text.stdout).toContain(`"metric":"${metric}"`)
  })

  it('rebuild corrects rows that were changed, deleted and added', async () => {
    await corrupt({ metric: 'sent', occurrences: 9 }, { metric: 'click', users: -1, occurrences: -1 }, { day: 20_000 })
    await corrupt({ metric: ANYTHING, users: 0, occurrences: -OCCURRENCES })
    expect(await statistics('rebuild')).toMatchObject({ status: 0, body: { workspaces: [{ differing_cells: 4 }] } })
    expect(await statistics('verify')).toMatchObject({ status: 0, body: { equal: true } })
    await expectAnswers(shop, [DAY])
    expect(await statistics('rebuild')).toMatchObject({ status: 0, body: { workspaces: [{ differing_cells: 0 }] } })
  })

  it('verify and rebuild follow changed facts, not the table', async () => {
    const { number = 0 } = (await shop.campaignRows())[0] ?? {}
    await opened.database.write(async ({ query }) => {
      for (const table of ['message_events', 'message_events_staging'] as const) {
        await query.deleteFrom(table).where('campaign', '=', number).where('kind', '=', KIND_CLICK).execute()
      }
    })
    expect(await statistics('verify')).toMatchObject({ status: 1, body: { equal: false } })
    await statistics('rebuild')
    expect(await statistics('verify')).toMatchObject({ status: 0 })
    expect(JSON.stringify(await shop.ask(QUESTION))).toContain('"click":0')
  })

  it('verify checks all workspaces, or only the given one', async () => {
    await corrupt({ metric: 'sent' })
    const other = await makeShop()
    expect(await statistics('verify', other)).toMatchObject({ status: 0 })
    const all = await callCommand(['statistics', 'verify'], environment)
    expect(all).toMatchObject({ status: 1, body: { equal: false } })
    const { workspaces } = all.body as { workspaces: { workspace_id: string; differing_cells: number }[] }
    const differing = workspaces.filter(({ differing_cells: cells }) => cells > 0)
    expect(differing.map(({ workspace_id: id }) => id)).toContain(shop.workspaceId)
    expect(differing.map(({ workspace_id: id }) => id)).not.toContain(other.workspaceId)
    expect(workspaces.map(({ workspace_id: id }) => id)).toContain(other.workspaceId)
  })

  it.each(['verify', 'rebuild'])('%s reports that a workspace does not exist', async (what) => {
    const refused = await callCommand(['statistics', what, '--workspace', 'nobody'], environment)
    expect(failureOf(refused)).toMatchObject({ status: 1, code: 'not_found' })
  })

  it.each(['verify', 'rebuild'])('%s clears its progress line at the end', async (what) => {
    const onTerminal = { NODE_OPTIONS: '--import=data:text/javascript,process.stderr.isTTY=true' }
    const args = ['statistics', what, '--workspace', shop.workspaceId]
    const { status, stderr } = await run(args, { ...environment, ...onTerminal })
    expect({ status, isCleared: stderr.endsWith('\r\u001B[K') }).toEqual({ status: 0, isCleared: true })
  })

  it('verify reports that a workspace has no campaigns', async () => {
    await createWorkspace(opened.database, `empty-${kind}`, {}, Date.now())
    const { status, text } = await callCommand(['statistics', 'verify', '--workspace', `empty-${kind}`], environment)
    expect({ status, text }).toEqual({ status: 0, text: 'No campaigns to verify.\n' })
  })

  it('verify lists a limited number of differing cells and counts all of them; rebuild corrects all', async () => {
    await corrupt(...Array.from({ length: MANY }, (_, day) => ({ metric: 'sent', day })))
    const { status, body } = await statistics('verify')
    const { workspaces } = body as { workspaces: [{ differing_cells: number; differences: unknown[] }] }
    expect(status).toBe(1)
    expect(workspaces[0].differing_cells).toBe(MANY)
    expect(workspaces[0].differences).toHaveLength(1_000)
    expect(await statistics('rebuild')).toMatchObject({ status: 0 })
    expect(await statistics('verify')).toMatchObject({ status: 0 })
  })

  it('rebuild is in the audit trail with the cells that it corrected, verify is not', async () => {
    await corrupt({ metric: 'sent', occurrences: 9 }, { metric: 'click', users: -1, occurrences: -1 })
    const added = (what: 'verify' | 'rebuild') => {
      return entriesAddedBy(opened.database, shop.workspaceId, () => statistics(what))
    }
    expect(await added('verify')).toEqual([])
    const changes = [{ field: 'corrected_cells', before: null, after: 2 }]
    expect(await added('rebuild')).toMatchObject([
      { action: 'rebuild_statistics', subjectId: shop.workspaceId, changes },
    ])
    expect(await added('rebuild')).toEqual([])
  })

  it('two concurrent rebuilds leave correct statistics, even if one is refused', async () => {
    await corrupt({ metric: 'sent', occurrences: 9 }, { metric: 'click', users: -1, occurrences: -1 })
    const args = ['statistics', 'rebuild', '--workspace', shop.workspaceId]
    for (const ended of await Promise.all([runJson(args, environment), runJson(args, environment)])) {
      expect([undefined, 'conflict']).toContain(failureOf(ended)?.code)
    }
    expect(await statistics('verify')).toMatchObject({ status: 0 })
  })

  const interventions: [what: string, intervene: () => Promise<unknown>][] = [
    ['another rebuild', () => rebuildStatistics(opened.database, shop.workspaceId, () => {})],
    ['a change of goals', () => shop.setGoals('c1', [goal({ windowHours: 2 })])],
    ['a change of goals whose backfill is complete', () => useGoals([goal({ windowHours: 2 })])],
  ]
  const useGoals = async (goals: readonly Goal[]) => {
    await shop.setGoals('c1', goals)
    const catalogs = new GoalCatalogs()
    while (await backfillGoals(opened.database, catalogs, { lastWorkspace: '' }));
  }
  it.each(interventions)('rebuild is refused after %s between its count and its writes', async (_, intervene) => {
    await corrupt({ metric: 'sent', occurrences: 9 })
    const rebuilding = rebuildStatistics(afterSnapshot(opened.database, intervene), shop.workspaceId, () => {})
    await expect(rebuilding).rejects.toMatchObject({ code: 'conflict' })
    await rebuildStatistics(opened.database, shop.workspaceId, () => {})
    expect(await expectVerified(shop)).toMatchObject({ users: 2 })
  })

  it('rebuild succeeds despite a campaign created between its count and its writes', async () => {
    await corrupt({ metric: 'sent', occurrences: 9 })
    const making = afterSnapshot(opened.database, () => shop.addCampaign({ id: 'c2', goals: [goal({})] }))
    await rebuildStatistics(making, shop.workspaceId, () => {})
    await expectVerified(shop)
    await expectAnswers(shop, [DAY])
  })

  it('rebuild keeps what batches add between its count and its writes', async () => {
    await corrupt({ metric: 'sent', occurrences: 9 })
    const late = message({ kind: 'sent', customerId: 'cid', time: NOON + HOUR })
    const adding = afterSnapshot(opened.database, () => shop.apply([{ ...NOTHING, ...REPORT, messages: [late] }]))
    await rebuildStatistics(adding, shop.workspaceId, () => {})
    expect(await expectVerified(shop)).toMatchObject({ users: 3 })
    await expectAnswers(shop, [DAY])
  })
})

describeEachStore('statistics rebuild', (kind) => {
  it('corrects the statistics while a program continues to count', async () => {
    const seed = Number(process.env['STATISTICS_SEED'] ?? Date.now() % 1_000_000)
    process.stderr.write(`rebuild under load on ${kind}: STATISTICS_SEED=${seed}\n`)
    const location = await makeLocation(kind)
    const database = await openTestDatabase(location)
    const keys = await createWorkspace(database, 'main', LOAD_SETTINGS, Date.now())
    const server = await startServing(environmentOf(location))
    const { url } = server.started
    try {
      const load = new StatisticsLoad(seededRandom(seed), keys)
      await load.makeCampaigns(url)
      await load.changeGoals(url)
      // A rebuild is refused if this backfill ends meanwhile.
      await load.waitUntilCounted(url)
      let isOver = false
      const sending = load.send(url, () => isOver)
      const campaigns = await listAllCampaigns(database, 'main')
      for (let round = 0; round < REBUILDS; round++) {
        const cells = ['sent', 'click', 'audience'].map((metric) => ({ metric, users: 3, occurrences: 5 }))
        await changeRows(database, campaigns, cells)
        expect(await runJson(['statistics', 'rebuild'], environmentOf(location))).toMatchObject({ status: 0 })
      }
      isOver = true
      await sending
      await load.waitUntilCounted(url)
      expect(await load.findWrong(url)).toEqual([])
      expect(await runJson(['statistics', 'verify'], environmentOf(location))).toMatchObject({ status: 0 })
    } finally {
      await server.stop()
      await database.close()
      await location.remove()
    }
  })
})

const QUESTION = { ...DAY, attributionType: 'CLICK_THROUGH', metricType: 'TOTAL' } as const
const NOTHING = { audiences: [], messages: [], events: [] } as const
const REPORT = { kind: 'svc_message_events' } as const
const DAY_NUMBER = fromCalendarDate(DAY.startDate) ?? 0
/**
 * The occurrences of `anything` on that day: 4 messages; audience, sent, devices and active devices for each of 2 units; one
 * impression.
 */
const OCCURRENCES = 4 + 2 * 4 + 1
/** The index of `click` among the kinds of message events. */
const KIND_CLICK = 5

const ENTRIES: readonly HistoryEntry[] = [
  {
    ...NOTHING,
    kind: 'svc_audience',
    audiences: ['ann', 'bob'].map((customerId) => member({ customerId, evaluatedAt: NOON - HOUR, locale: 'en' })),
  },
  {
    ...NOTHING,
    ...REPORT,
    messages: [
      message({}),
      message({ customerId: 'bob' }),
      message({ kind: 'impression', time: NOON + 1 }),
      message({ kind: 'click', time: NOON + 2 }),
    ],
  },
  { ...NOTHING, kind: 'track_events', events: [event({ time: NOON + HOUR })], customerId: 'ann' },
]

/**
 * Corrupts rows of the first campaign. Adds to each, by default one user and one occurrence of `sent` on the day of the entries;
 * makes rows that do not exist, and deletes those that become empty.
 */
async function changeRows(
  database: Database,
  [campaign]: readonly StoredCampaign[],
  cells: readonly Partial<Cell>[],
): Promise<void> {
  const everywhere = { platform: '', locale: '', variation: '' }
  const usual = { campaign: campaign?.number ?? 0, generation: 0, group: '', metric: 'sent', ...everywhere } as const
  const whole = cells.map((cell) => ({
    ...usual,
    day: DAY_NUMBER,
    previousDay: NO_DAY,
    users: 1,
    occurrences: 1,
    ...cell,
  }))
  await database.write(async (store) => {
    const numbers = await numberSeries(store, whole)
    for (const { day, previousDay, users, occurrences, ...series } of whole) {
      const key = {
        campaign: series.campaign,
        series: numbers.get(seriesKey(series)) ?? 0,
        day,
        previous_day: previousDay,
      }
      await store.query
        .insertInto('statistics')
        .values({ ...key, users, occurrences })
        .onConflict((conflict) =>
          conflict.columns(['campaign', 'series', 'day', 'previous_day']).doUpdateSet((row) => ({
            users: row('statistics.users', '+', users),
            occurrences: row('statistics.occurrences', '+', occurrences),
          })),
        )
        .execute()
    }
    await store.query.deleteFrom('statistics').where('users', '=', 0).where('occurrences', '=', 0).execute()
  })
}

function toCounted(users: number, occurrences: number) {
  return { users, occurrences }
}

function inOrder(differences: readonly unknown[]): unknown[] {
  return differences.toSorted((left, right) => (metricOf(left) < metricOf(right) ? -1 : 1))
}

function metricOf(difference: unknown): string {
  return (difference as { metric: string }).metric
}

/** The same database, but each read of a snapshot is followed by `intervene`. */
function afterSnapshot(database: Database, intervene: () => Promise<unknown>): Database {
  return {
    ...database,
    async readSnapshot(read) {
      const result = await database.readSnapshot(read)
      await intervene()
      return result
    },
  }
}
