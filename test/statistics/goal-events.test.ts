// Checks which goals events meet, and that their attributes do not stay in memory.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FACT_CAPS, type GoalEvent } from '../../src/core/campaigns/facts.ts'
import type { Goal } from '../../src/core/campaigns/goal.ts'
import type { CampaignGoals } from '../../src/core/statistics/rules.ts'
import type { GoalCatalog } from '../../src/statistics/goal-catalog.ts'
import { judgeAtOnce, judgeEvents } from '../../src/statistics/goal-events.ts'
import { addEvents, listNamedEvents, type StoredEvent } from '../../src/store/users/events.ts'
import type { Database } from '../../src/store/store.ts'
import { watchRows } from '../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

const EVENTS = 60
const FILLING_BYTES = 100_000
/** As many events of this size as fit into the 4 MiB allowed in memory. */
const READ_AT_ONCE_MAX = 41

const ANY = toGoal('any', 'Order Placed', [])
const LARGE = toGoal('large', 'Order Placed', [{ attribute: 'amount', operator: 'greater_than', value: 49 }])
const LARGER = toGoal('larger', 'Order Placed', [{ attribute: 'amount', operator: 'greater_than', value: 57 }])
const RARE = toGoal('rare', 'Order Returned', [{ attribute: 'amount', operator: 'greater_than', value: 57 }])
/** Campaigns 1 to 3 have these goals; a backfill gives campaign 3 another. */
const CATALOG = toCatalog([[ANY, LARGE], [RARE], [ANY]], { campaign: 3, goals: [LARGER] })

describeEachStore('Goal events', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    const numbers = Array.from({ length: EVENTS }, (_, index) => index)
    const events = ['Order Placed', 'Order Returned', 'Visited'].flatMap((action, index) => {
      return numbers.map((number) => toEvent(index * EVENTS + number, action, number))
    })
    await database.write(async (store) => void (await addEvents(store, events)))
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const named = (actions: readonly string[]) => {
    const periods = actions.map((action) => ({ user_id: 1, action, from: 0, until: EVENTS }))
    return listNamedEvents(database, periods)
  }

  it('are returned with the conditional goals they meet, of the given campaigns only', async () => {
    const events = await named(['Order Placed', 'Order Returned', 'Visited'])
    const [judged = []] = await judgeEvents(database, CATALOG, [{ events, campaigns: [1, 2, 3] }])
    const metBy = (goal: Goal) => judged.filter(({ met }) => met.has(goal)).length
    expect([LARGE, LARGER, RARE, ANY].map(metBy)).toEqual([10, 2, 2, 0])
    expect(judged.map(({ id }) => id)).toEqual(events.map(({ id }) => id))
    const [fewer = []] = await judgeEvents(database, CATALOG, [{ events, campaigns: [2] }])
    expect([LARGE, RARE].map((goal) => fewer.filter(({ met }) => met.has(goal)).length)).toEqual([0, 2])
  })

  it('have their attributes read a few megabytes at a time, none of which stay in memory', async () => {
    const events = await named(['Order Placed'])
    const watched = watchRows(database)
    const [judged = []] = await judgeEvents(watched.database, CATALOG, [{ events, campaigns: [1] }])
    const [measured, ...read] = watched.rowsOfQueries
    expect(measured).toBe(EVENTS)
    expect(read.reduce((sum, rows) => sum + rows, 0)).toBe(EVENTS)
    expect(Math.max(...read)).toBeLessThanOrEqual(READ_AT_ONCE_MAX)
    expect(Object.keys(judged[0] ?? {}).toSorted()).toEqual(['action', 'id', 'met', 'time', 'userId'])
  })

  it('have their attributes read for a batch only up to a few megabytes in all', async () => {
    const events = await named(['Order Placed'])
    const watched = watchRows(database)
    const few = [{ events: events.slice(-READ_AT_ONCE_MAX), campaigns: [1] }]
    const [judged = []] = (await judgeAtOnce(watched.database, CATALOG, few)) ?? []
    expect(judged).toEqual((await judgeEvents(database, CATALOG, few))[0])
    expect(judged.filter(({ met }) => met.has(LARGE))).toHaveLength(10)
    expect(watched.rowsOfQueries).toEqual([READ_AT_ONCE_MAX, READ_AT_ONCE_MAX])
    const oneMore = [...few, { events: events.slice(0, 1), campaigns: [1] }]
    expect(await judgeAtOnce(watched.database, CATALOG, oneMore)).toBeUndefined()
    expect(watched.rowsOfQueries.slice(2)).toEqual([READ_AT_ONCE_MAX + 1])
  })

  it('share one verdict when they meet the same goals, however many goals there are', async () => {
    const goals = Array.from({ length: 500 }, (_, index) => ({ ...LARGE, name: `large ${index}` }))
    const catalog = toCatalog(goals.map((goal) => [goal]))
    const events = await named(['Order Placed'])
    const campaigns = [...catalog.counted.campaigns.keys()]
    const [judged = []] = await judgeEvents(database, catalog, [{ events, campaigns }])
    const metOf = ({ met }: GoalEvent) => goals.filter((goal) => met.has(goal)).length
    expect(judged.map(metOf)).toEqual(events.map(({ time }) => (time > 49 ? 500 : 0)))
    expect(new Set(judged.map(({ met }) => met)).size).toBe(2)
  })

  it('do not have their attributes read when no goal of the campaigns has conditions on their name', async () => {
    const events = await named(['Order Placed', 'Visited'])
    const watched = watchRows(database)
    const unjudged = [
      { events, campaigns: [2] },
      { events, campaigns: [] },
    ]
    const judged = await judgeEvents(watched.database, CATALOG, unjudged)
    expect(judged.map((ofUser) => ofUser.length)).toEqual([events.length, events.length])
    expect(judged.flat().filter(({ met }) => [ANY, LARGE, LARGER, RARE].some((goal) => met.has(goal)))).toEqual([])
    expect(watched.rowsOfQueries).toEqual([])
  })
})

