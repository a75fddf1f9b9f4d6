// The interface of the durable log. Requests append entries before they are acknowledged; the pipeline reads them afterwards. One
// contract suite runs over every log (`test/log/log-contract.ts`).
import type { Fault } from '../core/app-error.ts'
import { DAY_MS } from '../core/time-zone.ts'

/**
 * The kind of request in an entry. An entry is one accepted request; only the pipeline splits it into events. Clients cannot send
 * events under the reserved `svc_` names.
 */
export type EntryKind =
  | 'track_events'
  | 'track_user'
  | 'svc_audience'
  | 'svc_message_events'
  | 'svc_import'
  | 'svc_delivery'
  | 'svc_hits'
  | 'svc_opt_in'

/** The name of the operation that appends entries of a kind, as in metrics. */
export const OPERATION_OF_KIND: { readonly [kind in EntryKind]: string } = {
  track_events: 'track_events',
  track_user: 'track_user',
  svc_import: 'import_people',
  svc_audience: 'report_audience',
  svc_message_events: 'report_message_events',
  svc_delivery: 'delivery',
  svc_hits: 'links',
  svc_opt_in: 'links',
}

/** Data of a request outside its body; stored with the entry, as JSON. */
export interface EntryContext {
  /** The user's IP address, from X-Forwarded-For. */
  readonly ip?: string
  readonly projectCode?: string
  /** The import that a chunk of rows belongs to. */
  readonly importId?: string
  /** The number of the campaign that a report concerns. */
  readonly campaign?: number
  /** What the answer warned of, for the receipt. */
  readonly warnings?: readonly Fault[]
  /** The encrypted email address of the user; the body then has none. */
  readonly sealedEmail?: { readonly sealed: string; readonly key: string }
}

export interface NewEntry {
  readonly kind: EntryKind
  readonly workspaceId: string
  readonly requestId: string
  /** Milliseconds since the epoch. */
  readonly receivedAt: number
  readonly context: EntryContext
  /** The validated JSON of the request, as it was received. */
  readonly body: Uint8Array
  /** The number of events in the body, for metrics; not stored. */
  readonly events: number
  /** Entries with the same key, such as those of one user, go to the same partition. Not stored. */
  readonly partitionKey: string
  /** The client's key for retries, and the hash by which a retry is recognized. */
  readonly idempotency?: { readonly key: string; readonly hash: string }
}

/**
 * A shared log sets `receivedAt` from one clock. It grows with the position, except that it follows a clock that is set back by more
 * than a second.
 */
export interface LogEntry extends Omit<NewEntry, 'idempotency' | 'events' | 'partitionKey'> {
  /** Grows with every entry, across all partitions; never assigned twice. */
  readonly position: number
  /** Partition 0 if it is missing. */
  readonly partition?: number
}

/** Where and when an entry is in the log, without its content. */
export type EntryPosition = Pick<LogEntry, 'position' | 'receivedAt'>

/**
 * `appended`: the entry is on disk. `repeated`: the request was accepted before, and is applied once, under its first request id.
 * `key_conflict`: another request used the key.
 */
export type AppendOutcome =
  | { readonly outcome: 'appended' }
  | { readonly outcome: 'repeated'; readonly requestId: string }
  | { readonly outcome: 'key_conflict' }

/** How long a log stores idempotency keys ("Retries"). */
export const IDEMPOTENCY_KEPT_MS = DAY_MS
/** How long entries stay after the pipeline applied them, for operators to inspect. */
export const APPLIED_ENTRIES_KEPT_MS = 60 * 60 * 1000

/**
 * A time of receipt this far after the present comes from a clock that was ahead. The clocks of machines that share a log differ by
 * less.
 */
export const CLOCK_AHEAD_MS = 60 * 1000

/** How much may wait for its commit. Past either bound requests get 503. */
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

/** The side of the log that requests append to. */
export interface LogWriter {
  /**
   * Resolves when the entry is on disk. Entries that wait are committed together. Rejects with AppError `unavailable`, and stores
   * nothing, when too much is waiting or the disk refuses. Only when the response of another machine is lost may the log hold the
   * entry although this rejects; a retry with the same key is then applied once.
   */
  append(entry: NewEntry): Promise<AppendOutcome>
  /** When the oldest entry that waits for its commit was received; undefined if none waits. */
  oldestWaitingReceivedAt(): number | undefined
  /**
   * Deletes a bounded number of applied entries and expired keys, or gives some of their space back; true if there may be more. Entries that share a row are deleted
   * together, once all of them may be. Entries before an old one are old too, regardless of their times: a clock may have been
   * ahead when they were received. Keys dated after the present stay until then, so that retries are still recognised.
   */
  trim(limits: TrimLimits): Promise<boolean>
  /** Checks that the log can be written; rejects with the reason if not. */
  check(): Promise<void>
  /** Waits for the appended entries, then closes. */
  close(): Promise<void>
}

export interface TrimLimits {
  /** The pipeline has applied all entries up to here. */
  readonly throughPosition: number
  /** Entries received before it are old. */
  readonly entriesReceivedBefore: number
  /** Entries with a later time of receipt got it from a clock that was ahead, and count as old. */
  readonly entriesReceivedAfter: number
  readonly keysReceivedBefore: number
}

/**
 * The side of the log that the pipeline and look-ups read. A shared log has several partitions, numbered from 0, and each pipeline
 * follows some of them; the embedded log has one.
 */
export interface LogReader {
  readonly partitions: number
  /** Whether the log may contain an entry twice, with the same request id and in the same partition. */
  readonly mayRepeat?: boolean
  /**
   * The entries of a partition (by default 0) after a position, in order: as many as fit both bounds, but at least one if there is
   * any. Later entries get greater positions than all that were ever read.
   */
  read(
    after: number,
    bounds: { readonly entries: number; readonly bytes: number },
    partition?: number,
  ): Promise<LogEntry[]>
  /**
   * The first entry after the cursors, of which there is one per partition; undefined if there is none. If it is damaged, its
   * `receivedAt` is 0.
   */
  firstAfter(cursors: readonly number[]): Promise<EntryPosition | undefined>
  /**
   * An instant, at most `now`: no later entry has a `receivedAt` before it, except for those that wait in the memory of a writer of
   * the embedded log.
   */
  lowWatermark(now: number): Promise<number>
  /** The last assigned position; 0 in an empty log. */
  lastPosition(): Promise<number>
  /** The entry of a request id (a UUID of version 7). A log without an index of ids searches no farther back than `from`. */
  findByRequestId(requestId: string, from?: EntryPosition): Promise<LogEntry | undefined>
  close(): Promise<void>
}
