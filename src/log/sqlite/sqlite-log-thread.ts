// The thread that writes the embedded log. It commits all appends that wait in one transaction, and replies when they are on disk.
// `sqlite-log.ts` starts it.
import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import type SqliteFile from 'better-sqlite3'
import { messageOf } from '../../core/thrown.ts'
import type { AppendOutcome, TrimLimits } from '../event-log.ts'
import { giveSpaceBack } from './free-space.ts'
import type { EntryColumns } from './record-batch.ts'
import { prepareLastPosition, prepareTrim, RecordBatchWriter, saveLastPosition } from './record-batches.ts'
import { openLogForWriting } from './sqlite-log-file.ts'
import { SqliteLogKeys } from './sqlite-log-keys.ts'

/** Entries on their way to this thread: all bodies in one buffer, the rest as parallel columns. */
export interface AppendBatch extends EntryColumns {
  /** The offset at which each body ends in `bodies`. */
  readonly bodyEnds: readonly number[]
  readonly bodies: Uint8Array
  /** By index of the entry, for those that have a key. */
  readonly idempotency: ReadonlyMap<number, { readonly key: string; readonly hash: string }>
}

export type LogMessage =
  | { readonly type: 'append'; readonly id: number; readonly batch: AppendBatch }
  | { readonly type: 'trim'; readonly id: number; readonly limits: TrimLimits }
  | { readonly type: 'check'; readonly id: number }
  | { readonly type: 'close' }

/** `exceptions` holds the outcomes other than `appended`, by index in the batch. */
export type LogReply =
  | {
      readonly type: 'appended'
      readonly ids: readonly number[]
      readonly exceptions: readonly ReadonlyMap<number, AppendOutcome>[]
      /** The buffers of the batches, returned for reuse. */
      readonly buffers: readonly ArrayBuffer[]
      readonly commit: { readonly entries: number; readonly durationMs: number }
    }
  | { readonly type: 'failed'; readonly ids: readonly number[]; readonly reason: string }
  | { readonly type: 'done'; readonly id: number; readonly hasMore: boolean }

/** The record batches that one trim deletes at most; each takes one page or a few. */
const BATCHES_TRIMMED_MAX = 1_000
/**
 * A check overwrites one row. Its bytes are random, because SQLite need not write a page that did not change. It writes more than
 * most requests, so that on a full disk it fails when they do: the write-ahead log keeps its size when it starts over, so a
 * single changed page would always fit. Backups leave this table out.
 */
const CHECK_BYTES = 32 * 1024
const CHECK = `
  create table if not exists checks (only integer primary key, filling blob not null);
  insert or replace into checks values (1, randomblob(${CHECK_BYTES}));
`

type AppendMessage = Extract<LogMessage, { type: 'append' }>

class LogFile {
  readonly #file: SqliteFile.Database
  readonly #batches: RecordBatchWriter
  readonly #keys: SqliteLogKeys
  readonly #lastPosition: SqliteFile.Statement<[], number>
  readonly #trimBatches: SqliteFile.Statement<[TrimLimits]>

  constructor(path: string) {
    this.#file = openLogForWriting(path)
    this.#batches = new RecordBatchWriter(this.#file)
    this.#keys = new SqliteLogKeys(this.#file)
    this.#lastPosition = prepareLastPosition(this.#file)
    this.#trimBatches = prepareTrim(this.#file, BATCHES_TRIMMED_MAX)
  }

