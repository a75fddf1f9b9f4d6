// Checks the tables of facts on every store ("Facts"): reports with the same identity are the same fact, of different ones the same
// wins in any order of arrival, and queries find every fact.
import * as fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  GROUPS,
  MESSAGE_KINDS,
  membershipIdentity,
  messageIdentity,
  type Membership,
  type MessageEvent,
} from '../../../src/core/campaigns/facts.ts'
import { listCampaignsOfPeriods, WEEK_MS } from '../../../src/store/campaigns/campaign-activity.ts'
import { addMemberships, listMemberships, listMembershipsOf } from '../../../src/store/campaigns/memberships.ts'
import {
  addMessageEvents,
  listMessageEvents,
  listMessageEventsOf,
  listTouches,
} from '../../../src/store/campaigns/message-events.ts'
import type { Database } from '../../../src/store/store.ts'
import {
  compareAudiences,
  compareByCodePoint,
  compareGivenFirst,
} from '../../support/statistics/statistics-model-facts.ts'
import { until } from '../../support/server.ts'
import {
  describeEachStore,
  describeOnPostgres,
  makeStore,
  openTestDatabase,
  type StoreKind,
  type TestLocation,
} from '../../support/stores.ts'

const RUNS: Readonly<Record<StoreKind, number>> = { sqlite: 150, postgres: 60 }
/** U+FFFD sorts before this code point, although it is greater than both of its UTF-16 units. */
const BEYOND = '\u{1F600}'
const TEXTS = ['a', 'b', 'B', '\uFFFD', BEYOND]

