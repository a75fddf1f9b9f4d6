// One connection for as long as nothing but plain requests comes on it: one after the other, each answered before the next is
// read. With anything else it is given to Node's own HTTP server, with all that was received and is not answered, and stays there.
import type { Socket } from 'node:net'
import type { AnswerSink } from '../answers/unsent-answers.ts'
import type { EncodedText } from './plain-exchange.ts'
import type { PlainHead, PlainStart } from './plain-head.ts'

/** A body may come in so many pieces; usually it comes in one with its head, or in one of its own. */
const PIECES_MAX = 128
/** What each piece takes besides its bytes. */
const PIECE_BYTES = 512
const NOTHING: Buffer = Buffer.alloc(0)

/** A request that is there as a whole. */
export interface PlainRequest<Target> {
  readonly head: PlainHead<Target>
  readonly body: Uint8Array
}

/** What all connections share; see `plain-requests.ts`. */
export interface ShortWay<Target> {
  /** The plain request that begins with these bytes; undefined where it is not plain, or none is taken any more. */
  read(bytes: Buffer, last: PlainHead<Target> | undefined): PlainStart<Target> | undefined
  /** Carries a request out, and calls `send` with the answer sooner or later. Never throws. */
  answer(connection: PlainConnection<Target>, request: PlainRequest<Target>): void
  /** Whether the rest of a request with this head may be waited for here. */
  mayWaitFor(head: PlainHead<Target>): boolean
  /** Takes room for this much of requests that are not whole; false where there is none. */
  hold(bytes: number): boolean
  release(bytes: number): void
  /** Attaches Node's own listeners, which get what is emitted from then on. */
  giveToNode(connection: PlainConnection<Target>): void
  /** The connection was given away or has ended, perhaps before the answer to a request. */
  forget(connection: PlainConnection<Target>, unanswered: PlainHead<Target> | undefined): void
}

/**
 * | state     | means                                   | on data            | on end of data       |
 * | --------- | --------------------------------------- | ------------------ | -------------------- |
 * | waiting   | nothing of a request has come           | read the head      | end                  |
 * | receiving | the body is not whole                   | add to it          | give to Node         |
 * | answering | the request is carried out, or the      | read no further,   | end once it is       |
 * |           | answer is being sent                    | and give to Node   | answered             |
 * |           |                                         | once it is sent    |                      |
 * | given     | Node has it, or it is closed            |                    |                      |
 */
type State = 'waiting' | 'receiving' | 'answering' | 'given'

/** Also where the answer to the request that is carried out is sent. */
export class PlainConnection<Target> implements AnswerSink {
  readonly socket: Socket
  readonly #way: ShortWay<Target>
  #state: State = 'waiting'
  #start: PlainStart<Target> | undefined
  #last: PlainHead<Target> | undefined
  /** The request so far. */
  #pieces: Buffer[] = []
  #bytes = 0
  /** Whether something came before it was time. */
  #isEarly = false
  #hasEnded = false
  #whenAnswered: (() => void)[] = []
  /** When it began to wait, or the head of the present request was there, by a clock that never goes back. */
  since: number
  /** Whether a request has come whole so far. */
  isUsed = false
  /** At the other end. Nobody knows it any more once the connection has ended. */
  readonly address: string

