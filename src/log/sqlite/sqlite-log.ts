// The writer of the embedded log, on the side of the requests. It sends the entries of one turn of the event loop to the writing
// thread as one batch, or a few if there are many; entries that arrive during a commit go into the next one.
import { Worker } from 'node:worker_threads'
import { contextText } from '../context-text.ts'
import {
  APPENDS_WAITING_MAX,
  type AppendOutcome,
  type LogCommit,
  type LogWriter,
  type NewEntry,
  type TrimLimits,
  type WaitingBounds,
} from '../event-log.ts'
import { openLogForWriting } from './sqlite-log-file.ts'
import type { AppendBatch, LogReply, LogMessage } from './sqlite-log-thread.ts'
import { findRefusal, unavailable } from '../unavailable.ts'

export interface SqliteLogOptions {
  readonly path: string
  readonly onCommit?: (commit: LogCommit) => void
  /** Smaller bounds, for tests. */
  readonly bounds?: WaitingBounds | undefined
}

const APPENDED: AppendOutcome = { outcome: 'appended' }
/** Batches without a reply: the thread writes one while the next waits. More would only add messages. */
const BATCHES_IN_FLIGHT_MAX = 2
/**
 * A batch of this size is sent at once. Otherwise, when one turn brings large requests on all connections, the thread would idle
 * until the end of the turn, and then all requests would wait for the thread. Small requests are better sent as one batch, which
 * is one commit.
 */
const BATCH_BYTES_ENOUGH = 256 * 1024
/** Larger buffers are not reused. */
const SPARE_BYTES_MAX = 4 * 1024 * 1024

/** A batch without a reply. Its entries are on the other thread and take no memory here. */
interface BatchInFlight {
  readonly answers: readonly PromiseWithResolvers<AppendOutcome>[]
  /** The number of events of each entry. */
  readonly events: readonly number[]
  readonly bytes: number
  /** When its first entry was received. */
  readonly receivedAt: number | undefined
}

/** Creates the log file if it does not exist, and starts the writing thread. */
export function openSqliteLog(options: SqliteLogOptions): LogWriter {
  // Creates the file before this returns, so that readers can open it at once.
  openLogForWriting(options.path).close()
  return new SqliteLog(options)
}

class SqliteLog implements LogWriter {
  readonly #thread: Worker
  readonly #onCommit: (commit: LogCommit) => void
  readonly #bounds: WaitingBounds
  /** Entries that are not sent yet. */
  #unsent: NewEntry[] = []
  #unsentAnswers: PromiseWithResolvers<AppendOutcome>[] = []
  #unsentBytes = 0
  readonly #inFlight = new Map<number, BatchInFlight>()
  readonly #pending = new Map<number, PromiseWithResolvers<boolean>>()
  /** The thread returns the buffers with its replies, so that neither side allocates one per batch. */
  readonly #spareBuffers: ArrayBuffer[] = []
  #waitingEntries = 0
  #waitingBytes = 0
  #lastId = 0
  #isSendScheduled = false
  #isClosed = false
  #onIdle: (() => void) | undefined

