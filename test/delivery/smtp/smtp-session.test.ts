// Sending over a session: the order of the exchange, what is sent, TLS and AUTH, and what a session is good for afterwards.
import { afterEach, describe, expect, it } from 'vitest'
import { judgeFailure, REPLY_TEXT_LENGTH_MAX } from '../../../src/core/delivery/failures.ts'
import { SmtpFailure } from '../../../src/delivery/smtp/smtp-failure.ts'
import {
  openSmtpSession,
  type SmtpMail,
  type SmtpSession,
  type SmtpSettings,
} from '../../../src/delivery/smtp/smtp-session.ts'
import { startMailSink, type MailSink, type MailSinkOptions } from '../../support/mail-sink/mail-sink.ts'
import { TEST_CERTIFICATE, TEST_KEY } from '../../support/mail-sink/test-certificate.ts'
import { until } from '../../support/server.ts'
import { startScriptedServer, type Act, type ScriptedServer, type Step } from './scripted-server.ts'

let sink: MailSink | undefined
let scripted: ScriptedServer | undefined
let session: SmtpSession | undefined
afterEach(async () => {
  session?.destroy()
  await sink?.stop()
  await scripted?.stop()
  session = sink = scripted = undefined
})

const MAIL: SmtpMail = {
  from: 'a@from.test',
  to: 'b@to.test',
  raw: Buffer.from('Subject: x\r\n\r\ny\r\n'),
  usesUtf8: false,
}
const now = { beforeEnd: () => Promise.resolve() }

async function openTo(port: number, settings: Partial<SmtpSettings> = {}): Promise<SmtpSession> {
  session = await openSmtpSession({ host: '127.0.0.1', port, security: 'none', clientName: 'client.test', ...settings })
  return session
}

async function openSink(options: MailSinkOptions = {}, settings: Partial<SmtpSettings> = {}): Promise<SmtpSession> {
  sink = await startMailSink(options)
  return openTo(sink.port, settings)
}

async function openScripted(steps: Partial<Record<Step, Act>>): Promise<SmtpSession> {
  scripted = await startScriptedServer(steps)
  return openTo(scripted.port)
}

async function failureOf(sending: Promise<unknown>): Promise<SmtpFailure['reply']> {
  const error = await sending.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof SmtpFailure)) throw new Error('there was no SmtpFailure', { cause: error })
  return error.reply
}

describe('a message', () => {
  it('arrives as it is, whatever its lines begin with', async () => {
    const lines = ['Subject: x', '', '.', '..', '.a', 'b.', '', '.']
    const raw = Buffer.from(`${lines.join('\r\n')}\r\n`)
    const open = await openSink()
    const reply = await open.send({ ...MAIL, raw }, now)
    expect(reply).toMatchObject({ stage: 'sent', code: 250, host: '127.0.0.1' })
    expect(sink?.mails.list()).toMatchObject([{ from: 'a@from.test', to: ['b@to.test'], raw }])
  })

  it('of megabytes arrives whole', async () => {
    const raw = Buffer.from(`Subject: x\r\n\r\n${`${'y'.repeat(70)}\r\n`.repeat(40_000)}`)
    await (await openSink()).send({ ...MAIL, raw }, now)
    expect(sink?.mails.list()[0]?.raw.equals(raw)).toBe(true)
  })

  it('follows another over the same connection', async () => {
    const open = await openSink()
    for (let number = 0; number < 5; number++) await open.send(MAIL, now)
    expect(sink?.mails.count).toBe(5)
    expect(sink?.connections.total).toBe(1)
  })

  it('is not sent beside another', async () => {
    const open = await openSink()
    const first = open.send(MAIL, now)
    await expect(open.send(MAIL, now)).rejects.toThrow('one message at a time')
    await first
  })
})

