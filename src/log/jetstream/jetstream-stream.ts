// The stream that the log is kept in: how it is reached, made and asked. Every wait here is bounded.
import {
  DiscardPolicy,
  jetstreamManager,
  JetStreamApiCodes,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { connect, NatsConnectionImpl, tokenAuthenticator, usernamePasswordAuthenticator } from '@nats-io/transport-node'
import type { Authenticator, NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node'
import { AppError } from '../../core/app-error.ts'
import { messageOf } from '../../core/thrown.ts'
import { unavailable } from '../unavailable.ts'

export const STREAM = 'tidings-log'
const SUBJECT_PREFIX = 'tidings.log.'
/** Every subject of the stream. */
export const ALL_SUBJECTS = `${SUBJECT_PREFIX}*`
/** The subject of marks, which are not entries: see `jetstream-marks.ts`. */
export const CONTROL_SUBJECT = `${SUBJECT_PREFIX}mark`
/** Copies of the stream where there is a cluster; a majority of them has an entry before it is acknowledged. */
export const REPLICAS = 3
/** What a server takes by default. The largest body, packed, fits in with its headers. */
const PAYLOAD_BYTES_MIN = 1024 * 1024

const CONNECT_WAIT_MS = 3_000
/** Between tries to connect again. */
const RECONNECT_MS = 250
/** How often a server is pinged; one that answers neither of two pings is given up for another. */
const PING_MS = 5_000
/** The least time between two changes of server: choosing a leader takes as long. */
const CHANGE_MS_MIN = 10_000
/** How long every read may fail before the server is left for another: longer than choosing a leader takes. */
const UNREADABLE_MS_MAX = 10_000
/**
 * How long the client may take to leave a server. It first hands over what it still has to send, and a machine that vanished
 * without a word takes nothing: with a full buffer the client would wait for minutes, until the operating system gives the
 * connection up.
 */
const LEAVE_WAIT_MS = 2_000
/** What the client reports before it leaves a server: it was told to, or the server has not answered its pings. */
const LEAVING = new Set(['forceReconnect', 'staleConnection'])
/** How long one question to the stream may take. */
const ANSWER_WAIT_MS = 3_000
/** How long opening waits for a cluster that is starting or choosing its leader, and the pause between tries. */
const OPEN_WAIT_MS = 20_000
const OPEN_AGAIN_MS = 250

/** What servers answer about a stream that another process has just made. */
const NAME_IN_USE = 10058
/** About a stream whose servers are not all there yet, and about one that is gone: its servers may have come back without it. */
const NO_SUITABLE_PEERS = 10005
const PASSING = new Set<number>([NO_SUITABLE_PEERS, JetStreamApiCodes.StreamNotFound])

export interface LogStream {
  readonly connection: NatsConnection
  readonly link: LogLink
  /** Asks the stream. Rejects with AppError `unavailable` for what may pass by itself. */
  ask<Answer>(question: (manager: JetStreamManager) => Promise<Answer>): Promise<Answer>
  /** When it was opened. */
  readonly replicas: number
  /** The position of the last message when it was opened. */
  readonly lastPosition: number
  close(): Promise<void>
}

/**
 * Whether a connection is up. While it is not, the client keeps whatever it is given to send in memory, without bounds, only
 * to drop it before it connects again; so nothing must be sent then.
 */
class LogLink {
  readonly #connection: NatsConnection
  readonly #onReturn: (() => void)[] = []
  #isUp = true
  #changedAt = -Infinity
  #unreadableSince: number | undefined
  #leaving: NodeJS.Timeout | undefined

  constructor(connection: NatsConnection) {
    this.#connection = connection
    void this.#watch()
  }

  get isUp(): boolean {
    return this.#isUp
  }

  /** Calls the listener whenever the connection has come back. */
  onReturn(listener: () => void): void {
    this.#onReturn.push(listener)
  }

  /** Changes to another server when this one brings no answers: it may hang, or be cut off from the rest. */
  change(): void {
    const now = performance.now()
    if (!this.#isUp || now - this.#changedAt < CHANGE_MS_MIN) return
    this.#changedAt = now
    this.#isUp = false
    // Rejects when the connection is closed already; then there is nothing to leave.
    this.#connection.reconnect().catch(() => {})
  }

  /** Notes whether a read through this server has succeeded. When none has for a while, changes to another. */
  noteRead(isDone: boolean): void {
    const now = performance.now()
    this.#unreadableSince = isDone ? undefined : (this.#unreadableSince ?? now)
    if (this.#unreadableSince !== undefined && now - this.#unreadableSince > UNREADABLE_MS_MAX) this.change()
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (LEAVING.has(type)) this.#leave()
      if (type === 'disconnect' || type === 'close') this.#noteLeft()
      if (type === 'reconnect') this.#noteReturn()
    }
  }

  /** Breaks the connection off if the client does not leave the server in time. */
  #leave(): void {
    this.#isUp = false
    clearTimeout(this.#leaving)
    this.#leaving = setTimeout(() => breakOff(this.#connection), LEAVE_WAIT_MS)
  }

  #noteLeft(): void {
    this.#isUp = false
    clearTimeout(this.#leaving)
  }

  #noteReturn(): void {
    this.#isUp = true
    this.#unreadableSince = undefined
    for (const listener of this.#onReturn) listener()
  }
}

/** Destroys the socket, which nothing in the client's own interface does; the client reconnects as after any other loss. */
function breakOff(connection: NatsConnection): void {
  if (!(connection instanceof NatsConnectionImpl)) return
  connection.protocol.transport.close(new Error('the server does not read from the connection')).catch(() => {})
}

/** The subject of a partition's entries. */
export function partitionSubject(partition: number): string {
  return `${SUBJECT_PREFIX}${partition}`
}

/** The partition of a message's subject; NaN for a mark. */
export function partitionOfSubject(subject: string): number {
  return Number(subject.slice(SUBJECT_PREFIX.length))
}

/**
 * Connects to the first server of a list (`nats://user:password@host:port,…`) that answers, and makes the stream if there
 * is none. Rejects with AppError `unavailable` when that takes too long, and with an Error where the existing stream would lose
 * entries.
 */
export async function openLogStream(url: string, replicas?: number): Promise<LogStream> {
  const connection = await connect(toConnectionOptions(url)).catch((error: unknown) => {
    throw unavailable(`NATS is unreachable: ${messageOf(error)}. Retry after 1 second.`)
  })
  const link = new LogLink(connection)
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false, timeout: ANSWER_WAIT_MS })
    const info = await untilOpen(link, () =>
      findOrAddStream(manager, replicas ?? (connection.info?.cluster ? REPLICAS : 1)),
    )
    refuseUnfit(info, connection)
    return {
      connection,
      link,
      replicas: info.config.num_replicas,
      lastPosition: info.state.last_seq,
      ask: async (question) => {
        if (!link.isUp) throw unavailable('The connection to the log in NATS was lost. Retry after 1 second.')
        return await question(manager).catch((error: unknown) => Promise.reject(toAppError(error)))
      },
      close: () => closeNextTurn(connection),
    }
  } catch (error) {
    await connection.close()
    throw error
  }
}