describeEachStore('The tables of facts', (kind) => {
  let location: TestLocation
  let database: Database
  let made = 0

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  /** A customer number that no other example uses. */
  const nextCustomer = () => ++made * 1_000
  const saveMemberships = (...reports: Membership[]) => database.write((store) => addMemberships(store, reports))
  const saveMessages = (...reports: MessageEvent[]) => database.write((store) => addMessageEvents(store, reports))

  describe('memberships', () => {
    const winners: [rule: string, winner: Partial<Membership>, loser: Partial<Membership>][] = [
      ['removed wins', { removed: 'x', group: 'global_control', variation: 'z' }, { variation: 'a' }],
      ['then target before campaign_control', { variation: 'z' }, { group: 'campaign_control', variation: 'a' }],
      ['then campaign_control before global_control', { group: 'campaign_control' }, { group: 'global_control' }],
      ['then the variation by text', { variation: 'A', locale: 'z' }, { variation: 'a', locale: 'a' }],
      ['a missing variation last', { variation: 'a', locale: 'z' }, { locale: 'a' }],
      ['texts by code point', { variation: '\uFFFD' }, { variation: BEYOND }],
      ['then the locale by text', { removed: 'z', locale: 'de' }, { removed: 'a', locale: 'en' }],
      ['then the reason by text', { removed: 'a_z' }, { removed: 'aa' }],
    ]
    it.each(winners)('keep the winner of different reports: %s', async (_rule, winner, loser) => {
      const [first, second, third] = [nextCustomer(), nextCustomer(), nextCustomer()]
      await saveMemberships(membership({ ...loser, customer: first }))
      await saveMemberships(membership({ ...winner, customer: first }))
      await saveMemberships(membership({ ...winner, customer: second }))
      await saveMemberships(membership({ ...loser, customer: second }))
      await saveMemberships(membership({ ...loser, customer: third }), membership({ ...winner, customer: third }))
      const stored = await listMembershipsOf(database, [first, second, third])
      const expected = [first, second, third].map((customer) => membership({ ...winner, customer }))
      expect(byIdentity(stored, membershipIdentity)).toEqual(byIdentity(expected, membershipIdentity))
    })

    it('differ by campaign, customer, platform and evaluated_at', async () => {
      const customer = nextCustomer()
      const facts: Membership[] = [
        membership({ customer }),
        membership({ customer, campaign: 2 }),
        membership({ customer: customer + 1 }),
        membership({ customer, platform: 'email2' }),
        membership({ customer, evaluatedAt: 101 }),
      ]
      expect(await saveMemberships(...facts)).toEqual(new Set(facts.map(membershipIdentity)))
      expect(await saveMemberships(...facts)).toEqual(new Set())
      expect(await listMembershipsOf(database, [customer, customer + 1])).toHaveLength(facts.length)
      const wanted = [{ customer, campaign: 2 }]
      expect(await listMemberships(database, wanted)).toEqual([membership({ customer, campaign: 2 })])
    })

    it('are stored once in any order, in one call or several, and each call returns the new ones', async () => {
      const compare = (left: Membership, right: Membership) => compareAudiences(left, right)
      const table = { identityOf: membershipIdentity, compare }
      await expectStoredOnce(anyMembership(), table, {
        add: (customer, reports) => saveMemberships(...reports.map((report) => moved(report, customer))),
        list: async (customers) => listMembershipsOf(database, customers),
      })
    })
  })

  describe('message events', () => {
    const winners: [rule: string, winner: Partial<MessageEvent>, loser: Partial<MessageEvent>][] = [
      ['the platform by text', { platform: 'ANDROID', device: 'z' }, { platform: 'IOS', device: 'a' }],
      ['then the device by text', { device: 'D', reason: 'z' }, { device: 'd', reason: 'a' }],
      ['texts by code point', { device: '\uFFFD' }, { device: BEYOND }],
      ['then the reason by text', { reason: 'a' }, { reason: 'b' }],
      ['a missing reason after a', { reason: 'a' }, {}],
      ['a missing reason after z', { reason: 'z' }, {}],
    ]
    it.each(winners)('keep the winner of different reports with one message_id: %s', async (_rule, winner, loser) => {
      const messageId = 'm'
      const [first, second, third] = [nextCustomer(), nextCustomer(), nextCustomer()]
      await saveMessages(message({ messageId, ...loser, customer: first }))
      await saveMessages(message({ messageId, ...winner, customer: first }))
      await saveMessages(message({ messageId, ...winner, customer: second }))
      await saveMessages(message({ messageId, ...loser, customer: second }))
      const both = [loser, winner].map((report) => message({ messageId, ...report, customer: third }))
      await saveMessages(...both)
      const stored = await listMessageEventsOf(database, [first, second, third])
      const expected = [first, second, third].map((customer) => message({ messageId, ...winner, customer }))
      expect(byIdentity(stored, messageIdentity)).toEqual(byIdentity(expected, messageIdentity))
    })

    it('differ by campaign, customer, kind, instant and message_id, or without message_id by platform and device', async () => {
      const customer = nextCustomer()
      const facts: MessageEvent[] = [
        message({ customer }),
        message({ customer, campaign: 2 }),
        message({ customer: customer + 1 }),
        message({ customer, kind: 'click' }),
        message({ customer, time: 101 }),
        message({ customer, platform: 'IOS' }),
        message({ customer, device: 'd2' }),
        message({ customer, messageId: 'm1' }),
        message({ customer, messageId: 'm2', platform: 'IOS' }),
        // Fields that are equal when joined stay apart, as does a field that looks like a message id.
        message({ customer, platform: 'a', device: 'bc' }),
        message({ customer, platform: 'ab', device: 'c' }),
        message({ customer, platform: '=m1', device: '' }),
        message({ customer, messageId: '5:EMAILd1' }),
        message({ customer, messageId: '' }),
      ]
      expect(await saveMessages(...facts)).toEqual(new Set(facts.map(messageIdentity)))
      expect(await saveMessages(...facts)).toEqual(new Set())
      const stored = await listMessageEventsOf(database, [customer, customer + 1])
      expect(byIdentity(stored, messageIdentity)).toEqual(byIdentity(facts, messageIdentity))
      const wanted = [{ customer, campaign: 2 }]
      expect(await listMessageEvents(database, wanted)).toEqual([message({ customer, campaign: 2 })])
    })

    it('are listed if they are touches between two instants of a campaign, both inclusive', async () => {
      const customer = nextCustomer()
      const at = (campaign: number, time: number) => {
        return MESSAGE_KINDS.map((kind) => message({ customer, campaign, time, kind }))
      }
      await saveMessages(...at(1, 9), ...at(1, 10), ...at(1, 21), ...at(2, 20), ...at(2, 21), ...at(3, 15))
      const periods = [1, 2].map((campaign) => ({ customer, campaign, from: 10, until: 20 }))
      const found = await listTouches(database, periods)
      const touches = ['click', 'impression', 'sent'].flatMap((kind) => [`1 10 ${kind}`, `2 20 ${kind}`])
      const met = found.map(({ campaign, time, kind }) => `${campaign} ${time} ${kind}`)
      expect(met.toSorted()).toEqual(touches.toSorted())
      expect(await listTouches(database, periods, 2)).toHaveLength(2)
    })

    it('are stored once in any order, in one call or several, and each call returns the new ones', async () => {
      const compare = (left: MessageEvent, right: MessageEvent) =>
        compareByCodePoint(left.platform, right.platform) ||
        compareByCodePoint(left.device, right.device) ||
        compareGivenFirst(left.reason, right.reason)
      await expectStoredOnce(
        anyMessage(),
        { identityOf: messageIdentity, compare },
        {
          add: (customer, reports) => saveMessages(...reports.map((report) => moved(report, customer))),
          list: async (customers) => listMessageEventsOf(database, customers),
        },
      )
    })
  })

  describe('campaign activity', () => {
    const WEEK = 3_000

    async function campaignsOf(customer: number, from: number, until: number): Promise<number[]> {
      const found = await listCampaignsOfPeriods(database, [{ customer, from, until }])
      for (const one of found) expect(one).toMatchObject({ customer, from, until })
      return found.map(({ campaign }) => campaign).toSorted((left, right) => left - right)
    }

    it('covers the weeks of audiences and touches, from their first instant to their last', async () => {
      const customer = nextCustomer()
      const [start, end] = [WEEK * WEEK_MS, (WEEK + 1) * WEEK_MS - 1]
      await saveMemberships(
        membership({ customer, campaign: 1, evaluatedAt: start - 1 }),
        membership({ customer, campaign: 2, evaluatedAt: start }),
        membership({ customer, campaign: 3, evaluatedAt: end + 1 }),
        membership({ customer: customer + 1, campaign: 4, evaluatedAt: start }),
      )
      const messages = MESSAGE_KINDS.map((kind, index) => message({ customer, campaign: 10 + index, kind, time: end }))
      await saveMessages(...messages)
      const touching = ['sent', 'impression', 'click'].map(
        (kind) => 10 + MESSAGE_KINDS.findIndex((one) => one === kind),
      )
      const found = [2, ...touching].toSorted((left, right) => left - right)
      expect(await campaignsOf(customer, start, start)).toEqual(found)
      expect(await campaignsOf(customer, end, end)).toEqual(found)
      expect(await campaignsOf(customer, start - 1, start - 1)).toEqual([1])
      expect(await campaignsOf(customer, end + 1, end + 1)).toEqual([3])
      expect(await campaignsOf(customer, start - 1, end + 1)).toEqual([1, 2, 3, ...touching])
    })

    it('lists each campaign once for a period, and at most the requested number', async () => {
      const customer = nextCustomer()
      const times = Array.from({ length: 30 }, (_, index) => index * (WEEK_MS / 3))
      await saveMessages(...times.flatMap((time) => [1, 2].map((campaign) => message({ customer, campaign, time }))))
      expect(await campaignsOf(customer, 0, 30 * WEEK_MS)).toEqual([1, 2])
      const period = { customer, from: 0, until: 30 * WEEK_MS }
      expect(await listCampaignsOfPeriods(database, [period], 1)).toHaveLength(1)
    })
  })

  interface Table<Fact> {
    readonly identityOf: (fact: Fact) => string
    readonly compare: (left: Fact, right: Fact) => number
  }

  interface Access<Fact> {
    /** Stores reports, whose customer numbers are relative to `customer`. Returns the identities of the new facts. */
    readonly add: (customer: number, reports: readonly Fact[]) => Promise<Set<string>>
    readonly list: (customers: readonly number[]) => Promise<Fact[]>
  }

  /** Expects that after any calls with any reports the table equals a naive loop over them. */
  async function expectStoredOnce<Fact extends { readonly customer: number }>(
    fact: fc.Arbitrary<Fact>,
    { identityOf, compare }: Table<Fact>,
    { add, list }: Access<Fact>,
  ): Promise<void> {
    const calls = fc.array(fc.array(fact, { maxLength: 8, size: 'max' }), { maxLength: 6, size: 'max' })
    await fc.assert(
      fc.asyncProperty(calls, async (calls) => {
        const customer = nextCustomer()
        const stored = new Map<string, Fact>()
        for (const reports of calls) {
          const fresh = new Set<string>()
          for (const report of reports.map((one) => moved(one, customer))) {
            const existing = stored.get(identityOf(report))
            if (!existing) fresh.add(identityOf(report))
            if (!existing || compare(report, existing) < 0) stored.set(identityOf(report), report)
          }
          expect(await add(customer, reports)).toEqual(fresh)
        }
        const found = await list([customer, customer + 1])
        expect(byIdentity(found, identityOf)).toEqual(byIdentity([...stored.values()], identityOf))
      }),
      { numRuns: RUNS[kind] },
    )
  }
})