describe('before the final dot', () => {
  it('the session waits, while the rest of the message is already there', async () => {
    const open = await openScripted({})
    const held = Promise.withResolvers<void>()
    const sending = open.send(MAIL, { beforeEnd: () => held.promise })
    await until('the content has arrived', () => scripted?.lines.includes('y'))
    expect(scripted?.lines).not.toContain('.')
    held.resolve()
    await sending
    expect(scripted?.lines).toContain('.')
  })

  it('a caller that fails ends the connection: the server accepts nothing', async () => {
    const open = await openSink()
    const beforeEnd = () => Promise.reject(new Error('the log is full'))
    await expect(open.send(MAIL, { beforeEnd })).rejects.toThrow('the log is full')
    expect(open.isUsable).toBe(false)
    await until('the connection has ended', () => sink?.connections.current === 0)
    expect(sink?.mails.count).toBe(0)
  })

  it('is not asked for where nothing is sent', async () => {
    const open = await openScripted({})
    let asked = 0
    const beforeEnd = () => Promise.resolve(void asked++)
    const mails = [
      { ...MAIL, usesUtf8: true },
      { ...MAIL, to: 'jürgen@to.test' },
      { ...MAIL, to: 'b@to.test>\r\nRCPT TO:<c@to.test' },
      { ...MAIL, raw: Buffer.alloc(100_001, 'x') },
    ]
    const replies = []
    for (const mail of mails) replies.push(await failureOf(open.send(mail, { beforeEnd })))
    expect(replies.map(({ stage, code, enhancedCode }) => `${stage} ${code} ${enhancedCode}`)).toEqual([
      'rcpt 553 5.6.7',
      'rcpt 553 5.6.7',
      'rcpt 553 5.1.3',
      'mail 552 5.3.4',
    ])
    expect(replies.map((reply) => judgeFailure(reply))).toEqual([
      { to: 'failed', reason: 'hard_bounce' },
      { to: 'failed', reason: 'hard_bounce' },
      { to: 'failed', reason: 'hard_bounce', suppress: 'hard_bounce' },
      { to: 'failed', reason: 'message_refused' },
    ])
    expect(asked).toBe(0)
    expect(scripted?.lines.some((line) => line.startsWith('MAIL'))).toBe(false)
    await open.send(MAIL, now)
  })
})

describe('after a refusal', () => {
  it.each([
    ['reject-550-5.7.1@from.test', 'b@to.test', 'mail'],
    ['a@from.test', 'reject-550-5.1.1@to.test', 'rcpt'],
    ['a@from.test', 'defer-450-4.2.1@to.test', 'rcpt'],
    ['a@from.test', 'reject-data-554-5.6.0@to.test', 'sent'],
  ])('of %s to %s the session sends the next message', async (from, to, stage) => {
    for (const hidePIPELINING of [false, true]) {
      const open = await openSink({ server: { hidePIPELINING } })
      expect(await failureOf(open.send({ ...MAIL, from, to }, now))).toMatchObject({ stage })
      expect(open.isUsable).toBe(true)
      await open.send(MAIL, now)
      expect(sink?.mails.list().map((mail) => mail.to)).toEqual([['b@to.test']])
      await sink?.stop()
    }
  })

  it('the transaction is reset', async () => {
    const open = await openScripted({ RCPT: '550 5.1.1 nobody' })
    await failureOf(open.send(MAIL, now))
    expect(scripted?.lines.at(-1)).toBe('RSET')
  })

  it('a connection whose server refuses to reset is of no use', async () => {
    const open = await openScripted({ RCPT: '550 5.1.1 nobody', RSET: '502 what' })
    expect(await failureOf(open.send(MAIL, now))).toMatchObject({ stage: 'rcpt', code: 550 })
    expect(open.isUsable).toBe(false)
  })
})

describe('a connection that the server ends between messages', () => {
  it('is of no use, and the next message asks nobody', async () => {
    const open = await openSink()
    await open.send(MAIL, now)
    sink?.drop()
    await until('the session has noticed', () => !open.isUsable)
    const reply = await failureOf(open.send(MAIL, { beforeEnd: () => Promise.reject(new Error('not asked')) }))
    expect(reply).toMatchObject({ stage: 'connect', code: null })
  })
})

