// Whom a failure belongs to, row by row of the table in "Failures belong to somebody". `550 5.1.1` stands for a code and an enhanced
// one; `-` for a connection that ended without a reply.
import { describe, expect, it } from 'vitest'
import { judgeFailure, SMTP_STAGES, type SmtpStage, type Verdict } from '../../../src/core/delivery/failures.ts'

const SERVER: Verdict = { to: 'server' }
const PAUSE: Verdict = { to: 'pause' }
const DOMAIN: Verdict = { to: 'domain_waits' }
const HARD: Verdict = { to: 'failed', reason: 'hard_bounce', suppress: 'hard_bounce' }
const SOFT: Verdict = { to: 'failed', reason: 'soft_bounce' }
const SOFT_LATER: Verdict = { to: 'deferred', last: 'soft_bounce' }
const LATER: Verdict = { to: 'deferred', last: 'gave_up' }
const GAVE_UP: Verdict = { to: 'failed', reason: 'gave_up' }
const BLOCKED: Verdict = { to: 'failed', reason: 'blocked' }
const REFUSED: Verdict = { to: 'failed', reason: 'message_refused' }

function judge(stage: SmtpStage, reply: string): Verdict {
  const [code, enhancedCode = null] = reply.split(' ')
  return judgeFailure({ stage, code: reply === '-' ? null : Number(code), enhancedCode, text: '', host: 'mx.test' })
}

const TABLE: Readonly<Record<string, readonly (readonly [stage: SmtpStage, reply: string, verdict: Verdict])[]>> = {
  'connecting, TLS, greeting, 421 and AUTH belong to the server; AUTH refused pauses': [
    ['connect', '-', SERVER],
    ['tls', '-', SERVER],
    ['tls', '502 5.5.1', SERVER],
    ['greeting', '-', SERVER],
    ['greeting', '554 5.7.1', SERVER],
    ['greeting', '421', SERVER],
    ['auth', '-', SERVER],
    ['auth', '454 4.7.0', SERVER],
    ['auth', '421', SERVER],
    ['auth', '535 5.7.8', PAUSE],
    ['auth', '530', PAUSE],
    ['mail', '-', SERVER],
    ['mail', '421 4.3.2', SERVER],
    ['rcpt', '-', SERVER],
    ['rcpt', '421 4.7.0', SERVER],
    ['data', '-', SERVER],
    ['data', '421', SERVER],
    ['sent', '421 4.3.2', SERVER],
  ],
  'MAIL FROM refused belongs to the sender': [
    ['mail', '550', PAUSE],
    ['mail', '550 5.7.1', PAUSE],
    ['mail', '550 5.1.8', PAUSE],
    ['mail', '553 5.1.7', PAUSE],
    ['mail', '530 5.7.0', PAUSE],
    ['mail', '550 5.2.1', PAUSE],
    ['mail', '550 5.3.0', PAUSE],
    ['mail', '530 5.5.1', PAUSE],
  ],
  'a refusal for now at MAIL FROM waits': [
    ['mail', '450', LATER],
    ['mail', '451 4.7.1', LATER],
    ['mail', '452', DOMAIN],
    ['mail', '452 4.3.1', DOMAIN],
    ['mail', '452 4.5.3', DOMAIN],
  ],
  'an address that is none belongs to the person, for good': [
    ['rcpt', '550 5.1.1', HARD],
    ['rcpt', '554 5.1.2', HARD],
    ['rcpt', '501 5.1.3', HARD],
    ['rcpt', '556 5.1.10', HARD],
    ['sent', '550 5.1.1', HARD],
    ['rcpt', '550', HARD],
    ['rcpt', '551', HARD],
    ['rcpt', '553', HARD],
    ['rcpt', '550 5.0.0', HARD],
  ],
  'an address that needs SMTPUTF8 fails alone, and is not suppressed': [
    ['rcpt', '553 5.6.7', { to: 'failed', reason: 'hard_bounce' }],
    ['sent', '554 5.6.7', REFUSED],
  ],
  'a mailbox belongs to the person, for now': [
    ['rcpt', '450 4.2.1', SOFT_LATER],
    ['rcpt', '452 4.2.2', SOFT_LATER],
    ['sent', '450 4.2.0', SOFT_LATER],
    ['rcpt', '552 5.2.2', SOFT],
    ['rcpt', '550 5.2.1', SOFT],
    ['sent', '552 5.2.2', SOFT],
  ],
  'the way and a policy for now belong to nobody': [
    ['rcpt', '451 4.4.1', LATER],
    ['rcpt', '450 4.7.1', LATER],
    ['sent', '451 4.7.0', LATER],
    ['rcpt', '450', LATER],
    ['rcpt', '451', LATER],
    ['data', '451', LATER],
    ['sent', '451', LATER],
    ['rcpt', '550 5.4.1', GAVE_UP],
    ['sent', '554 5.4.6', GAVE_UP],
  ],
  'no room belongs to the sender and the domain': [
    ['rcpt', '452', DOMAIN],
    ['rcpt', '450 4.3.2', DOMAIN],
    ['rcpt', '452 4.5.3', DOMAIN],
    ['data', '452', DOMAIN],
    ['sent', '452 4.3.1', DOMAIN],
  ],
  'a policy belongs to the standing of the sender': [
    ['rcpt', '550 5.7.1', BLOCKED],
    ['data', '554 5.7.1', BLOCKED],
    ['sent', '550 5.7.26', BLOCKED],
  ],
  'its size and content belong to the message': [
    ['mail', '552 5.3.4', REFUSED],
    ['rcpt', '552 5.3.4', REFUSED],
    ['sent', '552 5.3.4', REFUSED],
    ['mail', '550 5.6.1', REFUSED],
    ['rcpt', '550 5.6.1', REFUSED],
    ['sent', '554 5.6.0', REFUSED],
    ['data', '554', REFUSED],
    ['sent', '550', REFUSED],
    ['sent', '552', REFUSED],
    ['sent', '554', REFUSED],
  ],
  'a server or a protocol that fails suppresses nobody, whatever the code': [
    ['rcpt', '550 5.3.0', REFUSED],
    ['rcpt', '550 5.5.1', REFUSED],
    ['rcpt', '501 5.5.4', REFUSED],
    ['rcpt', '451 4.5.0', LATER],
  ],
  'the connection ended between the message and its reply: nobody knows': [['sent', '-', { to: 'in_doubt' }]],
}

describe.each(Object.entries(TABLE))('%s', (_rule, rows) => {
  it.each(rows)('%s: %s', (stage, reply, verdict) => {
    expect(judge(stage, reply)).toEqual(verdict)
  })
})

describe('whatever a server replies', () => {
  const codes = Array.from({ length: 200 }, (_, index) => 400 + index)
  const enhanced = Array.from({ length: 10 }, (_, subject) => [`4.${subject}.9`, `5.${subject}.9`]).flat()

  it('only a refusal of the recipient or of the message suppresses', () => {
    const suppressing = SMTP_STAGES.filter((stage) =>
      codes.some((code) => ['', ...enhanced].some((each) => 'suppress' in judge(stage, `${code} ${each}`.trim()))),
    )
    expect(suppressing).toEqual(['rcpt', 'data', 'sent'])
  })

  it('is in doubt only if there is no reply', () => {
    const verdicts = SMTP_STAGES.flatMap((stage) => codes.map((code) => judge(stage, String(code)).to))
    expect(verdicts).not.toContain('in_doubt')
  })
})
