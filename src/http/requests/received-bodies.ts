// Limits the bodies that are being read: how long each may take, and how much memory all of them may hold. One timer checks them
// all; a body that arrives together with its head only costs an entry in a set.
import type { IncomingMessage } from 'node:http'
import { AppError } from '../../core/app-error.ts'
import type { HttpLimits } from '../http-limits.ts'

const RETRY_AFTER_SECONDS = 5
/** The overhead of each piece besides its bytes: a client may send them one by one. */
const PIECE_BYTES = 512

/** A request whose body is to be read. */
export interface BodySource {
  readonly request: IncomingMessage
  /** The workspace that sends it. */
  readonly sender: string
  readonly isUpload: boolean
}

/** One body, from the start of reading until it is complete or given up. */
export interface ReceivedBody extends BodySource {
  /** Bytes counted in the sum of all. */
  held: number
  /** When it was first checked; for an upload, when its last data came. Undefined until the first check. */
  since: number | undefined
  /** How many bytes the connection had received at the last check. */
  bytesRead: number
}

export class ReceivedBodies {
  readonly #limits: HttpLimits
  readonly #bodies = new Set<ReceivedBody>()
  #held = 0

  constructor(limits: HttpLimits) {
    this.#limits = limits
  }

  /** The reader must listen for errors of the request until `end`: a body that is given up emits an AppError there. */
  begin({ request, sender, isUpload }: BodySource): ReceivedBody {
    const body = { request, sender, isUpload, held: 0, since: undefined, bytesRead: 0 }
    this.#bodies.add(body)
    return body
  }

  /**
   * Counts a piece that stays in memory until the body is complete. If there is no room, gives up bodies of the workspace that
   * holds the most, the oldest first. Throws `unavailable` if that is the workspace of `body` itself.
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

  /** The oldest body of the workspace whose bodies together hold the most. Only called when there is no room. */
  #oldestOfGreatest(): ReceivedBody | undefined {
    const heldBy = new Map<string, number>()
    for (const { sender, held } of this.#bodies) heldBy.set(sender, (heldBy.get(sender) ?? 0) + held)
    const most = Math.max(...heldBy.values())
    for (const body of this.#bodies) if (body.held > 0 && heldBy.get(body.sender) === most) return body
    return undefined
  }

  /** Whether data came, or waits to be processed here: then the client has not stalled. */
  #hasMoved(body: ReceivedBody): boolean {
    const { request } = body
    const before = body.bytesRead
    body.bytesRead = request.socket.bytesRead
    return body.bytesRead !== before || request.readableLength > 0
  }
}

function tookTooLong(isUpload: boolean): AppError {
  const what = isUpload ? 'The upload paused for too long.' : 'The body took too long to arrive.'
  return new AppError('request_timeout', `${what} Nothing was executed; send it again.`)
}

function gaveWay(): AppError {
  const message = 'The body was too slow, and other requests needed its memory. Nothing was executed; send it again.'
  return new AppError('request_timeout', message)
}

function noRoom(): AppError {
  const message = `Too many bodies are arriving at once. Retry after ${RETRY_AFTER_SECONDS} seconds.`
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