describeOnPostgres('Transactions that add the same facts at the same time', () => {
  it('do not deadlock, in any order of facts', async () => {
    const location = await makeStore('postgres')
    const database = await openTestDatabase(location)
    const facts = [1, 2, 3].map((customer) => membership({ customer }))
    let tries = 0
    const add = (reports: readonly Membership[]) => {
      return database.write(async (store) => {
        tries++
        await addMemberships(store, reports)
      })
    }
    let adding: Promise<void>[] = []
    await database.write(async (store) => {
      await addMemberships(store, facts.slice(1, 2))
      adding = [facts, facts.toReversed()].map(add)
      const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await until('both wait', async () => (await waiting.execute(database.query)).rows.length === 2)
    })
    await Promise.all(adding)
    expect(tries).toBe(2)
    await database.close()
    await location.remove()
  })
})

function membership(fields: Partial<Membership>): Membership {
  return {
    campaign: 1,
    customer: 1,
    platform: 'EMAIL',
    evaluatedAt: 100,
    group: 'target',
    variation: null,
    locale: null,
    removed: null,
    ...fields,
  }
}

function message(fields: Partial<MessageEvent>): MessageEvent {
  return {
    campaign: 1,
    customer: 1,
    platform: 'EMAIL',
    device: 'd1',
    kind: 'sent',
    time: 100,
    messageId: null,
    reason: null,
    ...fields,
  }
}

