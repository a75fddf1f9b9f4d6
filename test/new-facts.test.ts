// Facts that are stored without being looked up, because whoever stores them knows that they are new.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Membership, MessageEvent } from '../src/core/campaigns/facts.ts'
import { addNewMemberships, listMembershipsOf } from '../src/store/campaigns/memberships.ts'
import { addNewMessageEvents, listMessageEventsOf, settleMessageEvents } from '../src/store/campaigns/message-events.ts'
import type { Database } from '../src/store/store.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestPlace } from './stores.ts'

function membership(customer: number, evaluatedAt: number): Membership {
  const place = { platform: 'IOS', group: 'target', variation: 'A', locale: null, removed: null } as const
  return { campaign: 1, customer, ...place, evaluatedAt }
}

function message(customer: number, time: number): MessageEvent {
  const event = { platform: 'IOS', device: 'd', kind: 'sent', messageId: 'm', reason: null } as const
  return { campaign: 1, customer, ...event, time }
}

describeEachStore('New facts', (kind) => {
  let place: TestPlace
  let database: Database
  beforeAll(async () => {
    place = await makeStore(kind)
    database = await openTestDatabase(place)
  })
  afterAll(async () => {
    await database.close()
    await place.remove()
  })

  const keepMemberships = (...facts: Membership[]) => database.write((store) => addNewMemberships(store, facts))
  const keepMessages = (...facts: MessageEvent[]) => database.write((store) => addNewMessageEvents(store, facts))
  const byInstant =
    <Fact>(instantOf: (fact: Fact) => number) =>
    (left: Fact, right: Fact) =>
      instantOf(left) - instantOf(right)

  it('are all kept, audiences and message events, also when these are moved to where they stay', async () => {
    const [memberships, messages] = [[1, 2, 3].map((at) => membership(1, at)), [1, 2, 3].map((at) => message(1, at))]
    await keepMemberships(...memberships)
    await keepMessages(...messages)
    const list = async () => (await listMessageEventsOf(database, [1])).toSorted(byInstant(({ time }) => time))
    expect(await list()).toEqual(messages)
    await database.write((store) => settleMessageEvents(store, 10))
    expect(await list()).toEqual(messages)
    const kept = await listMembershipsOf(database, [1])
    expect(kept.toSorted(byInstant(({ evaluatedAt }) => evaluatedAt))).toEqual(memberships)
  })

  it('may be none', async () => {
    await keepMemberships()
    await keepMessages()
    expect(await listMembershipsOf(database, [2])).toEqual([])
    expect(await listMessageEventsOf(database, [2])).toEqual([])
  })

  it('are none of them kept where one is not new', async () => {
    await keepMemberships(membership(3, 1))
    await keepMessages(message(3, 1))
    await expect(keepMemberships(membership(3, 2), membership(3, 1))).rejects.toThrow(/unique/i)
    await expect(keepMessages(message(3, 2), message(3, 1))).rejects.toThrow(/unique/i)
    expect(await listMembershipsOf(database, [3])).toEqual([membership(3, 1)])
    expect(await listMessageEventsOf(database, [3])).toEqual([message(3, 1)])
  })
})
