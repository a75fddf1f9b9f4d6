// What a failure means for the address, by its codes, and by the word of a mail service where no code says more ("Bounces and
// complaints").
import { describe, expect, it } from 'vitest'
import { judgeBounce } from '../../../src/core/feedback/judge-bounce.ts'

describe('A failure that a mail service calls permanent', () => {
  it.each<[string, enhancedCode: string | null, text: string, reason: string, address: string | null]>([
    ['without any code', null, '', 'hard_bounce', 'hard_bounce'],
    ['with 5.0.0', '5.0.0', '', 'hard_bounce', 'hard_bounce'],
    ['with a code that is about commands', '5.0.0', '500 unknown recipient', 'hard_bounce', 'hard_bounce'],
    ['with 549', null, '549 no', 'hard_bounce', 'hard_bounce'],
    ['with 550', null, '550 no', 'hard_bounce', 'hard_bounce'],
    ['with 552', null, '552 full', 'soft_bounce', 'soft_bounce'],
    ['with 554', '5.0.0', '554 refused', 'blocked', null],
    ['with 450', null, '450 later', 'soft_bounce', null],
    ['with 421', null, '421 later', 'soft_bounce', null],
    ['with 4.0.0', '4.0.0', '', 'soft_bounce', null],
    ['with 5.2.2', '5.2.2', '', 'soft_bounce', 'soft_bounce'],
    ['with 5.7.1 in words', '5.0.0', '500 5.7.1 spam', 'blocked', null],
  ])('%s', (_what, enhancedCode, text, reason, address) => {
    expect(judgeBounce({ enhancedCode, text, isPermanent: true })).toMatchObject({ reason, address })
  })

  it('is explained, whatever it says', () => {
    expect(judgeBounce({ enhancedCode: null, text: '', isPermanent: true })).toMatchObject({
      evidence: 'The mail service reports a permanent failure.',
    })
  })
})

it('A failure without codes that only a notification reports says nothing about the address', () => {
  expect(judgeBounce({ enhancedCode: '5.0.0', text: '' })).toMatchObject({ reason: 'soft_bounce', address: null })
})
