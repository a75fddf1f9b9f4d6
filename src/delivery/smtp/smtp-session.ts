// One connection to an SMTP server, over which messages are sent one after the other. It is Nodemailer's connection, without its pool
// and its retries: when to send, and what a refusal means, is decided above (`judgeFailure`).
import SmtpConnection from 'nodemailer/lib/smtp-connection'
import type { SmtpReply } from '../../core/delivery/failures.ts'
import { HeldContent } from './held-content.ts'
import { SmtpFailure, silentFailure } from './smtp-failure.ts'
import { SmtpProgress } from './smtp-progress.ts'
import { parseReply } from './smtp-reply.ts'
import { openSmtpSocket, tlsOptions, type SmtpAddress } from './smtp-socket.ts'

export interface SmtpSettings extends SmtpAddress {
  /** The session authenticates if both are set. */
  readonly username?: string
  readonly password?: string
  /** Our name, for EHLO. */
  readonly clientName: string
  readonly timeouts?: Partial<typeof SMTP_TIMEOUTS>
}

/** In milliseconds. */
export const SMTP_TIMEOUTS = {
  /** The lookup of the name and the connection; then TLS again. */
  connectMs: 10_000,
  /** The greeting; with STARTTLS, the handshake. */
  greetingMs: 10_000,
  /** Without a byte from either side. */
  socketMs: 60_000,
  /** A whole message, or signing in: a server that sends a byte now and then is not waited for. */
  exchangeMs: 300_000,
  quitMs: 5_000,
}

export interface SmtpMail {
  /** The envelope sender. */
  readonly from: string
  readonly to: string
  /** The whole message; lines need not be dot-stuffed. */
  readonly raw: Uint8Array
  /** An address or a header has characters beyond ASCII: the server must offer SMTPUTF8. */
  readonly usesUtf8: boolean
  /** Comes back in reports on the message, from servers that offer DSN. */
  readonly envid?: string
}

export interface SendOptions {
  /**
   * Called when MAIL FROM is about to be written, and awaited before the final dot. If it rejects, the connection is destroyed without
   * the dot, and `send` rejects with that error. While the session waits for it, `socketMs` runs.
   */
  readonly beforeEnd: () => Promise<void>
}

/** What Nodemailer says of a failure. */
interface ConnectionError extends Error {
  readonly response?: string
}

type Done<Result> = (error?: ConnectionError | null, result?: Result) => void

/** Connects, greets, secures and authenticates. Rejects with SmtpFailure. */
export async function openSmtpSession(settings: SmtpSettings): Promise<SmtpSession> {
  const timeouts = { ...SMTP_TIMEOUTS, ...settings.timeouts }
  const socket = await openSmtpSocket(settings, timeouts.connectMs)
  const { host, port, security, clientName } = settings
  const progress = new SmtpProgress()
  socket.once('close', () => progress.close())
  const connection = new SmtpConnection({
    host,
    port,
    connection: socket,
    secure: security === 'tls',
    secured: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    tls: tlsOptions(settings),
    name: clientName,
    connectionTimeout: timeouts.connectMs + timeouts.greetingMs,
    greetingTimeout: timeouts.greetingMs,
    socketTimeout: timeouts.socketMs,
    // A connection that is closed is destroyed at once: nothing that is still to be written may reach the server.
    socketCloseTimeout: 0,
    logger: progress,
    transactionLog: true,
  })
  const session = new SmtpSession({ connection, progress, host, timeouts })
  await session.signIn(settings)
  return session
}

interface SessionParts {
  readonly connection: SmtpConnection
  readonly progress: SmtpProgress
  readonly host: string
  readonly timeouts: typeof SMTP_TIMEOUTS
}

export class SmtpSession {
  readonly #connection: SmtpConnection
  readonly #progress: SmtpProgress
  readonly #host: string
  readonly #timeouts: typeof SMTP_TIMEOUTS
  #isEnded = false
  /** Ends the exchange under way. */
  #settle: Done<never> | undefined