  constructor(socket: Socket, way: ShortWay<Target>) {
    this.socket = socket
    this.#way = way
    this.since = performance.now()
    this.address = socket.remoteAddress ?? ''
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onClose)
    // What breaks a connection also closes it.
    socket.on('error', () => {})
  }

  get state(): State {
    return this.#state
  }

  /** False while a request waits for its answer, or that is being sent. */
  get closed(): boolean {
    return this.#state !== 'answering'
  }

  once(_event: 'close', listener: () => void): void {
    this.#whenAnswered.push(listener)
  }

  /** Further heads like this one are not read anew. */
  remember(head: PlainHead<Target>): void {
    this.#last = head
  }

  /**
   * Sends the answer to the request that is carried out. When the system has taken over all of it, `whenSent` is called with the
   * milliseconds since the head of the request was there.
   */
  send({ text, encoding }: EncodedText, whenSent: (durationMs: number) => void): void {
    if (this.#state !== 'answering') return
    const { socket } = this
    socket.write(text, encoding)
    if (socket.writableLength > 0) socket.write('', () => this.#endAnswer(whenSent))
    // As nearly always: to be called back takes an object and a place in Node's queue for each answer.
    else this.#endAnswer(whenSent)
  }

  #endAnswer(whenSent: (durationMs: number) => void): void {
    // An answer that could not be sent is told of by the end of the connection.
    if (this.socket.errored || this.socket.destroyed || this.#state !== 'answering') return
    const now = performance.now()
    whenSent(now - this.since)
    this.#goOn(now)
  }

  /** Leaves the connection to Node, with what was received of a request; `last` came after what is held. */
  give(last = NOTHING): void {
    const received = [this.#takePieces(), last].filter(({ length }) => length > 0)
    this.#state = 'given'
    // The listener for what breaks it stays: without one, that would end the process.
    this.socket.off('data', this.#onData)
    this.socket.off('end', this.#onEnd)
    this.socket.off('close', this.#onClose)
    this.#way.forget(this, undefined)
    this.#way.giveToNode(this)
    for (const piece of received) this.socket.emit('data', piece)
    if (this.#hasEnded) this.socket.emit('end')
    else this.socket.resume()
  }

  readonly #onData = (piece: Buffer): void => {
    if (this.#state === 'waiting') this.#begin(piece)
    else if (this.#state === 'receiving') this.#receive(piece)
    else {
      this.#isEarly = true
      this.socket.pause()
      this.socket.unshift(piece)
    }
  }

  #begin(piece: Buffer): void {
    const start = this.#way.read(piece, this.#last)
    this.#start = start
    this.since = performance.now()
    if (start?.end === piece.length) this.#answer(start, piece)
    else if (!start || !this.#way.mayWaitFor(start.head)) this.give(piece)
    else {
      this.#state = 'receiving'
      this.#receive(piece)
    }
  }

  #receive(piece: Buffer): void {
    const start = this.#start as PlainStart<Target>
    if (!this.#hold(piece)) this.give(piece)
    // Behind its end another request has begun.
    else if (this.#bytes > start.end || this.#pieces.length > PIECES_MAX) this.give()
    else if (this.#bytes === start.end) this.#answer(start, this.#takePieces())
  }

  /** False where there is no room for it. */
  #hold(piece: Buffer): boolean {
    if (!this.#way.hold(piece.length + PIECE_BYTES)) return false
    this.#pieces.push(piece)
    this.#bytes += piece.length
    return true
  }

  #answer({ head, bodyStart }: PlainStart<Target>, request: Buffer): void {
    this.#state = 'answering'
    this.isUsed = true
    this.#way.answer(this, { head, body: request.subarray(bodyStart) })
  }

  #goOn(now: number): void {
    this.#state = 'waiting'
    this.#start = undefined
    this.since = now
    this.#tellAnswered()
    if (this.#isEarly) this.give()
    else if (this.#hasEnded) this.socket.end()
  }

  readonly #onEnd = (): void => {
    this.#hasEnded = true
    if (this.#state === 'waiting') this.socket.end()
    else if (this.#state === 'receiving') this.give()
  }

  readonly #onClose = (): void => {
    this.#state = 'given'
    this.#takePieces()
    this.#way.forget(this, this.#start?.head)
    this.#tellAnswered()
  }

  #tellAnswered(): void {
    if (this.#whenAnswered.length === 0) return
    const listeners = this.#whenAnswered
    this.#whenAnswered = []
    for (const listener of listeners) listener()
  }

  #takePieces(): Buffer {
    const { length } = this.#pieces
    const all = length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces)
    this.#way.release(this.#bytes + length * PIECE_BYTES)
    this.#pieces = []
    this.#bytes = 0
    return all
  }
}
