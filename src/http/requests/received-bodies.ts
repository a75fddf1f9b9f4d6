// The bodies that are being read: how long each may take to arrive, and how much all of them may hold. One timer looks at
// all; a body that comes together with its head costs a place in a set and nothing else.
import type { IncomingMessage } from 'node:http'
import { AppError } from '../../core/app-error.ts'
import type { HttpLimits } from '../http-limits.ts'

const RETRY_AFTER_SECONDS = 5
/** What each piece of a body takes besides its bytes: a client may send them one by one. */
const PIECE_BYTES = 512

/** A request whose body is to be read. */
export interface BodySource {
  readonly request: IncomingMessage
  /** The workspace that sends it. */
  readonly sender: string
  readonly isUpload: boolean
}

/** One body, from the moment somebody reads it until all of it is there or nobody wants it any more. */
export interface ReceivedBody extends BodySource {
  /** Bytes counted in the sum of all. */
  held: number
  /** When it was first seen waiting; for an upload, since when nothing has come. Undefined until it is first looked at. */
  since: number | undefined
  /** How many bytes the connection had received when it was last looked at. */
  bytesRead: number
}

export class ReceivedBodies {
  readonly #limits: HttpLimits
  readonly #bodies = new Set<ReceivedBody>()
  #held = 0

  constructor(limits: HttpLimits) {
    this.#limits = limits
  }

  /**
   * Whoever reads must listen for errors of the request until `end`: a body that takes too long is given up with an AppError
   * there.
   */
  begin({ request, sender, isUpload }: BodySource): ReceivedBody {
    const body = { request, sender, isUpload, held: 0, since: undefined, bytesRead: 0 }
    this.#bodies.add(body)
    return body
  }

  /**
   * Counts a piece that is kept until the body is complete. Where all bodies hold too much already, those of the workspace that
   * holds the most give way, the oldest first. Throws `unavailable` where that is the workspace of `body` itself.
   */
  hold(body: ReceivedBody, bytes: number): void {
    const held = bytes + PIECE_BYTES
    while (this.#held + held > this.#limits.receivedBytesMax) {
      const oldest = this.#oldestOfGreatest()
      if (!oldest || oldest.sender === body.sender) throw noRoom()
      this.#giveUp(oldest, gaveWay())
    }
    body.held += held
    this.#held += held
  }

  /** May be called more than once. */
  end(body: ReceivedBody): void {
    this.#bodies.delete(body)
    this.#held -= body.held
    body.held = 0
  }

  /** Gives up bodies that take too long. `now`: milliseconds of a clock that never goes back. */
  sweep(now: number): void {
    for (const body of this.#bodies) {
      const { isUpload } = body
      if (isUpload && this.#hasMoved(body)) body.since = now
      body.since ??= now
      const waitMs = isUpload ? this.#limits.uploadQuietMs : this.#limits.bodyWaitMs
      if (now - body.since < waitMs) continue
      this.#giveUp(body, tookTooLong(isUpload))
    }
  }

  #giveUp(body: ReceivedBody, reason: AppError): void {
    this.end(body)
    body.request.emit('error', reason)
  }

  /**
   * The oldest body of the workspace whose bodies together hold the most. Looks at all bodies, which only happens where there is
   * no room.
   */
  #oldestOfGreatest(): ReceivedBody | undefined {
    const heldBy = new Map<string, number>()
    for (const { sender, held } of this.#bodies) heldBy.set(sender, (heldBy.get(sender) ?? 0) + held)
    const most = Math.max(...heldBy.values())
    for (const body of this.#bodies) if (body.held > 0 && heldBy.get(body.sender) === most) return body
    return undefined
  }

  /** Whether something came, or waits to be taken in here: then it is not the client that has stalled. */
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

function gaveWay(): AppError {
  const message = 'The body took long to arrive, and those of others need its room. Nothing was executed.'
  return new AppError('request_timeout', message)
}

function noRoom(): AppError {
  const message = 'Too much is being received at once; please repeat the request.'
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
