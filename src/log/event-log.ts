// The seam to the durable log: what is appended before a request is acknowledged, and read by the pipeline afterwards.
// One contract suite runs over every log (`test/log/log-contract.ts`).

/**
 * Which kind of request an entry holds. An entry is one accepted request, taken apart only in the pipeline. Clients cannot
 * send events under the reserved `svc_` names.
 */
export type EntryKind = 'track_events' | 'track_user' | 'svc_audience' | 'svc_message_events'

/** What came with a request besides its body; kept with the entry, as JSON. */
export interface EntryContext {
  /** The user's IP address, from X-Forwarded-For. */
  readonly ip?: string
  readonly projectCode?: string
  /** The number of the campaign that a report is about. */
  readonly campaign?: number
  /** The email address of the body's user, sealed; the body itself then holds none. */
  readonly sealedEmail?: { readonly sealed: string; readonly key: string }
}

export interface NewEntry {
  readonly kind: EntryKind
  readonly workspaceId: string
  readonly requestId: string
  /** Milliseconds since the epoch. */
  readonly receivedAt: number
  readonly context: EntryContext
  /** The request's own JSON, already validated. */
  readonly body: Uint8Array
  /** How many events the body holds, for the metrics; not kept. */
  readonly events: number
  /** Entries with the same key, such as those of one user, go to the same partition. Not kept. */
  readonly partitionKey: string
  /** The client's key for retries, and a hash of what makes the request the same. */
  readonly idempotency?: { readonly key: string; readonly hash: string }
}

/** A log that many processes write to stamps `receivedAt` by one clock, so that it grows with the position. */
export interface LogEntry extends Omit<NewEntry, 'idempotency' | 'events' | 'partitionKey'> {
  /** Grows with every entry, over all partitions; never used twice. */
  readonly position: number
  /** Set when several partitions are read; where it is missing, the partition is 0. */
  readonly partition?: number
}

/** An entry's place and time, without what it holds. */
export type EntryPosition = Pick<LogEntry, 'position' | 'receivedAt'>

/**
 * `appended`: the entry is on disk. `repeated`: the request had come before, and is applied once, under its first request id.
 * `key_conflict`: the key was used for another request.
 */
export type AppendOutcome =
  | { readonly outcome: 'appended' }
  | { readonly outcome: 'repeated'; readonly requestId: string }
  | { readonly outcome: 'key_conflict' }

/** Keys of accepted requests are remembered this long ("Retries"). */
export const IDEMPOTENCY_KEPT_MS = 24 * 60 * 60 * 1000
/** Entries stay this long after they have been applied, for an operator to look at. */
export const APPLIED_ENTRIES_KEPT_MS = 60 * 60 * 1000
/** How much may wait for its commit; past either bound requests are answered 503. */
export interface WaitingBounds {
  readonly entries: number
  readonly bytes: number
}

export const APPENDS_WAITING_MAX: WaitingBounds = { entries: 20_000, bytes: 64 * 1024 * 1024 }

/** One durable step of the log, for the metrics. */
export interface LogCommit {
  readonly entries: number
  /** Without those of repeated requests. */
  readonly events: number
  readonly durationMs: number
}

/** The side that requests write to. */
export interface LogWriter {
  /**
   * Resolves when the entry is on disk, committed together with all others that wait. Rejects with AppError `unavailable`: at
   * once when too much is waiting, and when the disk refuses; nothing of the entry is then kept. Only when the answer of
   * another machine is lost may the entry be kept although this rejects; a repeat with the same key is then applied once.
   */
  append(entry: NewEntry): Promise<AppendOutcome>
  /** When the oldest entry that still waits for its commit was received; undefined when none waits. */
  oldestWaitingReceivedAt(): number | undefined
  /**
   * Deletes a bounded number of applied entries and expired keys; true when there may be more. Entries that were written together
   * may share a row, and then go when the last of them may.
   */
  trim(limits: TrimLimits): Promise<boolean>
  /** Proves that the log can be written; rejects with the reason. */
  check(): Promise<void>
  /** Waits for what has been appended, then closes. */
  close(): Promise<void>
}

export interface TrimLimits {
  /** Entries up to here have been applied. */
  readonly throughPosition: number
  readonly entriesReceivedBefore: number
  readonly keysReceivedBefore: number
}

/**
 * The side that the pipeline, and whoever looks something up in the log, reads from. A log that several pipelines follow is
 * cut into partitions, numbered from 0, each of which is followed on its own; the embedded log is a single partition.
 */
export interface LogReader {
  readonly partitions: number
  /** Whether the log may hold an entry twice, with the same request id and in the same partition. */
  readonly mayRepeat?: boolean
  /**
   * The entries of a partition (partition 0 if none is named) after a position, in order: as many as fit both bounds, but at
   * least one if there is any. An entry that is not there yet will have a greater position than all that were ever read.
   */
  read(
    after: number,
    bounds: { readonly entries: number; readonly bytes: number },
    partition?: number,
  ): Promise<LogEntry[]>
  /** The first of all entries past the cursors, which are in the order of the partitions; undefined when there is none. */
  firstAfter(cursors: readonly number[]): Promise<EntryPosition | undefined>
  /**
   * An instant, `now` at the latest, before which no further entry can be stamped, except for those that wait in the memory
   * of a writer of the embedded log.
   */
  lowWatermark(now: number): Promise<number>
  /** The last position handed out; 0 in an empty log. */
  lastPosition(): Promise<number>
  /** An entry by its request's id, a UUID of version 7. A log without an index of ids looks no farther back than `from`. */
  findByRequestId(requestId: string, from?: EntryPosition): Promise<LogEntry | undefined>
  close(): Promise<void>
}