/**
 * What was sent in this turn to a server that has just gone fails in the next turn. A client that is closing no longer listens
 * for that error, which would then end the process.
 */
async function closeNextTurn(connection: NatsConnection): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  await connection.close()
}

function toConnectionOptions(url: string): NodeConnectionOptions {
  const places = url.split(',').map((place) => new URL(place.trim()))
  const authenticator = places.map(toAuthenticator).find((known) => known !== undefined)
  return {
    servers: places.map(({ host }) => host),
    name: 'tidings',
    ...(authenticator && { authenticator }),
    ...(places.some(({ protocol }) => protocol === 'tls:') && { tls: {} }),
    timeout: CONNECT_WAIT_MS,
    reconnectTimeWait: RECONNECT_MS,
    // The log is needed for as long as the program runs.
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    // Otherwise the client first tries the one that it has just left.
    reconnectToServer: (servers) => servers.toSorted((left, right) => left.lastConnect - right.lastConnect)[0] ?? null,
    pingInterval: PING_MS,
    noAsyncTraces: true,
  }
}

/** The credentials in an address: a user with a password, or a token alone. */
function toAuthenticator({ username, password }: URL): Authenticator | undefined {
  if (username === '') return undefined
  const user = decodeURIComponent(username)
  return password === '' ? tokenAuthenticator(user) : usernamePasswordAuthenticator(user, decodeURIComponent(password))
}

