// Condensed histories of users with very many message events count exactly as whole ones do, to the cell, and stay short.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Condenser } from '../../../src/core/statistics/condense.ts'
import { contributions, type History } from '../../../src/core/statistics/contributions.ts'
import {
  GROUPS,
  MESSAGE_KINDS,
  type GoalEvent,
  type Membership,
  type MessageEvent,
} from '../../../src/core/campaigns/facts.ts'
import type { Rules } from '../../../src/core/statistics/rules.ts'
import { goal } from '../../support/statistics/statistics-examples.ts'

const RUNS = 3_000
const HOUR = 3_600_000
const NOON = Date.parse('2026-03-28T12:00:00Z')

/** The clock changes in the night, so that a day is short. */
const TIMEZONE = 'Europe/Berlin'

const RULES: Rules = {
  timezone: TIMEZONE,
  campaigns: new Map([
    [1, { id: 'b', number: 1, generation: 1, goals: [goal({ name: 'x', event: 'A', windowHours: 1 })] }],
    [2, { id: 'a', number: 2, generation: 3, goals: [goal({ name: 'y', event: 'A', windowHours: 36 })] }],
  ]),
}

describe('a condensed history', () => {
  it('has the contributions of the whole one', () => {
    fc.assert(
      fc.property(someHistory(), (history) => {
        const condensed = { ...history, messages: condense(history) }
        expect(cellsOf(condensed)).toEqual(cellsOf(history))
      }),
      { numRuns: RUNS },
    )
  })

  it('has the contributions of the whole one when it is condensed again, in any order', () => {
    fc.assert(
      fc.property(someHistory(), (history) => {
        const [first, rest] = [history.messages.slice(0, 10), history.messages.slice(10)]
        const parts = [...rest, ...condense({ ...history, messages: first })]
        expect(cellsOf({ ...history, messages: condense({ ...history, messages: parts }) })).toEqual(cellsOf(history))
      }),
      { numRuns: RUNS / 10 },
    )
  })

  it('grows with days, audiences and goal events, not with message events', () => {
    const messages = Array.from({ length: 10_000 }, (_, index) => toMessage({ time: NOON + index, device: 'd' }))
    const parts: [what: string, history: Omit<History, 'messages'>, expected: number][] = [
      ['nothing', { memberships: [], goalEvents: [] }, 1],
      ['an audience', { memberships: [toMembership({ evaluatedAt: NOON + 50 })], goalEvents: [] }, 2],
      ['a goal event', { memberships: [], goalEvents: [toGoalEvent(NOON + 50)] }, 2],
      ['an audience before all', { memberships: [toMembership({ evaluatedAt: NOON })], goalEvents: [] }, 1],
      ['a goal event after all', { memberships: [], goalEvents: [toGoalEvent(NOON + 9_999)] }, 1],
    ]
    for (const [what, history, expected] of parts) {
      const condensed = condense({ ...history, messages })
      expect([what, condensed.length]).toEqual([what, expected])
      expect(condensed.reduce((sum, { times = 1 }) => sum + times, 0)).toBe(messages.length)
    }
  })
})

function condense({ messages, ...history }: History): MessageEvent[] {
  const condenser = new Condenser(history, TIMEZONE)
  for (const message of messages) condenser.add(message)
  return condenser.messages()
}

function cellsOf(history: History): Map<string, readonly [number, number]> {
  return new Map(contributions(history, RULES).entries())
}

/** Histories of so few words that many message events differ only in their instants. */
function someHistory(): fc.Arbitrary<History> {
  const time = fc
    .tuple(fc.constantFrom(0, 11, 12, 13, 14, 36), fc.constantFrom(0, 1, 2, HOUR / 2, HOUR))
    .map(([hours, later]) => NOON + hours * HOUR + later)
  const campaign = fc.constantFrom(1, 2)
  const platform = fc.constantFrom('WEB', 'TV', 'Fridge', 'fridge2')
  const message = fc.record({
    campaign,
    platform,
    time,
    kind: fc.constantFrom(...MESSAGE_KINDS),
    device: fc.constantFrom('d', 'e'),
    reason: fc.constantFrom(null, 'null', 'unknown', 'x'),
  })
  const membership = fc.record({
    campaign,
    platform,
    evaluatedAt: time,
    group: fc.constantFrom('target' as const, ...GROUPS),
    variation: fc.constantFrom(null, 'A', 'B'),
    removed: fc.constantFrom(null, null, 'x'),
  })
  return fc.record({
    messages: fc.array(message.map(toMessage), { maxLength: 40, size: 'max' }),
    memberships: fc.array(membership.map(toMembership), { maxLength: 4 }),
    goalEvents: fc.array(time.map(toGoalEvent), { maxLength: 4 }),
  })
}

function toMessage(fields: Partial<MessageEvent>): MessageEvent {
  const rest = { kind: 'click' as const, messageId: null, reason: null }
  return { campaign: 1, customer: 1, platform: 'WEB', device: 'd', time: NOON, ...rest, ...fields }
}

function toMembership(fields: Partial<Membership>): Membership {
  const rest = { group: 'target' as const, variation: null, locale: null, removed: null }
  return { campaign: 1, customer: 1, platform: 'WEB', evaluatedAt: NOON, ...rest, ...fields }
}

function toGoalEvent(time: number): GoalEvent {
  const goals = [...RULES.campaigns.values()].flatMap((campaign) => campaign.goals)
  return { id: 1, action: 'A', time, met: new Set(goals) }
}
