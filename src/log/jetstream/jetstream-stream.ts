// Connects to the stream of the log, creates it if necessary, and queries it. Every wait is bounded.
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
/** All subjects of the stream. */
export const ALL_SUBJECTS = `${SUBJECT_PREFIX}*`
/** The subject of control records, which are not entries: see `jetstream-control-records.ts`. */
export const CONTROL_SUBJECT = `${SUBJECT_PREFIX}control`
/** The replicas of the stream in a cluster. A majority has an entry before it is acknowledged. */
export const REPLICAS = 3
/** The largest message by default. The largest packed body fits with its headers. */
const PAYLOAD_BYTES_MIN = 1024 * 1024

const CONNECT_WAIT_MS = 3_000
/** The pause between attempts to reconnect. */
const RECONNECT_MS = 250
/** How often to ping a server. After two pings without a response the client connects to another. */
const PING_MS = 5_000
/** The least time between two changes of server: electing a leader takes as long. */
const CHANGE_MS_MIN = 10_000
/** How long every read may fail before the client changes to another server: longer than electing a leader takes. */
const UNREADABLE_MS_MAX = 10_000
/**
 * How long the client may take to disconnect from a server. It first sends its buffer, and a machine that vanished accepts nothing:
 * with a full buffer the client would wait for minutes, until the operating system closes the connection.
 */
const LEAVE_WAIT_MS = 2_000
/** Statuses of the client before it leaves a server: on request, or because the server does not respond to pings. */
const LEAVING = new Set(['forceReconnect', 'staleConnection'])
/** How long one query to the stream may take. */
const ANSWER_WAIT_MS = 3_000
/** How long opening waits for a cluster that is starting or electing its leader, and the pause between attempts. */
const OPEN_WAIT_MS = 20_000
const OPEN_RETRY_MS = 250

/** The error code for a stream that another process has just created. */
const NAME_IN_USE = 10058
/**
 * The error code for a stream whose servers are not all running yet. A missing stream is transient too: its servers may still be
 * starting.
 */
const NO_SUITABLE_PEERS = 10005
const TRANSIENT = new Set<number>([NO_SUITABLE_PEERS, JetStreamApiCodes.StreamNotFound])

export interface LogStream {
  readonly connection: NatsConnection
  readonly link: LogLink
  /** Queries the stream. Rejects with AppError `unavailable` for errors that may pass. */
  ask<Answer>(question: (manager: JetStreamManager) => Promise<Answer>): Promise<Answer>
  /** The number of replicas when it was opened. */
  readonly replicas: number
  /** The position of the last message when it was opened. */
  readonly lastPosition: number
  close(): Promise<void>
}

/**
 * The state of a connection. While it is down, the client buffers messages in memory without bounds, and drops them before it
 * reconnects; so callers must send nothing then.
 */
class LogLink {
  readonly #connection: NatsConnection
  readonly #onReconnect: (() => void)[] = []
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

  /** Calls the listener after each reconnect. */
  onReconnect(listener: () => void): void {
    this.#onReconnect.push(listener)
  }

