// Answers each request with an Idempotency-Key once ("Retries"): the key and the answer are saved in the transaction that creates
// something, so a repeat creates nothing and gets the same answer.
import { AppError } from '../core/app-error.ts'
import { IDEMPOTENCY_KEPT_MS } from '../log/event-log.ts'
import { findAnsweredKey, saveAnsweredKey } from '../store/entries/answered-keys.ts'
import type { Store } from '../store/store.ts'

/** A request that its client may send again. */
export interface RepeatableRequest {
  readonly workspaceId: string
  /** Undefined if the client sent none. Then every request is a new one. */
  readonly key: string | undefined
  readonly requestId: string
  readonly receivedAt: number
  /** Of the operation, the path and the body. Called once all of the body has arrived. */
  readonly hash: () => string
}

/** An answer, and the id of the request that first got it. */
export interface FirstAnswer<Answer> {
  readonly answer: Answer
  readonly requestId: string
}

/**
 * Calls `create` and saves its answer, unless a request with the same key has been answered: then returns that answer. The caller
 * holds a lock that excludes repeats of the request. Throws AppError `conflict` if another request used the key.
 */
export async function answerOnce<Answer>(
  store: Store,
  request: RepeatableRequest,
  create: () => Promise<Answer>,
): Promise<FirstAnswer<Answer>> {
  const { workspaceId, key, requestId, receivedAt } = request
  const repeated = await findRepeated<Answer>(store, request)
  if (repeated) return repeated.answerTo(request.hash())
  const answer = await create()
  if (key === undefined) return { answer, requestId }
  const used = { workspaceId, key, hash: request.hash(), requestId, answer, receivedAt }
  // Requests for other operations hold other locks, so one of them may have used the key meanwhile.
  if (!(await saveAnsweredKey(store, used, IDEMPOTENCY_KEPT_MS))) throw keyConflict()
  return { answer, requestId }
}

/** A request that used the same key before. */
export interface RepeatedKey<Answer> {
  /** The answer to a repeat with this hash. Throws AppError `conflict` if it is a different request. */
  answerTo(hash: string): FirstAnswer<Answer>
}

/** Undefined if the key is new, or was used more than a day ago. */
export async function findRepeated<Answer>(
  store: Store,
  { workspaceId, key, receivedAt }: RepeatableRequest,
): Promise<RepeatedKey<Answer> | undefined> {
  const used = key === undefined ? undefined : await findAnsweredKey(store, workspaceId, key)
  if (!used || used.receivedAt <= receivedAt - IDEMPOTENCY_KEPT_MS) return undefined
  return {
    answerTo(hash) {
      if (hash !== used.hash) throw keyConflict()
      return { answer: used.answer as Answer, requestId: used.requestId }
    },
  }
}

export function keyConflict(): AppError {
  const details = [{ field: 'header.Idempotency-Key', problem: 'was already used for a different request' }]
  const message = 'The Idempotency-Key was already used for a different request. Send a new key.'
  return new AppError('conflict', message, details)
}
