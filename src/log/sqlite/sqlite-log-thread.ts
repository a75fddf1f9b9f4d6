// The thread that writes the embedded log: takes every request that waits, writes all of them in one transaction, and
// answers when that is on disk. Started by `sqlite-log.ts`.
import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import type SqliteFile from 'better-sqlite3'
import { messageOf } from '../../core/thrown.ts'
import { IDEMPOTENCY_KEPT_MS, type AppendOutcome, type TrimLimits } from '../event-log.ts'
import { GroupWriter, keepEnd, prepareEnd, type EntryColumns } from './entry-groups.ts'
import { openLogForWriting } from './sqlite-log-file.ts'

/** Entries as they cross to this thread: the bodies in one buffer, the rest as columns side by side. */
export interface EntryGroup extends EntryColumns {
  /** Where each body ends in `bodies`. */
  readonly bodyEnds: readonly number[]
  readonly bodies: Uint8Array
  /** Sparse: index of the entry → its key. */
  readonly idempotency: ReadonlyMap<number, { readonly key: string; readonly hash: string }>
}

export type LogMessage =
  | { readonly type: 'append'; readonly id: number; readonly group: EntryGroup }
  | { readonly type: 'trim'; readonly id: number; readonly limits: TrimLimits }
  | { readonly type: 'check'; readonly id: number }
  | { readonly type: 'close' }

/** `special` holds the outcomes that are not `appended`, by index in the group. */
export type LogAnswer =
  | {
      readonly type: 'appended'
      readonly ids: readonly number[]
      readonly special: readonly ReadonlyMap<number, AppendOutcome>[]
      /** The buffers of the groups, given back. */
      readonly buffers: readonly ArrayBuffer[]
      readonly commit: { readonly entries: number; readonly durationMs: number }
    }
  | { readonly type: 'failed'; readonly ids: readonly number[]; readonly reason: string }
  | { readonly type: 'done'; readonly id: number; readonly hasMore: boolean }

/** How much one step deletes: groups of entries, each of a page or a few, and idempotency keys. */
const GROUPS_TRIMMED_MAX = 1_000
const KEYS_TRIMMED_MAX = 2_000
/**
 * Something to write that is not an entry, in place of what was written the time before; other bytes each time, because SQLite
 * need not write a page that stays as it is. More than most requests need, so that on a full disk it finds no room where they
 * find none: the write-ahead log keeps its size when it begins anew, and the change of a single page would fit into it for
 * ever. Its table goes into no backup.
 */
const CHECKED_BYTES = 32 * 1024
const CHECK = `
  create table if not exists checks (only integer primary key, filling blob not null);
  insert or replace into checks values (1, randomblob(${CHECKED_BYTES}));
`

type AppendMessage = Extract<LogMessage, { type: 'append' }>

class LogFile {
  readonly #file: SqliteFile.Database
  readonly #groups: GroupWriter
  readonly #findKey: SqliteFile.Statement<[string, string], { hash: string; request_id: string; received_at: number }>
  readonly #saveKey: SqliteFile.Statement
  readonly #end: SqliteFile.Statement<[], number>
  readonly #trimGroups: SqliteFile.Statement<[TrimLimits]>
  readonly #trimKeys: SqliteFile.Statement