  constructor({ connection, progress, host, timeouts }: SessionParts) {
    this.#connection = connection
    this.#progress = progress
    this.#host = host
    this.#timeouts = timeouts
    connection.on('error', (error: ConnectionError) => this.#end(error))
    // Nodemailer hands a reply 421 over only after this event, in the same turn.
    connection.on('end', () => {
      this.#isEnded = true
      queueMicrotask(() => this.#end(new Error('The connection ended.')))
    })
  }

  /** Whether another message can be sent. The server may end the connection at any time. */
  get isUsable(): boolean {
    return !this.#isEnded
  }

  /** Only for `openSmtpSession`. */
  async signIn({ username, password }: SmtpSettings): Promise<void> {
    try {
      await this.#exchange((done) => this.#connection.connect(done))
      this.#watchClose()
      if (username === undefined || password === undefined) return
      this.#progress.begin('auth')
      await this.#exchange((done) => this.#connection.login({ user: username, pass: password }, done))
    } catch (error) {
      this.destroy()
      throw error
    }
  }

  /**
   * Resolves with the reply to the message. Rejects with SmtpFailure, or as `beforeEnd` does; never before that has settled. After a
   * refusal the session is still usable, unless `isUsable` says otherwise.
   */
  async send(mail: SmtpMail, { beforeEnd }: SendOptions): Promise<SmtpReply> {
    if (this.#settle) throw new Error('a session sends one message at a time')
    this.#checkBeforehand(mail)
    this.#progress.begin('mail')
    const held = beforeEnd().catch((error: unknown) => {
      this.destroy()
      throw error
    })
    const [heldEnd, exchange] = await Promise.allSettled([held, this.#transfer(mail, held)])
    if (heldEnd.status === 'rejected') throw heldEnd.reason
    if (exchange.status === 'fulfilled') return exchange.value
    await this.#clearTransaction(exchange.reason)
    throw exchange.reason
  }

  /** Takes leave of the server, and ends the connection. Never rejects. */
  async quit(): Promise<void> {
    if (this.#isEnded || this.#settle) return this.destroy()
    // The end of the connection is what is wanted here.
    await this.#exchange(() => this.#connection.quit(), this.#timeouts.quitMs).catch(() => undefined)
    this.destroy()
  }

  /** Ends the connection at once. A message under way fails at the stage it has reached. */
  destroy(): void {
    this.#isEnded = true
    this.#connection.close()
  }

  /** Before Nodemailer's own listener; after STARTTLS the socket is another one. */
  #watchClose(): void {
    const { _socket: socket } = this.#connection
    if (socket) socket.prependOnceListener('close', () => this.#progress.close())
  }

  /** What need not be asked: an answer of the server is known from its greeting, or the connection has ended. */
  #checkBeforehand({ from, to, raw, usesUtf8 }: SmtpMail): void {
    const refuse = (reply: Omit<SmtpReply, 'host'>) => {
      throw new SmtpFailure({ ...reply, host: this.#host })
    }
    if (this.#isEnded) throw silentFailure('connect', this.#host, new Error('The connection has ended.'))
    const { sizeMax = Infinity } = this.#progress
    if (raw.length > sizeMax) {
      const text = `The message has ${raw.length} bytes; the server takes at most ${sizeMax}.`
      refuse({ stage: 'mail', code: 552, enhancedCode: '5.3.4', text })
    }
    if (UNWRITABLE.test(from)) refuse({ stage: 'mail', code: 553, enhancedCode: '5.1.7', text: NO_ADDRESS })
    if (to === '' || UNWRITABLE.test(to)) refuse({ stage: 'rcpt', code: 553, enhancedCode: '5.1.3', text: NO_ADDRESS })
    if ((usesUtf8 || BEYOND_ASCII.test(from + to)) && !this.#progress.offers('SMTPUTF8')) {
      const text = 'The message needs SMTPUTF8, which the server does not offer.'
      refuse({ stage: 'rcpt', code: 553, enhancedCode: '5.6.7', text })
    }
  }

  async #transfer({ from, to, raw, usesUtf8, envid }: SmtpMail, held: Promise<void>): Promise<SmtpReply> {
    const envelope = { from, to, size: raw.length, use8BitMime: usesUtf8, ...(envid ? { dsn: { envid } } : {}) }
    const content = new HeldContent(raw, held)
    try {
      const { response } = await this.#exchange<{ response: string }>((done) =>
        this.#connection.send(envelope, content, done),
      )
      const reply = parseReply(response)
      if (this.#progress.isWithinContent) throw this.#brokenRules('The server replied before the end of the message.')
      if (reply.code === null) throw this.#brokenRules(reply.text)
      return { ...reply, stage: 'sent', host: this.#host }
    } catch (error) {
      // The rest of the content, or a command within it, must not reach the server.
      if (this.#progress.isWithinContent) this.destroy()
      throw error
    } finally {
      content.destroy()
    }
  }

  /** An answer that says nothing: the connection is of no use any more. */
  #brokenRules(text: string): SmtpFailure {
    const { stage, answered, isWithinContent } = this.#progress
    this.destroy()
    return silentFailure(isWithinContent ? stage : answered, this.#host, new Error(text))
  }

  /** After a refusal the server still holds the sender and the recipient. */
  async #clearTransaction(error: unknown): Promise<void> {
    const isRefusal = error instanceof SmtpFailure && error.reply.code !== null
    if (!isRefusal) this.destroy()
    if (this.#isEnded || (isRefusal && error.reply.stage === 'sent')) return
    try {
      await this.#exchange((done) => this.#connection.reset(done))
    } catch {
      // The message has its reply; the next one is sent over another connection.
      this.destroy()
    }
  }

  /** Runs one exchange of Nodemailer's, bounded by time. Rejects with SmtpFailure. */
  #exchange<Result>(begin: (done: Done<Result>) => void, timeoutMs = this.#timeouts.exchangeMs): Promise<Result> {
    return new Promise((resolve, reject) => {
      const settle: Done<Result> = (error, result) => {
        if (this.#settle !== settle) return
        this.#settle = undefined
        clearTimeout(timer)
        if (error) reject(this.#failureOf(error))
        else resolve(result as Result)
      }
      const timer = setTimeout(() => this.#end(new Error(`Not done within ${timeoutMs} ms.`)), timeoutMs)
      this.#settle = settle
      begin(settle)
    })
  }

  #end(error: ConnectionError): void {
    this.#settle?.(error)
    this.destroy()
  }

  #failureOf(error: ConnectionError): SmtpFailure {
    const { refusal, answered, stage, isClosed } = this.#progress
    const raw = refusal?.raw ?? (isClosed ? undefined : error.response)
    if (raw === undefined) return silentFailure(stage, this.#host, error)
    const reply = parseReply(raw)
    const isRefusal = reply.code !== null && reply.code >= 400
    const at = refusal?.stage ?? answered
    // Neither an acceptance nor a refusal: nobody can say what the server has done.
    return new SmtpFailure({ ...reply, code: isRefusal ? reply.code : null, stage: at, host: this.#host })
  }
}

/** Characters that would end the command. */
const UNWRITABLE = /[\p{Cc}<>]/u
const BEYOND_ASCII = /[^ -~]/
const NO_ADDRESS = 'This is no address that a command can hold.'
