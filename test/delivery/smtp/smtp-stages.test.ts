// Each failure of a server is told with its stage, its reply and the verdict on it: servers that refuse, end the connection, stay silent
// or send nonsense, at every stage, with PIPELINING and without.
import { afterEach, describe, expect, it } from 'vitest'
import { judgeFailure, type SmtpReply, type SmtpStage } from '../../../src/core/delivery/failures.ts'
import { SmtpFailure } from '../../../src/delivery/smtp/smtp-failure.ts'
import { openSmtpSession, type SmtpSettings } from '../../../src/delivery/smtp/smtp-session.ts'
import { until } from '../../support/server.ts'
import {
  drop,
  EHLO_WITH_PIPELINING,
  half,
  leaveAfter,
  reset,
  silence,
  startScriptedServer,
  type Act,
  type ScriptedServer,
  type Step,
} from './scripted-server.ts'

const RAW = Buffer.from('Subject: Hello\r\n\r\nHello\r\n')
const SILENCE_MS = 300

let server: ScriptedServer | undefined
afterEach(async () => {
  await server?.stop()
})

interface Exchange {
  readonly steps: Partial<Record<Step, Act>>
  readonly settings?: Partial<SmtpSettings>
}

/** The failure of a message that is sent to a server with these steps. */
async function failureAt({ steps, settings }: Exchange): Promise<SmtpReply> {
  server = await startScriptedServer(steps)
  const auth = { username: 'user', password: 'secret' }
  const base = { host: '127.0.0.1', port: server.port, security: 'none', clientName: 'client.test', ...auth } as const
  try {
    const session = await openSmtpSession({ ...base, ...settings })
    const mail = { from: 'a@from.test', to: 'b@to.test', raw: RAW, usesUtf8: false }
    // What a server does within the content comes before the final dot.
    const ended = async () => {
      await until('the session has ended', () => !session.isUsable)
    }
    await session.send(mail, { beforeEnd: steps.content ? ended : () => Promise.resolve() })
  } catch (error) {
    if (error instanceof SmtpFailure) return error.reply
    throw error
  }
  throw new Error('the message was sent')
}

const ENVELOPE: readonly SmtpStage[] = ['mail', 'rcpt', 'data']
const SIGN_IN_STEPS: readonly (readonly [step: Step, stage: SmtpStage])[] = [
  ['connect', 'greeting'],
  ['EHLO', 'greeting'],
  ['AUTH', 'auth'],
]
const SEND_STEPS: readonly (readonly [step: Step, stage: SmtpStage])[] = [
  ['MAIL', 'mail'],
  ['RCPT', 'rcpt'],
  ['DATA', 'data'],
  ['content', 'data'],
  ['.', 'sent'],
]
const SILENT: readonly (readonly [what: string, act: Act])[] = [
  ['ends the connection', drop],
  ['resets the connection', reset],
  ['sends half a reply', half('550 5.1')],
  ['sends half of several lines', half('550-5.1.1 first\r\n550-5.1.1 sec')],
  ['says nothing', silence],
  ['sends nonsense', 'hello there'],
  ['sends a reply that is none', '2 well'],
]

const timeouts = { greetingMs: SILENCE_MS, socketMs: SILENCE_MS }

describe.each([
  ['without PIPELINING', {}],
  ['with PIPELINING', { EHLO: EHLO_WITH_PIPELINING }],
])('a server %s', (_name, ehlo: Partial<Record<Step, Act>>) => {
  const cases = SEND_STEPS.flatMap(([step, stage]) => SILENT.map(([what, act]) => [step, what, stage, act] as const))
  /** Nodemailer reads the first digit of replies to commands, and this server goes on with the other commands of a batch. */
  const isTold = ([step, what]: readonly [Step, string, ...unknown[]]) =>
    what === 'says nothing'
      ? step === '.' || (step !== 'content' && !ehlo.EHLO)
      : what !== 'sends a reply that is none' || step === '.'

  it.each(cases.filter(isTold))('that at %s %s: fails without a code at stage %s', async (step, what, stage, act) => {
    const reply = await failureAt({ steps: { ...ehlo, [step]: act }, settings: { timeouts } })
    expect(reply).toMatchObject({ code: null, enhancedCode: null, host: '127.0.0.1' })
    // A connection may end before the replies to the first commands of a batch are read.
    const isBatch = ehlo.EHLO !== undefined && what !== 'sends nonsense'
    const earlier = isBatch && ENVELOPE.includes(stage) ? ENVELOPE.slice(0, ENVELOPE.indexOf(stage)) : []
    expect(step === 'content' ? [stage] : [...earlier, stage]).toContain(reply.stage)
    expect(reply.text).not.toBe('')
    expect(judgeFailure(reply).to).toBe(stage === 'sent' ? 'in_doubt' : 'server')
  })

  it.each(SEND_STEPS)('that says 421 at %s fails there: nobody is to blame but the server', async (step, stage) => {
    const reply = await failureAt({ steps: { ...ehlo, [step]: leaveAfter('421 4.3.2 closing') } })
    expect(reply).toMatchObject({ stage, code: 421, enhancedCode: '4.3.2', text: 'closing' })
    expect(judgeFailure(reply)).toEqual({ to: 'server' })
  })

  it.each([
    ['MAIL', 'mail', '550 5.7.1 not you', 'pause'],
    ['RCPT', 'rcpt', '550 5.1.1 nobody', 'failed'],
    ['RCPT', 'rcpt', '450 4.2.1 later', 'deferred'],
    ['DATA', 'data', '452 4.3.1 full', 'domain_waits'],
    ['content', 'data', '552 5.3.4 too large', 'failed'],
    ['.', 'sent', '554 5.6.0 bad content', 'failed'],
  ] as const)('that refuses at %s fails there with the reply', async (step, stage, refusal, verdict) => {
    const reply = await failureAt({ steps: { ...ehlo, [step]: refusal } })
    const [code, enhancedCode, ...words] = refusal.split(' ')
    expect(reply).toMatchObject({ stage, code: Number(code), enhancedCode, text: words.join(' ') })
    expect(judgeFailure(reply).to).toBe(verdict)
  })

  it('that refuses the recipient and leaves fails with the refusal', async () => {
    const reply = await failureAt({ steps: { ...ehlo, RCPT: leaveAfter('550 5.1.1 nobody') } })
    expect(reply).toMatchObject({ stage: 'rcpt', code: 550, enhancedCode: '5.1.1' })
  })
})

