// Which people an estimate counts.
import { describe, expect, it } from 'vitest'
import type { Group } from '../../../src/core/campaigns/facts.ts'
import { EstimateTally } from '../../../src/delivery/start/estimate-tally.ts'

const TEMPLATE = { externalTemplateId: 't', version: 1, locale: null }

function tallyOf(people: readonly [address: string, group: Group][], max?: number) {
  const tally = new EstimateTally(max)
  for (const [emailKey, group] of people) {
    const variation = group === 'target' ? 'A' : null
    const person = { userId: 1, customerId: 'c', emailKey, locale: null }
    tally.add([person], [{ group, variation, template: TEMPLATE, removed: undefined }])
  }
  const sent = tally.places.reduce((sum, { count }) => sum + count, 0)
  return { sent, duplicates: tally.removed.get('user_removed_due_to_duplicate') ?? 0 }
}

describe('an estimate', () => {
  const cases: [what: string, people: [string, Group][], counted: { sent: number; duplicates: number }][] = [
    [
      'one of two people with one address',
      [
        ['a', 'target'],
        ['a', 'target'],
        ['b', 'target'],
      ],
      { sent: 2, duplicates: 1 },
    ],
    [
      'nobody whose address a control person has',
      [
        ['a', 'global_control'],
        ['a', 'target'],
      ],
      { sent: 0, duplicates: 1 },
    ],
    [
      'the same if that person comes later',
      [
        ['a', 'target'],
        ['a', 'campaign_control'],
      ],
      { sent: 0, duplicates: 1 },
    ],
    [
      'and nobody else of the address',
      [
        ['a', 'target'],
        ['a', 'campaign_control'],
        ['a', 'target'],
      ],
      { sent: 0, duplicates: 2 },
    ],
  ]
  it.each(cases)('counts %s', (_what, people, counted) => {
    expect(tallyOf(people)).toEqual(counted)
  })

  it('refuses more addresses than it can compare', () => {
    expect(
      tallyOf(
        [
          ['a', 'target'],
          ['a', 'target'],
          ['b', 'global_control'],
        ],
        2,
      ),
    ).toEqual({ sent: 1, duplicates: 1 })
    expect(() =>
      tallyOf(
        [
          ['a', 'target'],
          ['b', 'target'],
          ['c', 'target'],
        ],
        2,
      ),
    ).toThrow('more than 2 email addresses')
  })
})
