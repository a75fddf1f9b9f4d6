// Deletes old log entries, idempotency keys, receipts, imports, hits of messages, ended sessions and expired links, and rolls back
// abandoned uploads, in small transactions between which other writers get their turn.
import {
  APPLIED_ENTRIES_KEPT_MS,
  CLOCK_AHEAD_MS,
  IDEMPOTENCY_KEPT_MS,
  type LogReader,
  type LogWriter,
} from '../log/event-log.ts'
import { DAY_MS } from '../core/time-zone.ts'
import { cleanAbandonedUploads } from '../actions/clean-coupon-uploads.ts'
import { forgetAccessLinks } from '../store/accounts/access-links.ts'
import { forgetSessions } from '../store/accounts/sessions.ts'
import { findCursor, listPipelineCursors, moveCursor } from '../store/entries/cursors.ts'
import { forgetAnsweredKeys } from '../store/entries/answered-keys.ts'
import { forgetReceipts, RECEIPTS_KEPT_MS } from '../store/entries/request-receipts.ts'
import { forgetHits } from '../store/delivery/message-hits.ts'
import type { Database } from '../store/store.ts'
import { forgetImports, IMPORTS_KEPT_MS } from '../store/users/imports.ts'
import type { Job } from './job.ts'

const FORGET_EVERY_MS = 60_000
/** How long hits of messages are kept, with addresses and user agents, once their facts are stored. */
const HITS_KEPT_MS = 30 * DAY_MS
/** The cursor of the position up to which entries may be trimmed. */
const TRIM_CURSOR = 'trim'

export interface ForgetOptions {
  readonly database: Database
  readonly log: LogWriter
  readonly logReader: LogReader
  /** Milliseconds since the epoch. */
  readonly clock: () => number
}

export function forgetOld(options: ForgetOptions): Job {
  return {
    name: 'delete old entries',
    everyMs: FORGET_EVERY_MS,
    run: (isStopping) => deleteOld(options, isStopping),
  }
}

/** Deletes everything that may be deleted now; ends between two transactions when the server stops. */
async function deleteOld({ database, log, logReader, clock }: ForgetOptions, isStopping: () => boolean): Promise<void> {
  const last = await logReader.lastPosition()
  const unapplied = await logReader.firstAfter(await listPipelineCursors(database, logReader.partitions))
  const throughPosition = unapplied ? unapplied.position - 1 : last
  await makeDurable(database, throughPosition)
  const ownNow = clock()
  // A process whose clock is ahead must not delete what others still need, so a shared log uses a clock of its own.
  const now = await logReader.lowWatermark(ownNow)
  const limits = {
    throughPosition,
    entriesReceivedBefore: now - APPLIED_ENTRIES_KEPT_MS,
    entriesReceivedAfter: now + CLOCK_AHEAD_MS,
    keysReceivedBefore: now - IDEMPOTENCY_KEPT_MS,
  }
  while (!isStopping() && (await log.trim(limits)));
  const { keysReceivedBefore } = limits
  while (!isStopping() && (await database.write((store) => forgetAnsweredKeys(store, keysReceivedBefore))));
  // The log may hold a request twice. The second copy is recognised by the receipt of the first, so unapplied entries keep
  // receipts.
  const secondCopiesSince = (unapplied?.receivedAt ?? now) - IDEMPOTENCY_KEPT_MS
  const receiptsBefore = Math.min(now - RECEIPTS_KEPT_MS, secondCopiesSince)
  while (!isStopping() && (await database.write((store) => forgetReceipts(store, receiptsBefore))));
  const importsBefore = now - IMPORTS_KEPT_MS
  while (!isStopping() && (await database.write((store) => forgetImports(store, importsBefore))));
  const hitsBefore = now - HITS_KEPT_MS
  while (!isStopping() && (await database.write((store) => forgetHits(store, hitsBefore))));
  while (!isStopping() && (await database.write((store) => forgetSessions(store, now))));
  await database.write((store) => forgetAccessLinks(store, now))
  await cleanAbandonedUploads(database, ownNow, isStopping)
}

/**
 * Makes sure that everything up to `position` stays applied after a power failure. The commits of the embedded pipeline do not wait
 * for the disk, because the log can repeat them. This commit does, and is on disk together with all commits before it. A checkpoint
 * would not be enough: it skips pages that were written after a running backup began.
 */
async function makeDurable(database: Database, position: number): Promise<void> {
  await database.write(async (store) => {
    const before = await findCursor(store, TRIM_CURSOR)
    if (before !== position) await moveCursor(store, TRIM_CURSOR, before, position)
  })
}
