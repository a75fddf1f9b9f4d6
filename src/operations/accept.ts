// The last step of every operation that appends to the log: appends the request, and answers once it is durable. Must not read or
// write tables.
import { createHash } from 'node:crypto'
import { keyConflict } from '../actions/answer-once.ts'
import type { AppendOutcome, EntryContext, EntryKind } from '../log/event-log.ts'
import type { OperationRequest, Parts } from './operation.ts'

const ACCEPTED_MESSAGE = 'Your request has been accepted and will be processed soon.'

export interface Accepted {
  readonly status: 'success'
  readonly message: string
  readonly request_id: string
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
}

/**
 * Appends the request and answers once it is on disk. A repeat with the same Idempotency-Key gets the answer of the first request.
 * Throws AppError: `conflict` if the key belongs to another request, `unavailable` if the log is full.
 */
export function accept(
  request: OperationRequest<object, object, unknown>,
  parts: Parts,
  { kind, context, events, body = request.bodyBytes, partitionKey }: Acceptance,
): Promise<Accepted> {
  const key = request.idempotencyKey
  const appended = parts.log.append({
    kind,
    workspaceId: request.workspace.id,
    requestId: request.requestId,
    // The request is complete only now. The log orders its entries by this time.
    receivedAt: parts.receiptClock(),
    context,
    events,
    partitionKey,
    body,
    ...(key !== undefined && { idempotency: { key, hash: hashRequest(kind, context, body) } }),
  })
  return answer(appended, request.requestId, request.answerAs)
}

/** Takes only parts of the request, so that its body can be freed while the entry waits for the disk. */
async function answer(
  appended: Promise<AppendOutcome>,
  requestId: string,
  answerAs: (requestId: string) => void,
): Promise<Accepted> {
  const outcome = await appended
  switch (outcome.outcome) {
    case 'appended':
      return accepted(requestId)
    case 'repeated':
      answerAs(outcome.requestId)
      return accepted(outcome.requestId)
    case 'key_conflict':
      throw keyConflict()
  }
}

function accepted(requestId: string): Accepted {
  return { status: 'success', message: ACCEPTED_MESSAGE, request_id: requestId }
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
