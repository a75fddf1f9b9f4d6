// What a batch brings that was not known, as far as what was read to count it tells.
import { describe, expect, it } from 'vitest'
import type { Membership, MessageEvent } from '../src/core/campaigns/facts.ts'
import { BroughtFacts } from '../src/pipeline/ahead/brought-facts.ts'
import { outlineChange, type StoredChange } from '../src/pipeline/contributions/alike-changes.ts'
import { Traits, type OutlinedChange } from '../src/pipeline/contributions/shapes.ts'
import { WEEK_MS } from '../src/store/campaigns/campaign-weeks.ts'

const [CAMPAIGN, CUSTOMER] = [3, 7]
/** In the middle of a week. */
const NOW = 2_900 * WEEK_MS + WEEK_MS / 2
const HOUR = 60 * 60 * 1000

interface Facts {
  readonly memberships?: readonly Membership[]
  readonly messages?: readonly MessageEvent[]
}

function membership(evaluatedAt: number, rest: Partial<Membership> = {}): Membership {
  const place = { platform: 'IOS', group: 'target', variation: null, locale: null, removed: null } as const
  return { campaign: CAMPAIGN, customer: CUSTOMER, ...place, evaluatedAt, ...rest }
}

function message(time: number, rest: Partial<MessageEvent> = {}): MessageEvent {
  const event = { platform: 'IOS', device: 'd', kind: 'sent', messageId: 'm', reason: null } as const
  return { campaign: CAMPAIGN, customer: CUSTOMER, ...event, time, ...rest }
}

function change(brought: Facts, stored: Facts): StoredChange {
  const person = { userId: 1, customers: [CUSTOMER], userIds: [1] }
  const nothing = { memberships: [], messages: [], goalEvents: [] }
  const history = { ...nothing, ...stored, person, campaigns: new Set([CAMPAIGN]) }
  return { person, before: [person], facts: { ...nothing, ...brought }, since: NOW, stored: history }
}

function newWeeksOf(...changes: readonly StoredChange[]) {
  const brought = new BroughtFacts()
  for (const one of changes) brought.note(one)
  return brought.newWeeks
}

const inWeek = (instant: number, campaign = CAMPAIGN) => ({ customer: CUSTOMER, campaign, instant })

describe('A fact is known', () => {
  it.each<[why: string, brought: Facts, stored: Facts]>([
    ['stored as it is', { messages: [message(NOW)] }, { messages: [message(NOW)] }],
    ['stored with another platform', { messages: [message(NOW)] }, { messages: [message(NOW, { platform: 'WEB' })] }],
    ['reported twice', { messages: [message(NOW), message(NOW, { reason: 'late' })] }, {}],
    ['an audience that is stored', { memberships: [membership(NOW)] }, { memberships: [membership(NOW)] }],
    ['an audience that is reported twice', { memberships: [membership(NOW), membership(NOW, { locale: 'de' })] }, {}],
  ])('if it is %s', (_, brought, stored) => {
    expect(newWeeksOf(change(brought, stored))).toBeUndefined()
    expect(newWeeksOf(change(brought, stored), change({ messages: [message(NOW)] }, {}))).toBeUndefined()
  })

  it.each<[why: string, brought: Facts, stored: Facts]>([
    ['another message', { messages: [message(NOW)] }, { messages: [message(NOW, { messageId: 'n' })] }],
    ['another kind', { messages: [message(NOW)] }, { messages: [message(NOW, { kind: 'click' })] }],
    ['another instant', { messages: [message(NOW)] }, { messages: [message(NOW + 1)] }],
    ['another campaign', { messages: [message(NOW)] }, { messages: [message(NOW, { campaign: 4 })] }],
    ['an audience on another platform', { memberships: [membership(NOW), membership(NOW, { platform: 'WEB' })] }, {}],
  ])('but not if it differs in this: %s', (_, brought, stored) => {
    expect(newWeeksOf(change(brought, stored))).toBeDefined()
  })
})

describe('A campaign has to do with a customer in a new week', () => {
  it.each<[when: string, brought: Facts, stored: Facts, weeks: readonly object[]]>([
    ['by an audience', { memberships: [membership(NOW)] }, {}, [inWeek(NOW)]],
    ['by a touch', { messages: [message(NOW)] }, {}, [inWeek(NOW)]],
    ['not by what is no touch', { messages: [message(NOW, { kind: 'delivered' })] }, {}, []],
    ['not after an audience', { messages: [message(NOW)] }, { memberships: [membership(NOW - HOUR)] }, []],
    ['not after a touch', { memberships: [membership(NOW)] }, { messages: [message(NOW - HOUR)] }, []],
    [
      'after what is no touch',
      { messages: [message(NOW)] },
      { messages: [message(NOW - HOUR, { kind: 'failed' })] },
      [inWeek(NOW)],
    ],
    [
      'after one in another week',
      { messages: [message(NOW)] },
      { memberships: [membership(NOW - WEEK_MS), membership(NOW + WEEK_MS)] },
      [inWeek(NOW)],
    ],
    [
      'after one of another campaign',
      { messages: [message(NOW)] },
      { messages: [message(NOW - HOUR, { campaign: 4 })] },
      [inWeek(NOW)],
    ],
  ])('%s', (_, brought, stored, weeks) => {
    const one = change(brought, stored)
    expect(newWeeksOf(one)).toEqual(weeks)
    const known = new BroughtFacts()
    known.noteNew(CUSTOMER, outlineChange(one, new Traits(), 'UTC') as OutlinedChange)
    expect(known.newWeeks).toEqual(weeks)
  })

  it('after one of another id of the user', () => {
    const stored = { messages: [message(NOW - HOUR, { customer: 8 })] }
    expect(newWeeksOf(change({ messages: [message(NOW)] }, stored))).toEqual([inWeek(NOW)])
  })
})

it('nothing is new where nothing is brought', () => {
  expect(newWeeksOf()).toEqual([])
})
