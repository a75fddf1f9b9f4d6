// Events that goals name, as they are read to be counted: which goals they meet, and nothing of what else they say.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Goal } from '../src/core/goal.ts'
import type { GoalBook } from '../src/pipeline/goal-books.ts'
import { goalsMetBy, listGoalEvents, pageGoalEvents } from '../src/pipeline/goal-events.ts'
import { addEvents, type StoredEvent } from '../src/store/events.ts'
import type { Database } from '../src/store/store.ts'
import { watchRows } from './record-queries.ts'
import { describeEachStore, makePlace, openTestDatabase, type TestPlace } from './stores.ts'

const EVENTS = 60
const FILLING_BYTES = 100_000
/** As many events of this size as fit into the 4 MiB that may be in memory at one time. */
const READ_AT_ONCE_MAX = 41

const ANY = toGoal('any', 'Order Placed', [])
const LARGE = toGoal('large', 'Order Placed', [{ attribute: 'amount', operator: 'greater_than', value: 49 }])
const RARE = toGoal('rare', 'Order Returned', [{ attribute: 'amount', operator: 'greater_than', value: 57 }])
const BOOK = toBook([ANY, LARGE, RARE])

describeEachStore('Goal events', (kind) => {
  let place: TestPlace
  let database: Database

  beforeAll(async () => {
    place = await makePlace(kind)
    database = await openTestDatabase(place)
    const numbers = Array.from({ length: EVENTS }, (_, index) => index)
    const events = ['Order Placed', 'Order Returned', 'Visited'].flatMap((action, place) => {
      return numbers.map((number) => toEvent(place * EVENTS + number, action, number))
    })
    await database.write(async (store) => void (await addEvents(store, events)))
  })
  afterAll(async () => {
    await database.close()
    await place.remove()
  })

  const periodsOf = (...actions: string[]) => actions.map((action) => ({ user_id: 1, action, from: 0, until: EVENTS }))

  it('come with the goals that they meet, those that meet none are left out', async () => {
    const found = await listGoalEvents(database, BOOK, periodsOf('Order Placed', 'Order Returned', 'Visited'))
    const metBy = (goal: Goal) => found.filter(({ met }) => met.has(goal)).length
    expect([ANY, LARGE, RARE].map(metBy)).toEqual([60, 10, 2])
    expect(found).toHaveLength(62)
  })

  it('are looked into a few megabytes at a time, and nothing of that is kept', async () => {
    const watched = watchRows(database)
    const found = await listGoalEvents(watched.database, BOOK, periodsOf('Order Placed'))
    const [named, measured, ...looked] = watched.rowsOfQueries
    expect([named, measured]).toEqual([EVENTS, EVENTS])
    expect(looked.reduce((sum, rows) => sum + rows, 0)).toBe(EVENTS)
    expect(Math.max(...looked)).toBeLessThanOrEqual(READ_AT_ONCE_MAX)
    expect(Object.keys(found[0] ?? {}).toSorted()).toEqual(['action', 'id', 'met', 'time', 'userId'])
  })

  it('are not looked into where no goal on their name has a condition', async () => {
    const watched = watchRows(database)
    const found = await listGoalEvents(watched.database, toBook([ANY]), periodsOf('Order Placed'))
    expect(found.map(({ met }) => [...met])).toEqual(Array.from({ length: EVENTS }, () => [ANY]))
    expect(watched.rowsOfQueries).toEqual([EVENTS])
  })

  it('of one name come in pages, however few of a page meet a goal', async () => {
    const tracked = { user_id: 1, action: 'Order Returned' }
    const first = await pageGoalEvents(database, BOOK, tracked, { after: undefined, max: 59 })
    expect(first.events.map(({ time }) => time)).toEqual([58])
    const rest = await pageGoalEvents(database, BOOK, tracked, { after: first.next, max: 59 })
    expect(rest).toMatchObject({ events: [{ time: 59, met: new Set([RARE]) }], next: undefined })
  })

  it('that a batch brings are judged alike', () => {
    const judge = (action: string, amount: number) => [...goalsMetBy(BOOK, toEvent(1, action, amount))]
    expect([judge('Order Placed', 50), judge('Order Placed', 49)]).toEqual([[ANY, LARGE], [ANY]])
    expect([judge('Order Returned', 58), judge('Order Returned', 57), judge('Visited', 58)]).toEqual([[RARE], [], []])
  })
})

function toGoal(name: string, event: string, where: Goal['where']): Goal {
  return { name, event, where, windowHours: 36 }
}

function toBook(goals: readonly Goal[]): GoalBook {
  const named = Map.groupBy(goals, ({ event }) => event)
  return {
    workspaceId: 'main',
    version: 1,
    counted: { timezone: 'UTC', campaigns: new Map([[1, { id: 'c1', number: 1, goals, generation: 0 }]]) },
    pending: undefined,
    generation: 0,
    goalsOfEvent: new Map([...named].map(([event, ofName]) => [event, new Set(ofName)])),
    eventsOfCampaign: new Map(),
  }
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
