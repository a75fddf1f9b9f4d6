// The embedded log as requests see it. Entries of one turn of the event loop cross to the writing thread together, or in a few
// groups if there are many; what arrives while a commit runs is in the next one. One message carries a whole group.
import { Worker } from 'node:worker_threads'
import { contextText } from '../context-text.ts'
import {
  WAITING_MAX,
  type AppendOutcome,
  type LogCommit,
  type LogWriter,
  type NewEntry,
  type TrimLimits,
  type WaitingBounds,
} from '../event-log.ts'
import { openLogForWriting } from './sqlite-log-file.ts'
import type { EntryGroup, LogAnswer, LogMessage } from './sqlite-log-thread.ts'
import { findRefusal, unavailable } from '../unavailable.ts'

export interface SqliteLogOptions {
  readonly path: string
  readonly onCommit?: (commit: LogCommit) => void
  /** Smaller bounds of what may wait, for tests of what happens past them. */
  readonly bounds?: WaitingBounds | undefined
}

const APPENDED: AppendOutcome = { outcome: 'appended' }
/** Groups handed over and not answered: one being written and one to follow. More would only be more messages. */
const GROUPS_AHEAD_MAX = 2
/**
 * As soon as this much is gathered, it is handed over. Otherwise, where one turn brings large requests on all connections, the
 * thread would wait for the end of the turn, and then all of them for the thread. Small ones had better be one large group,
 * which is one commit.
 */
const GROUP_BYTES_ENOUGH = 256 * 1024
/** Larger buffers are not kept for the next group. */
const SPARE_BYTES_MAX = 4 * 1024 * 1024

/** What has been handed over; its entries themselves are on the other thread and need no memory here. */
interface WaitingGroup {
  readonly answers: readonly PromiseWithResolvers<AppendOutcome>[]
  /** Of each entry. */
  readonly events: readonly number[]
  readonly bytes: number
  /** When its first entry was received. */
  readonly receivedAt: number | undefined
}

/** Makes the log's file if it is not there, and starts its thread. */
export function openSqliteLog(options: SqliteLogOptions): LogWriter {
  // The file is there when this returns, so that readers can be opened at once.
  openLogForWriting(options.path).close()
  return new SqliteLog(options)
}

class SqliteLog implements LogWriter {
  readonly #thread: Worker
  readonly #onCommit: (commit: LogCommit) => void
  readonly #bounds: WaitingBounds
  /** What has been gathered and not yet handed over. */
  #gathered: NewEntry[] = []
  #gatheredAnswers: PromiseWithResolvers<AppendOutcome>[] = []
  #gatheredBytes = 0
  readonly #committing = new Map<number, WaitingGroup>()
  readonly #asked = new Map<number, PromiseWithResolvers<boolean>>()
  /** They come back with the thread's answers, so that neither side fills its memory with garbage that is slow to go. */
  readonly #spareBuffers: ArrayBuffer[] = []
  #waitingEntries = 0
  #waitingBytes = 0
  #lastId = 0
  #isHandingOver = false
  #isClosed = false
  #onIdle: (() => void) | undefined

