// An SMTP server that records what it accepts, and refuses, waits or ends connections where a rule says so. Tests, benches and
// `npm run mail-sink` use it.
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import { RecordedMails } from './recorded-mails.ts'
import { createAddressRule, type SinkAnswer, type SinkMoment, type SinkRule } from './sink-rules.ts'

const HOST = '127.0.0.1'

export interface MailSinkOptions {
  /** 0, the default: any free port. */
  readonly port?: number
  /** By default the rule by addresses (`sink-rules.ts`). */
  readonly rule?: SinkRule
  /** AUTH is required, and takes only these. */
  readonly credentials?: { readonly username: string; readonly password: string }
  /** TLS from the first byte, or by STARTTLS; without this there is none. */
  readonly tls?: { readonly security: 'tls' | 'starttls'; readonly key: string; readonly cert: string }
  /** Extensions and limits, as smtp-server names them: `hideSMTPUTF8`, `hidePIPELINING`, `size`. */
  readonly server?: SMTPServerOptions
  /** How many messages are kept in memory (`MAILS_KEPT_MAX`). */
  readonly keptMax?: number
  /** A file that gets a line for each accepted message (`readRecordedMails`). */
  readonly file?: string
}

export interface MailSink {
  readonly host: string
  readonly port: number
  readonly mails: RecordedMails
  /** Connections: now, the most at once, and all so far. */
  readonly connections: { readonly current: number; readonly most: number; readonly total: number }
  /** Ends all connections at once. */
  drop(): void
  stop(): Promise<void>
}

export async function startMailSink(options: MailSinkOptions = {}): Promise<MailSink> {
  const sink = new SinkServer(options)
  const server = new SMTPServer({ ...toServerOptions(options), ...sink.callbacks() })
  server.on('error', () => {
    // A client that leaves in the middle is no fault of the sink.
  })
  server.server.on('connection', (socket: Socket) => sink.accept(socket))
  server.listen(options.port ?? 0, HOST)
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  return {
    host: HOST,
    port,
    mails: sink.mails,
    connections: sink.connections,
    drop: () => sink.drop(),
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(resolve))
      sink.drop()
      await closed
      sink.mails.close()
    },
  }
}

function toServerOptions({ credentials, tls, server }: MailSinkOptions): SMTPServerOptions {
  return {
    name: 'mail-sink.test',
    disableReverseLookup: true,
    authOptional: credentials === undefined,
    allowInsecureAuth: true,
    // The sink trusts its clients; smtp-server would count the commands of those that do not sign in.
    maxAllowedUnauthenticatedCommands: false,
    secure: tls?.security === 'tls',
    disabledCommands: [
      ...(tls?.security === 'starttls' ? [] : ['STARTTLS']),
      ...(credentials === undefined ? ['AUTH'] : []),
    ],
    ...(tls ? { key: tls.key, cert: tls.cert } : {}),
    ...server,
  }
}

type Callback = (error?: Error | null) => void

/** What happens on the connections of one sink. */
class SinkServer {
  readonly mails: RecordedMails
  readonly connections = { current: 0, most: 0, total: 0 }
  readonly #options: MailSinkOptions
  readonly #rule: SinkRule
  /** By the client's port, which is all that smtp-server tells of a connection. */
  readonly #sockets = new Map<number, { readonly socket: Socket; readonly number: number }>()

  constructor(options: MailSinkOptions) {
    this.#options = options
    this.#rule = options.rule ?? createAddressRule()
    this.mails = new RecordedMails(options)
  }

  accept(socket: Socket): void {
    const { connections } = this
    const port = socket.remotePort ?? 0
    this.#sockets.set(port, { socket, number: ++connections.total })
    connections.most = Math.max(connections.most, ++connections.current)
    socket.once('close', () => {
      this.#sockets.delete(port)
      connections.current--
    })
  }

  drop(): void {
    for (const { socket } of this.#sockets.values()) socket.destroy()
  }

  callbacks(): SMTPServerOptions {
    return {
      onConnect: (session, callback) => this.#ask({ stage: 'connect' }, session, callback),
      onAuth: ({ username, password }, session, callback) => {
        const { credentials } = this.#options
        const isKnown = username === credentials?.username && password === credentials?.password
        const refusal = isKnown ? undefined : toRefusal('535 5.7.8 Invalid credentials')
        this.#ask({ stage: 'auth' }, session, (error) => callback(error ?? refusal, { user: username }))
      },
      onMailFrom: ({ address }, session, callback) => this.#ask({ stage: 'mail', from: address }, session, callback),
      onRcptTo: ({ address }, session, callback) =>
        this.#ask({ stage: 'rcpt', from: senderOf(session), to: address }, session, callback),
      onData: (stream, session, callback) => {
        const chunks: Buffer[] = []
        stream.once('data', () => this.#ask(this.#momentOf('content', session), session, () => {}))
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.once('end', () => this.#take(Buffer.concat(chunks), session, callback))
        this.#ask(this.#momentOf('data', session), session, () => {})
      },
    }
  }

  #take(raw: Buffer, session: SMTPServerSession, callback: Callback): void {
    this.#ask(this.#momentOf('message', session), session, (error) => {
      if (error) return callback(error)
      const to = session.envelope.rcptTo.map(({ address }) => address)
      const connection = this.#sockets.get(session.remotePort)?.number ?? 0
      this.mails.add({ connection, at: Date.now(), from: senderOf(session), to, raw })
      this.#ask(this.#momentOf('recorded', session), session, callback)
    })
  }

  #momentOf(stage: SinkMoment['stage'], session: SMTPServerSession): Omit<SinkMoment, 'connection'> {
    return { stage, from: senderOf(session), to: session.envelope.rcptTo[0]?.address ?? '' }
  }

  #ask(moment: Omit<SinkMoment, 'connection'>, session: SMTPServerSession, callback: Callback): void {
    const { number = 0, socket } = this.#sockets.get(session.remotePort) ?? {}
    const answer = this.#rule({ ...moment, connection: number })
    if (!answer) callback()
    else if (answer.afterMs === undefined) carryOut(answer, socket, callback)
    else setTimeout(() => carryOut(answer, socket, callback), answer.afterMs)
  }
}

function carryOut({ reply, ends }: SinkAnswer, socket: Socket | undefined, callback: Callback): void {
  if (ends === 'drop') socket?.destroy()
  else if (ends !== 'hang') callback(reply === undefined ? null : toRefusal(reply))
}

function toRefusal(reply: string): Error {
  return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) })
}

function senderOf({ envelope }: SMTPServerSession): string {
  return envelope.mailFrom === false ? '' : envelope.mailFrom.address
}