describe('signing in', () => {
  const cases = SIGN_IN_STEPS.flatMap(([step, stage]) => SILENT.map(([what, act]) => [step, what, stage, act] as const))
  /** Nodemailer takes a reply to EHLO that is none for a refusal, and says HELO. */
  const isForgiven = (step: Step, act: Act) => typeof act === 'string' && step !== 'connect'
  /** The system may report a reset while the connection is still made. */
  const isEither = (step: Step, act: Act) => step === 'connect' && act === reset

  it.each(cases.filter(([step, , , act]) => !isForgiven(step, act) && !isEither(step, act)))(
    'a server that at %s %s: fails without a code at stage %s',
    async (step, _what, stage, act) => {
      const reply = await failureAt({ steps: { [step]: act }, settings: { timeouts } })
      expect(reply).toMatchObject({ stage, code: null, enhancedCode: null })
      expect(judgeFailure(reply)).toEqual({ to: 'server' })
    },
  )

  it.each([
    ['connect', 'greeting', '554 5.3.2 go away', 'server'],
    ['connect', 'greeting', '421 4.3.2 closing', 'server'],
    ['EHLO', 'greeting', '421 4.3.2 closing', 'server'],
    ['AUTH', 'auth', '421 4.3.2 closing', 'server'],
    ['AUTH', 'auth', '454 4.7.0 later', 'server'],
    ['AUTH', 'auth', '535 5.7.8 wrong', 'pause'],
  ] as const)('%s: a refusal is told at stage %s: %s', async (step, stage, refusal, verdict) => {
    const reply = await failureAt({ steps: { [step]: refusal } })
    expect(reply).toMatchObject({ stage, code: Number(refusal.slice(0, 3)), enhancedCode: refusal.split(' ')[1] })
    expect(judgeFailure(reply).to).toBe(verdict)
  })

  it('goes on with HELO where a server knows no EHLO, and sends without extensions', async () => {
    const reply = await failureAt({
      steps: { EHLO: '502 what', RCPT: '550 no' },
      settings: { username: undefined },
    })
    expect(reply).toMatchObject({ stage: 'rcpt', code: 550, enhancedCode: null, text: 'no' })
  })

  it.each([
    ['refuses STARTTLS', '502 5.5.1 no such command', 502],
    ['ends the connection', drop, null],
    ['sends nonsense in place of a handshake', '220 go ahead\r\nnonsense', null],
    ['says nothing after its consent', '220 go ahead', null],
  ])('with STARTTLS never goes on in plain text: a server that %s', async (_what, act, code) => {
    const reply = await failureAt({ steps: { STARTTLS: act }, settings: { security: 'starttls', timeouts } })
    expect(reply).toMatchObject({ stage: 'tls', code })
    expect(judgeFailure(reply)).toEqual({ to: 'server' })
    expect(server?.lines.some((line) => /^(AUTH|MAIL)/.test(line))).toBe(false)
  })

  it('fails at stage connect where nobody listens', async () => {
    const reply = await failureAt({ steps: {}, settings: { port: 1 } })
    expect(reply).toMatchObject({ stage: 'connect', code: null })
    expect(reply.text).toContain('ECONNREFUSED')
  })

  it('fails at stage connect where the name has no address', async () => {
    const reply = await failureAt({ steps: {}, settings: { host: 'nowhere.invalid' } })
    expect(reply).toMatchObject({ stage: 'connect', code: null, host: 'nowhere.invalid' })
  })

  it.each([
    ['speaks no TLS', '220 plain', SILENCE_MS * 100],
    ['says nothing', silence, SILENCE_MS],
    ['ends the connection', drop, SILENCE_MS * 100],
  ])('fails at stage tls where a server %s', async (_what, connect, connectMs) => {
    const reply = await failureAt({ steps: { connect }, settings: { security: 'tls', timeouts: { connectMs } } })
    expect(reply).toMatchObject({ stage: 'tls', code: null })
  })
})
