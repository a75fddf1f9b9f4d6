// The last step of every operation that appends to the log: appends the request, and answers once it is durable. Must not read or
// write tables.
import { createHash } from 'node:crypto'
import { keyConflict } from '../actions/answer-once.ts'
import { NO_WARNINGS, toShownWarnings, type Fault, type Warning } from '../core/app-error.ts'
import { OPERATION_OF_KIND, type AppendOutcome, type EntryContext, type EntryKind } from '../log/event-log.ts'
import type { OperationRequest, Parts } from './operation.ts'
import { withWarnings } from './warnings.ts'

const ACCEPTED_MESSAGE = 'Your request has been accepted and will be processed soon.'

export interface Accepted {
  readonly status: 'success'
  readonly message: string
  readonly request_id: string
  readonly warnings?: readonly Fault[]
}

/** What a request adds to the log. `body` only if it differs from the body that was sent. */
export interface Acceptance {
  readonly kind: EntryKind
  readonly context: EntryContext
  /** How many events the request holds. */
  readonly events: number
  readonly body?: Uint8Array
  /** Entries with the same key are applied in order; see `NewEntry.partitionKey`. */
  readonly partitionKey: string
  /** What the response warns of, and the receipt. */
  readonly warnings?: readonly Warning[]
}

/**
 * Appends the request and answers once it is on disk. A repeat with the same Idempotency-Key gets the answer of the first request.
 * Throws AppError: `conflict` if the key belongs to another request, `unavailable` if the log is full.
 */
export function accept(
  request: OperationRequest<object, object, unknown>,
  parts: Parts,
  { kind, context, events, body = request.bodyBytes, partitionKey, warnings = NO_WARNINGS }: Acceptance,
): Promise<Accepted> {
  const key = request.idempotencyKey
  const appended = parts.log.append({
    kind,
    workspaceId: request.workspace.id,
    requestId: request.requestId,
    // The request is complete only now. The log orders its entries by this time.
    receivedAt: parts.receiptClock(),
    context: warnings.length > 0 ? { ...context, warnings: toShownWarnings(warnings) } : context,
    events,
    partitionKey,
    body,
    ...(key !== undefined && { idempotency: { key, hash: hashRequest(kind, context, body) } }),
  })
  const { requestId, answerAs } = request
  return answer(appended, { requestId, answerAs, parts, kind, warnings })
}

/** Takes only parts of the request, so that its body can be freed while the entry waits for the disk. */
async function answer(appended: Promise<AppendOutcome>, origin: Origin): Promise<Accepted> {
  const outcome = await appended
  switch (outcome.outcome) {
    case 'appended':
      return accepted(origin.requestId, origin)
    case 'repeated':
      origin.answerAs(outcome.requestId)
      return accepted(outcome.requestId, origin)
    case 'key_conflict':
      throw keyConflict()
  }
}

/** The parts of a request that its answer needs. */
interface Origin extends Pick<OperationRequest<object, object, unknown>, 'requestId' | 'answerAs'> {
  readonly parts: Parts
  readonly kind: EntryKind
  readonly warnings: readonly Warning[]
}

function accepted(requestId: string, { parts, kind, warnings }: Origin): Accepted {
  const answered: Accepted = { status: 'success', message: ACCEPTED_MESSAGE, request_id: requestId }
  if (warnings.length === 0) return answered
  return { ...answered, ...withWarnings(parts, OPERATION_OF_KIND[kind], warnings) }
}

/**
 * Tells repeats from other requests with the same key: those with another operation, campaign, project or body. The hash is stored
 * for a day, so it covers only what may be stored. If it covered an email address, anyone who sees the hash could guess addresses.
 * A sealed address is represented by its keyed hash.
 */
function hashRequest(kind: EntryKind, { campaign, projectCode, sealedEmail }: EntryContext, body: Uint8Array): string {
  const target = JSON.stringify([kind, campaign, projectCode, sealedEmail?.key])
  return createHash('sha256').update(target).update('\n').update(body).digest('base64')
}