describe('the text of a reply', () => {
  it('is that of all lines, with the enhanced code from any of them', async () => {
    const open = await openScripted({ RCPT: '550-first line\r\n550-5.1.1 second\r\n550 third' })
    const reply = await failureOf(open.send(MAIL, now))
    expect(reply).toMatchObject({ code: 550, enhancedCode: '5.1.1', text: 'first line second third' })
  })

  it('has no control characters', async () => {
    const open = await openScripted({ RCPT: '550 5.1.1 a\u0000b\u001b[31mc\td' })
    expect((await failureOf(open.send(MAIL, now))).text).toBe('a b [31mc d')
  })

  it.each([
    ['one long line', `550 5.1.1 ${'x'.repeat(100_000)}`],
    ['many lines', `${'550-5.1.1 line\r\n'.repeat(10_000)}550 5.1.1 end`],
  ])('is cut: %s', async (_what, refusal) => {
    const reply = await failureOf((await openScripted({ RCPT: refusal })).send(MAIL, now))
    expect(reply).toMatchObject({ code: 550, enhancedCode: '5.1.1' })
    expect(reply.text.length).toBe(REPLY_TEXT_LENGTH_MAX)
  })
})

describe('TLS', () => {
  const certificate = { key: TEST_KEY, cert: TEST_CERTIFICATE }

  it.each(['tls', 'starttls'] as const)('%s sends under a certificate that is trusted', async (security) => {
    const trusted = { security, trustedCertificates: TEST_CERTIFICATE }
    const open = await openSink({ tls: { security, ...certificate } }, trusted)
    await open.send(MAIL, now)
    expect(sink?.mails.count).toBe(1)
  })

  it.each(['tls', 'starttls'] as const)('%s fails under one that is not', async (security) => {
    sink = await startMailSink({ tls: { security, ...certificate } })
    expect(await failureOf(openTo(sink.port, { security }))).toMatchObject({ stage: 'tls', code: null })
  })

  it('none uses no TLS, also where the server offers it', async () => {
    const open = await openSink({ tls: { security: 'starttls', ...certificate } })
    await open.send(MAIL, now)
    expect(sink?.mails.count).toBe(1)
  })
})

describe('AUTH', () => {
  const credentials = { username: 'user', password: 'secret' }

  it('lets a session in that knows the password', async () => {
    await (await openSink({ credentials }, credentials)).send(MAIL, now)
    expect(sink?.mails.count).toBe(1)
  })

  it('refuses another password, which pauses', async () => {
    sink = await startMailSink({ credentials })
    const reply = await failureOf(openTo(sink.port, { ...credentials, password: 'other' }))
    expect(reply).toMatchObject({ stage: 'auth', code: 535, enhancedCode: '5.7.8' })
    expect(judgeFailure(reply)).toEqual({ to: 'pause' })
    await until('the connection has ended', () => sink?.connections.current === 0)
  })
})

describe('the end of a session', () => {
  it('takes leave of the server', async () => {
    const open = await openScripted({})
    await open.quit()
    expect(scripted?.lines.at(-1)).toBe('QUIT')
    expect(open.isUsable).toBe(false)
    await open.quit()
  })

  it('at once fails the message under way at its stage', async () => {
    const open = await openScripted({ '.': () => undefined })
    const sending = failureOf(open.send(MAIL, now))
    await until('the dot has arrived', () => scripted?.lines.includes('.'))
    open.destroy()
    expect(judgeFailure(await sending)).toEqual({ to: 'in_doubt' })
  })

  it('comes when an exchange takes too long, though bytes arrive now and then', async () => {
    const trickle = (socket: { write(text: string): unknown }) => setInterval(() => socket.write('2'), 20).unref()
    scripted = await startScriptedServer({ MAIL: trickle })
    const open = await openTo(scripted.port, { timeouts: { exchangeMs: 400 } })
    expect(await failureOf(open.send(MAIL, now))).toMatchObject({ stage: 'mail', code: null })
    expect(open.isUsable).toBe(false)
  })
})
