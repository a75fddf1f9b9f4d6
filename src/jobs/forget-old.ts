// Deletes old log entries, idempotency keys, receipts and what broken uploads left, in bounded steps with other writers between them.
import { APPLIED_ENTRIES_KEPT_MS, IDEMPOTENCY_KEPT_MS, type LogReader, type LogWriter } from '../log/event-log.ts'
import { cleanAbandonedUploads } from '../actions/clean-coupon-uploads.ts'
import { findCursor, listPipelineCursors, moveCursor } from '../store/entries/cursors.ts'
import { forgetReceipts, RECEIPTS_KEPT_MS } from '../store/entries/request-receipts.ts'
import type { Database } from '../store/store.ts'
import type { Job } from './job.ts'

const FORGET_EVERY_MS = 60_000
/** The cursor that says up to where entries may be trimmed. */
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

/** Deletes all that may be deleted now; ends between two steps when the server stops. */
async function deleteOld({ database, log, logReader, clock }: ForgetOptions, isStopping: () => boolean): Promise<void> {
  const last = await logReader.lastPosition()
  const unapplied = await logReader.firstAfter(await listPipelineCursors(database, logReader.partitions))
  const throughPosition = unapplied ? unapplied.position - 1 : last
  await makeDurable(database, throughPosition)
  const ownNow = clock()
  // A process whose clock is ahead must not take from others what they still need: a shared log has a clock of its own.
  const now = await logReader.lowWatermark(ownNow)
  const limits = {
    throughPosition,
    entriesReceivedBefore: now - APPLIED_ENTRIES_KEPT_MS,
    keysReceivedBefore: now - IDEMPOTENCY_KEPT_MS,
  }
  while (!isStopping() && (await log.trim(limits)));
  // A request that is not applied yet may have a second copy, which is recognised by the receipt of the first.
  const secondCopiesSince = (unapplied?.receivedAt ?? now) - IDEMPOTENCY_KEPT_MS
  const receiptsBefore = Math.min(now - RECEIPTS_KEPT_MS, secondCopiesSince)
  while (!isStopping() && (await database.write((store) => forgetReceipts(store, receiptsBefore))));
  await cleanAbandonedUploads(database, ownNow, isStopping)
}

/**
 * The embedded pipeline does not wait for the disk: what a loss of power takes from it is applied again from the log, as long as
 * the log holds it. This commit is on disk when it returns, and so is every commit before it: everything up to `position` stays
 * applied. A checkpoint could not be relied on, because it leaves out what was written after the beginning of a backup that still
 * runs.
 */
async function makeDurable(database: Database, position: number): Promise<void> {
  await database.write(async (store) => {
    const known = await findCursor(store, TRIM_CURSOR)
    if (known !== position) await moveCursor(store, TRIM_CURSOR, known, position)
  })
}