  /** Writes batches in one durable transaction. Returns the outcomes other than `appended` of each. */
  append(batches: readonly AppendBatch[]): Map<number, AppendOutcome>[] {
    this.#file.exec('begin immediate')
    try {
      const exceptions = batches.map((batch) => this.#appendBatch(batch))
      this.#file.exec('commit')
      return exceptions
    } catch (error) {
      if (this.#file.inTransaction) this.#file.exec('rollback')
      throw error
    }
  }

  trim(limits: TrimLimits): boolean {
    const batches = this.#file.transaction(() => this.#trimEntries(limits)).immediate()
    const hasMoreKeys = this.#keys.trim(limits.keysReceivedBefore)
    return batches >= BATCHES_TRIMMED_MAX || hasMoreKeys || giveSpaceBack(this.#file)
  }

  /**
   * Returns the number of deleted batches. Saves the last position in the same transaction: only the last batch shows it otherwise,
   * and the log would assign positions twice.
   */
  #trimEntries(limits: TrimLimits): number {
    const last = this.#lastPosition.get() as number
    const { changes } = this.#trimBatches.run(limits)
    if (changes > 0) saveLastPosition(this.#file, last)
    return changes
  }

  /** Commits a change, because a transaction without one succeeds on a full disk. Throws when the disk refuses it. */
  check(): void {
    this.#file.exec(CHECK)
  }

  close(): void {
    this.#file.close()
  }

  #appendBatch(batch: AppendBatch): Map<number, AppendOutcome> {
    const exceptions = new Map<number, AppendOutcome>()
    const indexes: number[] = []
    for (let index = 0; index < batch.bodyEnds.length; index++) {
      const outcome = this.#claimKey(batch, index)
      if (outcome) exceptions.set(index, outcome)
      else indexes.push(index)
    }
    const bodyOf = (index: number) => batch.bodies.subarray(batch.bodyEnds[index - 1] ?? 0, batch.bodyEnds[index])
    this.#batches.append({ columns: batch, indexes, bodyOf })
    return exceptions
  }

  /** Undefined if the entry is to be appended: it has no key, or is the first with it in 24 hours. */
  #claimKey(batch: AppendBatch, index: number): AppendOutcome | undefined {
    const idempotency = batch.idempotency.get(index)
    if (!idempotency) return undefined
    return this.#keys.claim({
      workspace_id: batch.workspaceIds[index] as string,
      key: idempotency.key,
      hash: idempotency.hash,
      request_id: batch.requestIds[index] as string,
      received_at: batch.receivedAts[index] as number,
    })
  }
}

class LogThread {
  readonly #port: MessagePort
  readonly #file: LogFile

  constructor(port: MessagePort, path: string) {
    this.#port = port
    this.#file = new LogFile(path)
  }

  start(): void {
    this.#port.on('message', (message: LogMessage) => this.#receive(message))
  }

  /** Commits all appends that are queued behind this message together, then handles the message that follows them. */
  #receive(first: LogMessage): void {
    const appends: AppendMessage[] = []
    let next: LogMessage | undefined = first
    while (next?.type === 'append') {
      appends.push(next)
      next = receiveMessageOnPort(this.#port)?.message as LogMessage | undefined
    }
    if (appends.length > 0) this.#append(appends)
    if (next) this.#handle(next)
  }

  #append(appends: readonly AppendMessage[]): void {
    const ids = appends.map(({ id }) => id)
    const startedAt = performance.now()
    try {
      const exceptions = this.#file.append(appends.map(({ batch }) => batch))
      const entries = appends.reduce((sum, { batch }) => sum + batch.bodyEnds.length, 0)
      const buffers = appends.map(({ batch }) => batch.bodies.buffer as ArrayBuffer)
      const commit = { entries, durationMs: performance.now() - startedAt }
      this.#port.postMessage({ type: 'appended', ids, exceptions, buffers, commit } satisfies LogReply, buffers)
    } catch (error) {
      this.#reply({ type: 'failed', ids, reason: messageOf(error) })
    }
  }

  #handle(message: Exclude<LogMessage, AppendMessage>): void {
    if (message.type === 'close') {
      this.#file.close()
      this.#port.close()
      return
    }
    try {
      const hasMore = message.type === 'trim' ? this.#file.trim(message.limits) : false
      if (message.type === 'check') this.#file.check()
      this.#reply({ type: 'done', id: message.id, hasMore })
    } catch (error) {
      this.#reply({ type: 'failed', ids: [message.id], reason: messageOf(error) })
    }
  }

  #reply(reply: LogReply): void {
    this.#port.postMessage(reply)
  }
}

if (!parentPort) throw new Error('sqlite-log-thread.ts is started as a thread')
new LogThread(parentPort, (workerData as { path: string }).path).start()
