// The bodies that are being read: how long each may take to arrive, and how much all of them may hold. One timer looks at
// all; a body that comes together with its head costs a place in a set and nothing else.
import type { IncomingMessage } from 'node:http'
import { AppError } from '../core/app-error.ts'
import type { HttpLimits } from './http-limits.ts'

const RETRY_AFTER_SECONDS = 5
/** What each piece of a body takes beside its bytes: a client may send them one by one. */
const PIECE_BYTES = 512

/** One body, from the moment somebody reads it until all of it is there or nobody wants it any more. */
export interface ReceivedBody {
  readonly request: IncomingMessage
  readonly isUpload: boolean
  /** Bytes counted in the sum of all. */
  held: number
  /** When it was first seen waiting; of an upload, since when nothing has come. Undefined before it is looked at. */
  since: number | undefined
  /** What the connection had received then. */
  bytesRead: number
}

export class ReceivedBodies {
  readonly #limits: HttpLimits
  readonly #bodies = new Set<ReceivedBody>()
  #held = 0

  constructor(limits: HttpLimits) {
    this.#limits = limits
  }

  /** Whoever reads must listen for errors of the request until `end`: one that takes too long gets an AppError as such. */
  begin(request: IncomingMessage, isUpload: boolean): ReceivedBody {
    const body = { request, isUpload, held: 0, since: undefined, bytesRead: 0 }
    this.#bodies.add(body)
    return body
  }

  /** Counts a piece that is kept until the body is complete. Throws `unavailable` where all bodies hold too much already. */
  hold(body: ReceivedBody, bytes: number): void {
    const held = bytes + PIECE_BYTES
    if (this.#held + held > this.#limits.receivedBytesMax) throw noRoom()
    body.held += held
    this.#held += held
  }

  /** May be called again. */
  end(body: ReceivedBody): void {
    this.#bodies.delete(body)
    this.#held -= body.held
    body.held = 0
  }

  /** Gives up what takes too long. `now`: milliseconds that never go back. */
  sweep(now: number): void {
    for (const body of this.#bodies) {
      const { request, isUpload } = body
      if (isUpload && this.#hasMoved(body)) body.since = now
      body.since ??= now
      const waitMs = isUpload ? this.#limits.uploadQuietMs : this.#limits.bodyWaitMs
      if (now - body.since < waitMs) continue
      this.end(body)
      request.emit('error', tookTooLong(isUpload))
    }
  }

  /** Whether something came, or waits to be taken in here: then it is not the client that stands still. */
  #hasMoved(body: ReceivedBody): boolean {
    const { request } = body
    const before = body.bytesRead
    body.bytesRead = request.socket.bytesRead
    return body.bytesRead !== before || request.readableLength > 0
  }
}

function tookTooLong(isUpload: boolean): AppError {
  const what = isUpload ? 'Nothing of the body came for too long.' : 'The body took too long to arrive.'
  return new AppError('request_timeout', `${what} Nothing was executed.`)
}

function noRoom(): AppError {
  const message = 'Too much is being received at once; please repeat the request.'
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
