// While the server runs, forgets old log entries, keys of requests, receipts and what broken uploads left, in bounded steps with
// turns for others between them.
import type { FastifyBaseLogger } from 'fastify'
import { APPLIED_ENTRIES_KEPT_MS, IDEMPOTENCY_KEPT_MS } from '../log/event-log.ts'
import type { Parts } from '../operations/operation.ts'
import { startRepeating } from '../runtime/repeat.ts'
import { cleanAbandonedUploads } from '../actions/clean-coupon-uploads.ts'
import { findCursor, listPipelineCursors, moveCursor } from '../store/entries/cursors.ts'
import { describeError } from '../store/describe-error.ts'
import { forgetReceipts, RECEIPTS_KEPT_MS } from '../store/entries/request-receipts.ts'
import type { Database } from '../store/store.ts'

/** How often it looks for what may be forgotten. */
const FORGET_EVERY_MS = 60_000
/** The cursor that says up to where entries may be trimmed. */
const TRIM_CURSOR = 'trim'

/** Starts forgetting; the returned function stops it, and resolves when the step in hand is done. */
export function startForgetting(parts: Parts, diagnostics: FastifyBaseLogger): () => Promise<void> {
  return startRepeating((isStopping) => forgetOld(parts, isStopping), {
    everyMs: FORGET_EVERY_MS,
    onFailed: (error) => {
      diagnostics.error({ err: describeError(error) }, 'cannot delete old entries; retrying later')
    },
  })
}

/** Forgets all that may be forgotten now; stops between two steps when it is told to. */
export async function forgetOld(
  { database, log, logReader, clock }: Pick<Parts, 'database' | 'log' | 'logReader' | 'clock'>,
  isStopping: () => boolean,
): Promise<void> {
  const last = await logReader.lastPosition()
  const unapplied = await logReader.firstAfter(await listPipelineCursors(database, logReader.partitions))
  const throughPosition = unapplied ? unapplied.position - 1 : last
  await bringToDisk(database, throughPosition)
  const ownNow = clock()
  // A process whose clock is ahead must not take from others what they still need: a shared log has a clock of its own.
  const now = await logReader.settledUntil(ownNow)
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
async function bringToDisk(database: Database, position: number): Promise<void> {
  await database.write(async (store) => {
    const known = await findCursor(store, TRIM_CURSOR)
    if (known !== position) await moveCursor(store, TRIM_CURSOR, known, position)
  })
}
