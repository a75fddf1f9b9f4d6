// The transaction of operations that create something in the tables. A repeat with the same Idempotency-Key creates nothing and
// gets the answer of the first request. Operations that append to the log use `accept.ts` instead.
import { createHash, type Hash } from 'node:crypto'
import { answerOnce, type FirstAnswer, type RepeatableRequest } from '../actions/answer-once.ts'
import type { Store } from '../store/store.ts'
import type { OperationRequest, Parts } from './operation.ts'

type Request = OperationRequest<object, object, unknown>

export interface Creation<Answer> {
  /** The operation's name. */
  readonly operation: string
  /** Takes the lock of the operation, which excludes repeats of the request. */
  readonly lock: (store: Store) => Promise<void>
  /** Creates in the same transaction, and returns the answer. */
  readonly create: (store: Store) => Promise<Answer>
}

/** Creates once for each Idempotency-Key. Throws AppError `conflict` if another request used the key, and the errors of `create`. */
export async function createOnce<Answer>(
  request: Request,
  { database }: Parts,
  { operation, lock, create }: Creation<Answer>,
): Promise<Answer> {
  const hash = startRequestHash(operation, request.path).update(request.bodyBytes)
  const repeatable = toRepeatable(request, hash)
  const first = await database.write(async (store) => {
    await lock(store)
    return answerOnce(store, repeatable, () => create(store))
  })
  return answerAsFirst(request, first)
}

/** The hash of a request, to which its body is yet to be added. */
export function startRequestHash(operation: string, path: object): Hash {
  return createHash('sha256')
    .update(JSON.stringify([operation, path]))
    .update('\n')
}

/** `hash` covers the body once all of it has arrived. */
export function toRepeatable({ workspace, idempotencyKey, requestId, now }: Request, hash: Hash): RepeatableRequest {
  return {
    workspaceId: workspace.id,
    key: idempotencyKey,
    requestId,
    receivedAt: now,
    // A digest can be taken only once, but a transaction may run again.
    hash: () => hash.copy().digest('base64'),
  }
}

/** The answer, sent with the id of the first request. */
export function answerAsFirst<Answer>({ answerAs }: Request, { answer, requestId }: FirstAnswer<Answer>): Answer {
  answerAs(requestId)
  return answer
}