/** Asks again while a cluster is not ready, or the server is cut off from it. */
async function untilOpen(link: LogLink, open: () => Promise<StreamInfo>): Promise<StreamInfo> {
  const deadline = performance.now() + OPEN_WAIT_MS
  for (;;) {
    try {
      return await open()
    } catch (error) {
      const known = toAppError(error)
      if (!(known instanceof AppError) || performance.now() > deadline) throw known
      link.change()
      await new Promise((resolve) => setTimeout(resolve, OPEN_AGAIN_MS))
    }
  }
}

async function findOrAddStream({ streams }: JetStreamManager, replicas: number): Promise<StreamInfo> {
  try {
    return await streams.info(STREAM)
  } catch (error) {
    if (!isApiError(error, JetStreamApiCodes.StreamNotFound)) throw error
  }
  const config = {
    name: STREAM,
    subjects: [ALL_SUBJECTS],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    // A stream that an operator has limited refuses what is new rather than dropping what is not applied yet.
    discard: DiscardPolicy.New,
    num_replicas: replicas,
  }
  // Another process may have made it meanwhile.
  return await streams.add(config).catch((error: unknown) => {
    if (isApiError(error, NAME_IN_USE)) return streams.info(STREAM)
    throw error
  })
}

/** A stream of that name that an operator made with other settings must still keep what it acknowledges until it is trimmed. */
function refuseUnfit({ config }: StreamInfo, { info }: NatsConnection): void {
  const dropsOld = config.discard === DiscardPolicy.Old && (config.max_bytes > 0 || config.max_msgs > 0)
  const faults = [
    config.storage !== StorageType.File && 'does not use file storage',
    config.retention !== RetentionPolicy.Limits && 'deletes messages after they are read',
    (config.max_age > 0 || config.max_msgs_per_subject > 0 || dropsOld) && 'discards old messages',
    !holdsAllSubjects(config) && `does not include the subjects ${ALL_SUBJECTS}`,
  ].filter((fault) => fault !== false)
  if (faults.length > 0) throw new Error(`the stream ${STREAM} cannot be used as the log: it ${faults.join(', ')}`)
  const limits = [info?.max_payload ?? PAYLOAD_BYTES_MIN, config.max_msg_size > 0 ? config.max_msg_size : Infinity]
  if (Math.min(...limits) >= PAYLOAD_BYTES_MIN) return
  throw new Error(`the NATS server or the stream ${STREAM} accepts messages of at most ${Math.min(...limits)} bytes, \
but a request may need ${PAYLOAD_BYTES_MIN}`)
}

function holdsAllSubjects({ subjects }: StreamConfig): boolean {
  return subjects.some((subject) => subject === ALL_SUBJECTS || subject === `${SUBJECT_PREFIX}>`)
}

/** AppError `unavailable` for what may pass by itself, else the error as it is. */
function toAppError(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error
  if (error instanceof JetStreamApiError) {
    const isPassing = error.apiError().code >= 500 || PASSING.has(error.code)
    return isPassing ? unavailable(`The log in NATS is unavailable: ${error.message}. Retry after 1 second.`) : error
  }
  // What the client throws is about the connection: not there, closed, no answer in time, or nobody to ask.
  const isOurs = error instanceof TypeError || error instanceof RangeError
  return isOurs ? error : unavailable(`The log in NATS is unreachable: ${error.message}. Retry after 1 second.`)
}

function isApiError(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.code === code
}
