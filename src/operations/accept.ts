// The end of every operation that appends to the log: durable first, then the answer of Track Events.
import { createHash } from 'node:crypto'
import { AppError } from '../core/app-error.ts'
import type { AppendOutcome, EntryContext, EntryKind } from '../log/event-log.ts'
import type { OperationRequest, Parts } from './operation.ts'

const ACCEPTED_MESSAGE = 'Your request has been accepted and will be processed soon.'

export interface Accepted {
  readonly status: 'success'
  readonly message: string
  readonly request_id: string
}

/** The parts of a request that become the entry; `body` only where it differs from what was sent. */
export interface Acceptance {
  readonly kind: EntryKind
  readonly context: EntryContext
  /** How many events the request holds. */
  readonly events: number
  readonly body?: Uint8Array
  /** Whose entries are to be applied in order; see `NewEntry.partitionKey`. */
  readonly partitionKey: string
}

/**
 * Appends the request and answers once it is on disk. A repeat with the same Idempotency-Key is answered as the first
 * was. Throws `conflict` for the same key with another request, `unavailable` when the log takes no more.
 */
export function accept(
  request: OperationRequest<object, object, unknown>,
  parts: Parts,
  { kind, context, events, body = request.bodyBytes, partitionKey }: Acceptance,
): Promise<Accepted> {
  const key = request.header('idempotency-key')
  const appended = parts.log.append({
    kind,
    workspaceId: request.workspace.id,
    requestId: request.requestId,
    // All of it has been received only now; entries stand in the log in the order of this time.
    receivedAt: parts.receiptClock(),
    context,
    events,
    partitionKey,
    body,
    ...(key !== undefined && { idempotency: { key, hash: hashRequest(kind, context, body) } }),
  })
  return answer(appended, request.requestId, request.answerAs)
}

/** Holds as little as possible of the request, so that its body can be freed while the entry waits for the disk. */
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
    case 'key_conflict': {
      const details = [{ field: 'header.Idempotency-Key', problem: 'was already used for a different request' }]
      throw new AppError(
        'conflict',
        'The Idempotency-Key was already used for a different request. Send a new key.',
        details,
      )
    }
  }
}

function accepted(requestId: string): Accepted {
  return { status: 'success', message: ACCEPTED_MESSAGE, request_id: requestId }
}

/**
 * The same key with another operation, campaign, project or body is another request. The hash is kept for a day, so it is taken
 * only of what may be written: with the hash of a body that has its address in it, anyone who sees the hash could try addresses.
 * A sealed address is represented by its keyed hash.
 */
function hashRequest(kind: EntryKind, { campaign, projectCode, sealedEmail }: EntryContext, kept: Uint8Array): string {
  const what = JSON.stringify([kind, campaign, projectCode, sealedEmail?.key])
  return createHash('sha256').update(what).update('\n').update(kept).digest('base64')
}