  constructor(options: SqliteLogOptions) {
    this.#onCommit = options.onCommit ?? (() => {})
    this.#bounds = options.bounds ?? APPENDS_WAITING_MAX
    this.#thread = new Worker(new URL('./sqlite-log-thread.ts', import.meta.url), {
      name: 'log',
      workerData: { path: options.path },
    })
    this.#thread.on('message', (reply: LogReply) => this.#receive(reply))
  }

  append(entry: NewEntry): Promise<AppendOutcome> {
    const waiting = { isClosed: this.#isClosed, entries: this.#waitingEntries, bytes: this.#waitingBytes }
    const refusal = findRefusal(entry, waiting, this.#bounds)
    if (refusal) return Promise.reject(refusal)
    this.#waitingEntries++
    this.#waitingBytes += entry.body.byteLength
    const answer = Promise.withResolvers<AppendOutcome>()
    this.#unsent.push(entry)
    this.#unsentAnswers.push(answer)
    this.#unsentBytes += entry.body.byteLength
    this.#sendSoon()
    return answer.promise
  }

  oldestWaitingReceivedAt(): number | undefined {
    return this.#inFlight.values().next().value?.receivedAt ?? this.#unsent[0]?.receivedAt
  }

  trim(limits: TrimLimits): Promise<boolean> {
    return this.#ask((id) => ({ type: 'trim', id, limits }))
  }

  async check(): Promise<void> {
    await this.#ask((id) => ({ type: 'check', id }))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#waitingEntries > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    const ended = new Promise((resolve) => this.#thread.once('exit', resolve))
    this.#post({ type: 'close' })
    await ended
  }

  /** Sends at once, or at the end of this turn of the event loop; while the thread is busy, after its next reply. */
  #sendSoon(): void {
    if (this.#inFlight.size >= BATCHES_IN_FLIGHT_MAX) return
    if (this.#unsentBytes >= BATCH_BYTES_ENOUGH) this.#send()
    else if (!this.#isSendScheduled) {
      this.#isSendScheduled = true
      setImmediate(() => this.#endTurn())
    }
  }

  /** A large batch may have been sent in the meantime. */
  #endTurn(): void {
    this.#isSendScheduled = false
    if (this.#unsent.length > 0 && this.#inFlight.size < BATCHES_IN_FLIGHT_MAX) this.#send()
  }

  #send(): void {
    const id = ++this.#lastId
    const batch = toBatch(this.#unsent, this.#spareBuffers)
    this.#inFlight.set(id, {
      answers: this.#unsentAnswers,
      events: this.#unsent.map(({ events }) => events),
      bytes: batch.bodyEnds.at(-1) ?? 0,
      receivedAt: this.#unsent[0]?.receivedAt,
    })
    this.#unsent = []
    this.#unsentAnswers = []
    this.#unsentBytes = 0
    this.#thread.postMessage({ type: 'append', id, batch } satisfies LogMessage, [batch.bodies.buffer as ArrayBuffer])
  }

  #ask(toMessage: (id: number) => LogMessage): Promise<boolean> {
    const id = ++this.#lastId
    const answer = Promise.withResolvers<boolean>()
    this.#pending.set(id, answer)
    this.#post(toMessage(id))
    return answer.promise
  }

  #post(message: LogMessage): void {
    this.#thread.postMessage(message)
  }

  #receive(reply: LogReply): void {
    switch (reply.type) {
      case 'appended':
        this.#receiveCommit(reply)
        break
      case 'failed':
        for (const id of reply.ids) this.#fail(id, reply.reason)
        break
      case 'done':
        this.#take(this.#pending, reply.id)?.resolve(reply.hasMore)
        break
    }
    if (this.#unsent.length > 0) this.#sendSoon()
    if (this.#waitingEntries === 0) this.#onIdle?.()
  }

  #receiveCommit({ ids, exceptions, commit, buffers }: Extract<LogReply, { type: 'appended' }>): void {
    this.#spareBuffers.push(...buffers.filter((buffer) => buffer.byteLength <= SPARE_BYTES_MAX))
    let events = 0
    for (const [batchIndex, id] of ids.entries()) {
      const outcomes = exceptions[batchIndex]
      const batch = this.#takeBatch(id)
      batch?.answers.forEach((answer, index) => {
        const outcome = outcomes?.get(index)
        if (!outcome) events += batch.events[index] ?? 0
        answer.resolve(outcome ?? APPENDED)
      })
    }
    this.#onCommit({ ...commit, events })
  }

  #fail(id: number, reason: string): void {
    const error = unavailable(`The log cannot be written: ${reason}. Retry after 1 second.`)
    this.#take(this.#pending, id)?.reject(error)
    for (const answer of this.#takeBatch(id)?.answers ?? []) answer.reject(error)
  }

  #takeBatch(id: number): BatchInFlight | undefined {
    const batch = this.#take(this.#inFlight, id)
    this.#waitingEntries -= batch?.answers.length ?? 0
    this.#waitingBytes -= batch?.bytes ?? 0
    return batch
  }

  #take<Value>(from: Map<number, Value>, id: number): Value | undefined {
    const value = from.get(id)
    from.delete(id)
    return value
  }
}

function toBatch(entries: readonly NewEntry[], spareBuffers: ArrayBuffer[]): AppendBatch {
  const bytes = entries.reduce((sum, { body }) => sum + body.byteLength, 0)
  const bodies = new Uint8Array(takeBuffer(spareBuffers, bytes))
  const idempotency = new Map<number, { key: string; hash: string }>()
  const bodyEnds: number[] = []
  let end = 0
  for (const [index, entry] of entries.entries()) {
    bodies.set(entry.body, end)
    end += entry.body.byteLength
    bodyEnds.push(end)
    if (entry.idempotency) idempotency.set(index, entry.idempotency)
  }
  return {
    kinds: entries.map(({ kind }) => kind),
    workspaceIds: entries.map(({ workspaceId }) => workspaceId),
    requestIds: entries.map(({ requestId }) => requestId),
    receivedAts: entries.map(({ receivedAt }) => receivedAt),
    contexts: entries.map(({ context }) => contextText(context)),
    bodyEnds,
    bodies,
    idempotency,
  }
}

/** A spare buffer if it is large enough, else a new one whose size is a power of two. */
function takeBuffer(spareBuffers: ArrayBuffer[], bytes: number): ArrayBuffer {
  const spare = spareBuffers.pop()
  return spare && spare.byteLength >= bytes ? spare : new ArrayBuffer(2 ** Math.ceil(Math.log2(Math.max(1024, bytes))))
}