  constructor(options: SqliteLogOptions) {
    this.#onCommit = options.onCommit ?? (() => {})
    this.#bounds = options.bounds ?? WAITING_MAX
    this.#thread = new Worker(new URL('./sqlite-log-thread.ts', import.meta.url), {
      name: 'log',
      workerData: { path: options.path },
    })
    this.#thread.on('message', (answer: LogAnswer) => this.#receive(answer))
  }

  append(entry: NewEntry): Promise<AppendOutcome> {
    const waiting = { isClosed: this.#isClosed, entries: this.#waitingEntries, bytes: this.#waitingBytes }
    const refusal = findRefusal(entry, waiting, this.#bounds)
    if (refusal) return Promise.reject(refusal)
    this.#waitingEntries++
    this.#waitingBytes += entry.body.byteLength
    const answer = Promise.withResolvers<AppendOutcome>()
    this.#gathered.push(entry)
    this.#gatheredAnswers.push(answer)
    this.#gatheredBytes += entry.body.byteLength
    this.#handOverSoon()
    return answer.promise
  }

  oldestWaitingReceivedAt(): number | undefined {
    return this.#committing.values().next().value?.receivedAt ?? this.#gathered[0]?.receivedAt
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

  /** Hands over at once, or at the end of this turn; while the thread has enough to do, not before it has answered. */
  #handOverSoon(): void {
    if (this.#committing.size >= GROUPS_AHEAD_MAX) return
    if (this.#gatheredBytes >= GROUP_BYTES_ENOUGH) this.#handOver()
    else if (!this.#isHandingOver) {
      this.#isHandingOver = true
      setImmediate(() => this.#endTurn())
    }
  }

  /** Everything may have been handed over in the meantime. */
  #endTurn(): void {
    this.#isHandingOver = false
    if (this.#gathered.length > 0 && this.#committing.size < GROUPS_AHEAD_MAX) this.#handOver()
  }

  #handOver(): void {
    const id = ++this.#lastId
    const group = toGroup(this.#gathered, this.#spareBuffers)
    this.#committing.set(id, {
      answers: this.#gatheredAnswers,
      events: this.#gathered.map(({ events }) => events),
      bytes: group.bodyEnds.at(-1) ?? 0,
      receivedAt: this.#gathered[0]?.receivedAt,
    })
    this.#gathered = []
    this.#gatheredAnswers = []
    this.#gatheredBytes = 0
    this.#thread.postMessage({ type: 'append', id, group } satisfies LogMessage, [group.bodies.buffer as ArrayBuffer])
  }

  #ask(toMessage: (id: number) => LogMessage): Promise<boolean> {
    const id = ++this.#lastId
    const answer = Promise.withResolvers<boolean>()
    this.#asked.set(id, answer)
    this.#post(toMessage(id))
    return answer.promise
  }

  #post(message: LogMessage): void {
    this.#thread.postMessage(message)
  }

  #receive(answer: LogAnswer): void {
    switch (answer.type) {
      case 'appended':
        this.#receiveCommit(answer)
        break
      case 'failed':
        for (const id of answer.ids) this.#fail(id, answer.reason)
        break
      case 'done':
        this.#take(this.#asked, answer.id)?.resolve(answer.hasMore)
        break
    }
    if (this.#gathered.length > 0) this.#handOverSoon()
    if (this.#waitingEntries === 0) this.#onIdle?.()
  }

  #receiveCommit({ ids, special, commit, buffers }: Extract<LogAnswer, { type: 'appended' }>): void {
    this.#spareBuffers.push(...buffers.filter((buffer) => buffer.byteLength <= SPARE_BYTES_MAX))
    let events = 0
    for (const [place, id] of ids.entries()) {
      const outcomes = special[place]
      const group = this.#takeGroup(id)
      group?.answers.forEach((answer, index) => {
        const outcome = outcomes?.get(index)
        if (!outcome) events += group.events[index] ?? 0
        answer.resolve(outcome ?? APPENDED)
      })
    }
    this.#onCommit({ ...commit, events })
  }

  #fail(id: number, reason: string): void {
    const error = unavailable(`The log cannot be written: ${reason}. Retry after 1 second.`)
    this.#take(this.#asked, id)?.reject(error)
    for (const answer of this.#takeGroup(id)?.answers ?? []) answer.reject(error)
  }

  #takeGroup(id: number): WaitingGroup | undefined {
    const group = this.#take(this.#committing, id)
    this.#waitingEntries -= group?.answers.length ?? 0
    this.#waitingBytes -= group?.bytes ?? 0
    return group
  }

  #take<Value>(from: Map<number, Value>, id: number): Value | undefined {
    const value = from.get(id)
    from.delete(id)
    return value
  }
}

function toGroup(entries: readonly NewEntry[], spareBuffers: ArrayBuffer[]): EntryGroup {
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

/** The next spare buffer if it is large enough, else a new one, its size rounded up to a power of two. */
function takeBuffer(spareBuffers: ArrayBuffer[], bytes: number): ArrayBuffer {
  const spare = spareBuffers.pop()
  return spare && spare.byteLength >= bytes ? spare : new ArrayBuffer(2 ** Math.ceil(Math.log2(Math.max(1024, bytes))))
}
