// Forgets old log entries, keys of requests, receipts and what broken uploads left while the server runs, in bounded steps
// between which others have their turn.
import type { FastifyBaseLogger } from 'fastify'
import { APPLIED_ENTRIES_KEPT_MS, IDEMPOTENCY_KEPT_MS } from './log/event-log.ts'
import type { Parts } from './operations/operation.ts'
import { startRepeating } from './repeat.ts'
import { cleanAbandonedUploads } from './store/clean-coupon-uploads.ts'
import { listPipelineCursors } from './store/cursors.ts'
import { describeError } from './store/describe-error.ts'
import { forgetReceipts, RECEIPTS_KEPT_MS } from './store/request-receipts.ts'

/** How often it looks for what may be forgotten. */
const FORGET_EVERY_MS = 60_000

/** Starts; the returned function stops, and resolves when the step in hand is done. */
export function startForgetting(parts: Parts, diagnostics: FastifyBaseLogger): () => Promise<void> {
  return startRepeating((isStopping) => forgetOld(parts, isStopping), {
    everyMs: FORGET_EVERY_MS,
    onFailed: (error) => {
      diagnostics.error({ err: describeError(error) }, 'old entries cannot be forgotten; trying again later')
    },
  })
}

/** All that may be forgotten now; stops between two steps when it is told to. */
export async function forgetOld(
  { database, log, logReader, clock }: Pick<Parts, 'database' | 'log' | 'logReader' | 'clock'>,
  isStopping: () => boolean,
): Promise<void> {
  const last = await logReader.lastPosition()
  const unapplied = await logReader.firstAfter(await listPipelineCursors(database, logReader.partitions))
  const throughPosition = unapplied ? unapplied.position - 1 : last
  const now = clock()
  const limits = {
    throughPosition,
    entriesReceivedBefore: now - APPLIED_ENTRIES_KEPT_MS,
    keysReceivedBefore: now - IDEMPOTENCY_KEPT_MS,
  }
  while (!isStopping() && (await log.trim(limits)));
  // Of a request that is not applied yet there may be a second copy, which is known by the receipt of the first.
  const secondCopiesSince = (unapplied?.receivedAt ?? now) - IDEMPOTENCY_KEPT_MS
  const receiptsBefore = Math.min(now - RECEIPTS_KEPT_MS, secondCopiesSince)
  while (!isStopping() && (await database.write((store) => forgetReceipts(store, receiptsBefore))));
  await cleanAbandonedUploads(database, now, isStopping)
}