function toGoal(name: string, event: string, where: Goal['where']): Goal {
  return { name, event, where, windowHours: 36 }
}

/** Campaigns with these goals, from number 1 on. */
function toCatalog(
  goals: readonly (readonly Goal[])[],
  changed?: { readonly campaign: number; readonly goals: readonly Goal[] },
): GoalCatalog {
  const campaigns = new Map(goals.map((own, index) => [index + 1, toCampaign(index + 1, own)]))
  const rules = (changed: Iterable<[number, CampaignGoals]> = []) => {
    const { goalEvents: goalEventsMax } = FACT_CAPS
    return { timezone: 'UTC', goalEventsMax, campaigns: new Map([...campaigns, ...changed]) }
  }
  return {
    workspaceId: 'main',
    version: 1,
    caps: FACT_CAPS,
    counted: rules(),
    pending: changed && {
      campaigns: new Set([changed.campaign]),
      userCursor: 0,
      rules: rules([[changed.campaign, toCampaign(changed.campaign, changed.goals)]]),
    },
    generation: 0,
    eventNames: new Set(goals.flat().map(({ event }) => event)),
    eventsOfCampaign: new Map(),
  }
}

function toCampaign(number: number, goals: readonly Goal[]): CampaignGoals {
  return { id: `c${number}`, number, goals, generation: 0 }
}

function toEvent(id: number, action: string, number: number): StoredEvent {
  return {
    id,
    workspaceId: 'main',
    userId: 1,
    givenId: null,
    action,
    attributes: JSON.stringify({ amount: number, filling: 'x'.repeat(FILLING_BYTES) }),
    platform: null,
    appVersion: null,
    deviceId: null,
    ip: null,
    projectCode: null,
    time: number,
    receivedAt: number,
  }
}
