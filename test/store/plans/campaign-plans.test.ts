// Checks that campaigns and recounts are looked up by index on every store, with ten campaigns or ten thousand.
import { sql, type Compilable } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addCampaignEvents } from '../../../src/store/campaigns/campaign-events.ts'
import { CAMPAIGN_STATES } from '../../../src/core/delivery/delivery-changes.ts'
import { listCampaignsOf, type CampaignsPage } from '../../../src/store/campaign-lists/campaign-pages.ts'
import {
  addCampaign,
  findCampaign,
  findCampaignsById,
  findCountedGenerations,
  listAllCampaigns,
  listBackfilledGenerations,
  measureCampaigns,
  markReported,
  removeUnreportedCampaign,
  saveArchivedAt,
  saveCampaign,
  savePendingGeneration,
  type StoredCampaign,
} from '../../../src/store/campaigns/campaigns.ts'
import { findGoalBackfill, firstBackfill, saveGoalBackfill } from '../../../src/store/campaigns/goal-backfills.ts'
import { addDelivery } from '../../../src/store/delivery/deliveries.ts'
import { toDeliverySettings } from '../../../src/operations/campaigns/delivery-body.ts'
import { takeSenderLease } from '../../../src/store/senders/sender-leases.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { countUsers } from '../../../src/store/users/user-counts.ts'
import { saveUsers } from '../../../src/store/users/users.ts'
import { explain, expectIndexed } from '../../support/query-plan.ts'
import { recordQueries } from '../../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

/** Enough that PostgreSQL has reason to prefer an index. */
const CAMPAIGNS = 2_000
const USERS = 20_000
const WORKSPACES = 20
const SENDERS = 2_000
/** Ways to find campaigns, and what narrows the tables of deliveries and senders. */
const FINDINGS = [
  ['a part of the name', { search: 'sale' }],
  ...CAMPAIGN_STATES.map((state) => [`the state ${state}`, { states: [state] }] as const),
  ['several states and a text', { states: ['draft', 'waiting', 'none'], search: 'sale' }],
] as const satisfies readonly (readonly [string, Pick<CampaignsPage, 'states' | 'search'>])[]
const FOUND_BY = ['workspace_id', 'number', 'campaign', 'state', 'sender', 'id']