  constructor(path: string) {
    this.#file = openLogForWriting(path)
    this.#groups = new GroupWriter(this.#file)
    this.#end = prepareEnd(this.#file)
    this.#findKey = this.#file.prepare(
      'select hash, request_id, received_at from idempotency_keys where workspace_id = ? and key = ?',
    )
    this.#saveKey = this.#file.prepare('insert or replace into idempotency_keys values (?, ?, ?, ?, ?)')
    // Only the first groups are looked at: all acknowledgements wait while there may be millions behind them that stay.
    this.#trimGroups = this.#file.prepare(
      `delete from entry_groups where received_at < @entriesReceivedBefore and last_position in (
         select last_position from entry_groups where last_position <= @throughPosition
         order by last_position limit ${GROUPS_TRIMMED_MAX})`,
    )
    this.#trimKeys = this.#file.prepare(
      `delete from idempotency_keys where (workspace_id, key) in (
         select workspace_id, key from idempotency_keys where received_at < ? limit ${KEYS_TRIMMED_MAX})`,
    )
  }

  /** Writes groups in one durable transaction; gives the outcomes that are not `appended`, per group. */
  append(groups: readonly EntryGroup[]): Map<number, AppendOutcome>[] {
    this.#file.exec('begin immediate')
    try {
      const special = groups.map((group) => this.#appendGroup(group))
      this.#file.exec('commit')
      return special
    } catch (error) {
      if (this.#file.inTransaction) this.#file.exec('rollback')
      throw error
    }
  }

  trim(limits: TrimLimits): boolean {
    const groups = this.#file.transaction(() => this.#trimEntries(limits)).immediate()
    const keys = this.#trimKeys.run(limits.keysReceivedBefore).changes
    return groups >= GROUPS_TRIMMED_MAX || keys >= KEYS_TRIMMED_MAX
  }

  /**
   * Gives how many groups were deleted. The end is noted with them, because otherwise only the last group tells it, and positions
   * would be handed out again.
   */
  #trimEntries(limits: TrimLimits): number {
    const end = this.#end.get() as number
    const { changes } = this.#trimGroups.run(limits)
    if (changes > 0) keepEnd(this.#file, end)
    return changes
  }

  /** Commits a real change, because just beginning a transaction succeeds on a full disk; throws when the disk refuses it. */
  check(): void {
    this.#file.exec(CHECK)
  }

  close(): void {
    this.#file.close()
  }

  #appendGroup(group: EntryGroup): Map<number, AppendOutcome> {
    const special = new Map<number, AppendOutcome>()
    const indexes: number[] = []
    for (let index = 0; index < group.bodyEnds.length; index++) {
      const outcome = this.#claimKey(group, index)
      if (outcome) special.set(index, outcome)
      else indexes.push(index)
    }
    const bodyOf = (index: number) => group.bodies.subarray(group.bodyEnds[index - 1] ?? 0, group.bodyEnds[index])
    this.#groups.append({ columns: group, indexes, bodyOf })
    return special
  }

  /** Undefined when the entry is to be appended: it has no key, or is the first with it in 24 hours. */
  #claimKey(group: EntryGroup, index: number): AppendOutcome | undefined {
    const idempotency = group.idempotency.get(index)
    if (!idempotency) return undefined
    const workspaceId = group.workspaceIds[index] as string
    const receivedAt = group.receivedAts[index] as number
    const known = this.#findKey.get(workspaceId, idempotency.key)
    if (known && known.received_at > receivedAt - IDEMPOTENCY_KEPT_MS) {
      const isSame = known.hash === idempotency.hash
      return isSame ? { outcome: 'repeated', requestId: known.request_id } : { outcome: 'key_conflict' }
    }
    this.#saveKey.run(workspaceId, idempotency.key, idempotency.hash, group.requestIds[index], receivedAt)
    return undefined
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

  /** Gathers all appends that wait behind this one into one commit, then does what came after them. */
  #receive(first: LogMessage): void {
    const appends: AppendMessage[] = []
    let next: LogMessage | undefined = first
    while (next?.type === 'append') {
      appends.push(next)
      next = receiveMessageOnPort(this.#port)?.message as LogMessage | undefined
    }
    if (appends.length > 0) this.#append(appends)
    if (next) this.#other(next)
  }

  #append(appends: readonly AppendMessage[]): void {
    const ids = appends.map(({ id }) => id)
    const startedAt = performance.now()
    try {
      const special = this.#file.append(appends.map(({ group }) => group))
      const entries = appends.reduce((sum, { group }) => sum + group.bodyEnds.length, 0)
      const buffers = appends.map(({ group }) => group.bodies.buffer as ArrayBuffer)
      const commit = { entries, durationMs: performance.now() - startedAt }
      this.#port.postMessage({ type: 'appended', ids, special, buffers, commit } satisfies LogAnswer, buffers)
    } catch (error) {
      this.#answer({ type: 'failed', ids, reason: messageOf(error) })
    }
  }

  #other(message: Exclude<LogMessage, AppendMessage>): void {
    if (message.type === 'close') {
      this.#file.close()
      this.#port.close()
      return
    }
    try {
      const hasMore = message.type === 'trim' ? this.#file.trim(message.limits) : false
      if (message.type === 'check') this.#file.check()
      this.#answer({ type: 'done', id: message.id, hasMore })
    } catch (error) {
      this.#answer({ type: 'failed', ids: [message.id], reason: messageOf(error) })
    }
  }

  #answer(answer: LogAnswer): void {
    this.#port.postMessage(answer)
  }
}

if (!parentPort) throw new Error('sqlite-log-thread.ts is started as a thread')
new LogThread(parentPort, (workerData as { path: string }).path).start()