function moved<Fact extends { readonly customer: number }>(fact: Fact, customer: number): Fact {
  return { ...fact, customer: customer + fact.customer }
}

function byIdentity<Fact>(facts: readonly Fact[], identityOf: (fact: Fact) => string): Map<string, Fact> {
  return new Map(facts.map((fact) => [identityOf(fact), fact]))
}

/** A membership of customer 0 or 1, with so few texts that most reports share an identity with others. */
function anyMembership(): fc.Arbitrary<Membership> {
  return fc.record({
    campaign: fc.constantFrom(1, 2),
    customer: fc.constantFrom(0, 0, 1),
    platform: fc.constantFrom('EMAIL', BEYOND),
    evaluatedAt: fc.constantFrom(0, 1_767_225_600_000),
    group: fc.constantFrom(...GROUPS),
    variation: fc.constantFrom(null, ...TEXTS),
    locale: fc.constantFrom(null, ...TEXTS),
    removed: fc.constantFrom(null, 'a', 'b'),
  })
}

function anyMessage(): fc.Arbitrary<MessageEvent> {
  return fc.record({
    campaign: fc.constantFrom(1, 2),
    customer: fc.constantFrom(0, 0, 1),
    platform: fc.constantFrom('EMAIL', BEYOND),
    device: fc.constantFrom(...TEXTS),
    kind: fc.constantFrom(...MESSAGE_KINDS),
    time: fc.constantFrom(0, 1_767_225_600_000),
    messageId: fc.constantFrom(null, ...TEXTS),
    reason: fc.constantFrom(null, 'a', 'unknown', 'z'),
  })
}