describeEachStore('Campaigns', (kind) => {
  let location: TestLocation
  let database: Database
  let campaign: StoredCampaign

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    await database.write(async (store) => {
      for (let number = 1; number <= CAMPAIGNS; number++) campaign = await add(store, number)
      await addCampaignEvents(store, manyEvents())
      for (let number = 1; number <= CAMPAIGNS; number += 2) await deliver(store, number)
      for (let sender = 1; sender <= SENDERS; sender++) {
        await takeSenderLease(store, { sender, holder: 'h', keptMs: 1, isAlone: true })
      }
      for (let number = 1; number <= CAMPAIGNS; number++) await saveGoalBackfill(store, firstBackfill(`w${number}`))
      await saveUsers(store, manyUsers())
      await sql`analyze`.execute(store.query)
    })
  }, 120_000)
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  // SQLite also calls the number of any row `id`.
  type Lookup = [what: string, narrowedBy: string[], work: (store: Store) => Promise<unknown>]
  const lookups: Lookup[] = [
    ['a campaign by id', ['id'], (store) => findCampaign(store, 'w1', 'campaign-1')],
    [
      'campaigns by id',
      ['id', 'workspace_id'],
      (store) => findCampaignsById(store, 'w1', ['campaign-1', 'campaign-2']),
    ],
    ['generations by number', ['number', 'workspace_id', 'id'], (store) => findCountedGenerations(store, 'w1', [1, 2])],
    ...([false, true, 'all'] as const).flatMap((archived): Lookup[] => {
      const page = (before?: number) => (store: Store) => listCampaignsOf(store, 'w1', { archived, before, max: 51 })
      return [
        [`the first page with archived=${archived}`, ['workspace_id'], page()],
        [`a further page with archived=${archived}`, ['workspace_id'], page(1_000)],
      ]
    }),
    ...FINDINGS.flatMap(([what, finding]): Lookup[] => {
      const page = { ...finding, archived: 'all', before: 1_000, max: 51 } as const
      return [[`campaigns by ${what}`, FOUND_BY, (store) => listCampaignsOf(store, 'w1', page)]]
    }),
    ['all campaigns of a workspace', ['workspace_id'], (store) => listAllCampaigns(store, 'w1')],
    ['the generations of a workspace', ['workspace_id'], (store) => listBackfilledGenerations(store, 'w1')],
    ['the number and the size of campaigns', ['workspace_id'], (store) => measureCampaigns(store, 'w1')],
    ['a campaign to change', ['number', 'campaign', 'id'], (store) => saveCampaign(store, campaign)],
    ['a campaign to archive', ['number', 'id'], (store) => saveArchivedAt(store, 1, 1)],
    ['a campaign to mark', ['id'], (store) => markReported(store, 'campaign-1')],
    ['a campaign to delete', ['number', 'campaign', 'id'], (store) => removeUnreportedCampaign(store, 0)],
    [
      'campaigns to be counted',
      ['number', 'workspace_id', 'event', 'campaign', 'id'],
      (store) => savePendingGeneration(store, { number: 1, workspaceId: 'w1', events: ['A', 'B'] }, 2),
    ],
    ['the backfill of a workspace', ['workspace_id'], (store) => findGoalBackfill(store, 'w1')],
    ['the number of users', ['workspace_id'], (store) => countUsers(store, 'w1')],
  ]
  it.each(lookups)('finds %s by an index', async (_what, narrowedBy, work) => {
    const queries = await recordQueries(database, work)
    expect(queries.length).toBeGreaterThan(0)
    for (const query of queries.filter(isSearch)) expectIndexed(await explain(database, query), ...narrowedBy)
  })

  it('reads campaigns in the order of their index, without sorting', async () => {
    const queries = await recordQueries(database, (store) => listAllCampaigns(store, 'w1'))
    for (const archived of [false, true, 'all'] as const) {
      const page = { archived, before: 1_000, max: 51 }
      queries.push(...(await recordQueries(database, (store) => listCampaignsOf(store, 'w1', page))))
    }
    for (const [, finding] of FINDINGS) {
      const page = { ...finding, archived: false, before: undefined, max: 51 }
      queries.push(...(await recordQueries(database, (store) => listCampaignsOf(store, 'w1', page))))
    }
    expect(queries).toHaveLength(4 + FINDINGS.length)
    for (const query of queries) expect(await explain(database, query)).toMatchObject({ sorts: false })
  })

  it.each([
    ['current', false, 'campaigns_shown'],
    ['archived', true, 'campaigns_archived'],
  ] as const)('lists %s campaigns by an index of only these', async (_which, archived, index) => {
    const page = { archived, before: undefined, max: 51 }
    const [query] = await recordQueries(database, (store) => listCampaignsOf(store, 'w1', page))
    const { accesses } = await explain(database, query as Compilable)
    // PostgreSQL sees that each workspace here has one campaign, and may take any index.
    const indexes = accesses.map((access) => access.index)
    expect(kind === 'sqlite' ? indexes : [index]).toEqual([index])
  })
})

/** An insert searches for nothing. */
function isSearch(query: Compilable): boolean {
  return !query.compile().sql.startsWith('insert')
}

function add(store: Store, number: number): Promise<StoredCampaign> {
  return addCampaign(store, {
    id: `campaign-${number}`,
    workspaceId: `w${number % WORKSPACES}`,
    name: `Campaign ${number}`,
    platforms: ['EMAIL'],
    goals: [],
    createdBy: 'anna',
    createdAt: number,
  })
}

function deliver(store: Store, campaign: number) {
  const settings = toDeliverySettings({
    sender_id: 's',
    audience: { include: ['x'] },
    variations: [{ name: 'A', share: 100, external_template_id: 't' }],
  })
  return addDelivery(store, { campaign, workspaceId: `w${campaign % WORKSPACES}`, settings, seed: 's' })
}

function manyEvents() {
  return Array.from({ length: CAMPAIGNS }, (_, index) => {
    const number = index + 1
    return { number, workspaceId: `w${number % WORKSPACES}`, events: ['Order Placed', `Event ${number}`] }
  })
}

function manyUsers() {
  return Array.from({ length: USERS }, (_, index) => {
    const id = index + 1
    return {
      id,
      workspaceId: `w${id % WORKSPACES}`,
      customerId: `c${id}`,
      attributes: {},
      emailKey: null,
      createdAt: 1,
    }
  })
}