  /** Changes to another server, for when this one does not respond: it may hang, or be cut off from the others. */
  change(): void {
    const now = performance.now()
    if (!this.#isUp || now - this.#changedAt < CHANGE_MS_MIN) return
    this.#changedAt = now
    this.#isUp = false
    // Rejects if the connection is closed already.
    this.#connection.reconnect().catch(() => {})
  }

  /** Reports whether a read through this server succeeded. If none has for a while, changes to another server. */
  reportRead(isSuccessful: boolean): void {
    const now = performance.now()
    this.#unreadableSince = isSuccessful ? undefined : (this.#unreadableSince ?? now)
    if (this.#unreadableSince !== undefined && now - this.#unreadableSince > UNREADABLE_MS_MAX) this.change()
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (LEAVING.has(type)) this.#leave()
      if (type === 'disconnect' || type === 'close') this.#markDown()
      if (type === 'reconnect') this.#markUp()
    }
  }

  /** Destroys the connection if the client does not leave the server in time. */
  #leave(): void {
    this.#isUp = false
    clearTimeout(this.#leaving)
    this.#leaving = setTimeout(() => destroy(this.#connection), LEAVE_WAIT_MS)
  }

  #markDown(): void {
    this.#isUp = false
    clearTimeout(this.#leaving)
  }

  #markUp(): void {
    this.#isUp = true
    this.#unreadableSince = undefined
    for (const listener of this.#onReconnect) listener()
  }
}

/** Destroys the socket. The client has no public method for it, and reconnects as after any other loss. */
function destroy(connection: NatsConnection): void {
  if (!(connection instanceof NatsConnectionImpl)) return
  connection.protocol.transport.close(new Error('the server does not read from the connection')).catch(() => {})
}

/** The subject of the entries of a partition. */
export function partitionSubject(partition: number): string {
  return `${SUBJECT_PREFIX}${partition}`
}

/** The partition of a message's subject; NaN for a control record. */
export function partitionOfSubject(subject: string): number {
  return Number(subject.slice(SUBJECT_PREFIX.length))
}

/**
 * Connects to the first server of a list (`nats://user:password@host:port,…`) that responds, and creates the stream if it does not
 * exist. Rejects with AppError `unavailable` when that takes too long, and with an Error if the existing stream would lose entries.
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
 * A message sent in this turn of the event loop to a server that has just gone fails in the next turn. A closing client no longer
 * listens for that error, which would then end the process.
 */
async function closeNextTurn(connection: NatsConnection): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  await connection.close()
}

function toConnectionOptions(url: string): NodeConnectionOptions {
  const addresses = url.split(',').map((address) => new URL(address.trim()))
  const authenticator = addresses.map(toAuthenticator).find((candidate) => candidate !== undefined)
  return {
    servers: addresses.map(({ host }) => host),
    name: 'tidings',
    ...(authenticator && { authenticator }),
    ...(addresses.some(({ protocol }) => protocol === 'tls:') && { tls: {} }),
    timeout: CONNECT_WAIT_MS,
    reconnectTimeWait: RECONNECT_MS,
    // The program needs the log as long as it runs.
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    // Otherwise the client first tries the server that it has just left.
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

/** Retries while the cluster is not ready, or the server is cut off from it. */
async function untilOpen(link: LogLink, open: () => Promise<StreamInfo>): Promise<StreamInfo> {
  const deadline = performance.now() + OPEN_WAIT_MS
  for (;;) {
    try {
      return await open()
    } catch (error) {
      const appError = toAppError(error)
      if (!(appError instanceof AppError) || performance.now() > deadline) throw appError
      link.change()
      await new Promise((resolve) => setTimeout(resolve, OPEN_RETRY_MS))
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
    // A stream that an operator has limited refuses new messages rather than dropping those that are not applied yet.
    discard: DiscardPolicy.New,
    num_replicas: replicas,
  }
  // Another process may have created it meanwhile.
  return await streams.add(config).catch((error: unknown) => {
    if (isApiError(error, NAME_IN_USE)) return streams.info(STREAM)
    throw error
  })
}

/** Refuses a stream that an operator created with settings that drop messages before the log trims them. */
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

/** AppError `unavailable` for errors that may pass; else the error as it is. */
function toAppError(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error
  if (error instanceof JetStreamApiError) {
    const isTransient = error.apiError().code >= 500 || TRANSIENT.has(error.code)
    return isTransient ? unavailable(`The log in NATS is unavailable: ${error.message}. Retry after 1 second.`) : error
  }
  // Other errors of the client concern the connection: missing, closed, no response in time, or no responders.
  const isOurs = error instanceof TypeError || error instanceof RangeError
  return isOurs ? error : unavailable(`The log in NATS is unreachable: ${error.message}. Retry after 1 second.`)
}

function isApiError(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.code === code
}
