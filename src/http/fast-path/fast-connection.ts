// One connection while simple requests come on it, one after the other, each answered before the next is read. Anything else hands
// the connection over to Node's HTTP server for good, with all input that is not answered yet. It does not parse HTTP itself.
import type { Socket } from 'node:net'
import type { AnswerSink } from '../answers/unsent-answers.ts'
import type { EncodedText } from './fast-context.ts'
import type { RequestHead, RequestStart } from './request-head.ts'

/** A body usually comes in one piece with its head, or in one of its own. */
const PIECES_MAX = 128
/** The overhead of each piece besides its bytes. */
const PIECE_BYTES = 512
const NOTHING: Buffer = Buffer.alloc(0)

/** A request that arrived whole. */
export interface WholeRequest<Target> {
  readonly head: RequestHead<Target>
  readonly body: Uint8Array
}

/** What all connections share; see `fast-path.ts`. */
export interface FastConnectionOwner<Target> {
  /** The request that begins with these bytes; undefined if Node has to read it. */
  read(bytes: Buffer, last: RequestHead<Target> | undefined): RequestStart<Target> | undefined
  /** The head of a request has come; called until a whole request has. */
  sawRequest(connection: FastConnection<Target>): void
  /** Carries a request out, and calls `send` with the answer sooner or later. Never throws. */
  answer(connection: FastConnection<Target>, request: WholeRequest<Target>): void
  /** Whether the fast path may wait for the rest of a request with this head. */
  mayWaitFor(head: RequestHead<Target>): boolean
  /** Reserves this much memory for incomplete requests; false if there is no room. */
  hold(bytes: number): boolean
  release(bytes: number): void
  /** Attaches Node's own listeners, which get everything that is emitted from then on. */
  giveToNode(connection: FastConnection<Target>): void
  /** The connection was handed over or has ended; `unanswered` is the head of a request without its answer. */
  forget(connection: FastConnection<Target>, unanswered: RequestHead<Target> | undefined): void
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

/** Also the sink of the answer to the running request. */
export class FastConnection<Target> implements AnswerSink {
  readonly socket: Socket
  readonly #owner: FastConnectionOwner<Target>
  #state: State = 'waiting'
  #start: RequestStart<Target> | undefined
  #last: RequestHead<Target> | undefined
  /** The input of the request so far. */
  #pieces: Buffer[] = []
  #bytes = 0
  /** Whether input came before the answer was sent. */
  #isEarly = false
  #hasEnded = false
  #whenAnswered: (() => void)[] = []
  /** When it began to wait, or when the head of the present request arrived, by a clock that never goes back. */
  since: number
  /** Whether a whole request has come so far. */
  isUsed = false
  /** Of the other end. The socket forgets it when the connection ends. */
  readonly address: string

  constructor(socket: Socket, owner: FastConnectionOwner<Target>) {
    this.socket = socket
    this.#owner = owner
    this.since = performance.now()
    this.address = socket.remoteAddress ?? ''
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onClose)
    // An error also closes the connection.
    socket.on('error', () => {})
  }

  get state(): State {
    return this.#state
  }

  /** False while a request waits for its answer, or while that is being sent. */
  get closed(): boolean {
    return this.#state !== 'answering'
  }

  once(_event: 'close', listener: () => void): void {
    this.#whenAnswered.push(listener)
  }

  /** Further heads like this one are not parsed again. */
  remember(head: RequestHead<Target>): void {
    this.#last = head
  }

  /**
   * Sends the answer to the running request. Once the system has taken all of it, calls `whenSent` with the milliseconds since the
   * head of the request arrived; never if the connection ends before that.
   */
  send({ text, encoding }: EncodedText, whenSent: (durationMs: number) => void): void {
    if (this.#state !== 'answering') return
    const { socket } = this
    socket.write(text, encoding)
    if (socket.writableLength > 0) socket.write('', () => this.#endAnswer(whenSent))
    // The usual case: a callback would cost an object and a turn of Node's queue for each answer.
    else this.#endAnswer(whenSent)
  }

  #endAnswer(whenSent: (durationMs: number) => void): void {
    // The end of the connection reports an answer that could not be sent.
    if (this.socket.errored || this.socket.destroyed || this.#state !== 'answering') return
    const now = performance.now()
    whenSent(now - this.since)
    this.#goOn(now)
  }

  /** Hands the connection over to Node, with the input of a request so far; `last` came after it. */
  give(last = NOTHING): void {
    const received = [this.#takePieces(), last].filter(({ length }) => length > 0)
    this.#state = 'given'
    // The listener for errors stays: without one, an error would end the process.
    this.socket.off('data', this.#onData)
    this.socket.off('end', this.#onEnd)
    this.socket.off('close', this.#onClose)
    this.#owner.forget(this, undefined)
    this.#owner.giveToNode(this)
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
    const start = this.#owner.read(piece, this.#last)
    this.#start = start
    this.since = performance.now()
    if (start && !this.isUsed) this.#owner.sawRequest(this)
    if (start?.end === piece.length) this.#answer(start, piece)
    else if (!start || !this.#owner.mayWaitFor(start.head)) this.give(piece)
    else {
      this.#state = 'receiving'
      this.#receive(piece)
    }
  }

  #receive(piece: Buffer): void {
    const start = this.#start as RequestStart<Target>
    if (!this.#hold(piece)) this.give(piece)
    // Another request has begun behind its end.
    else if (this.#bytes > start.end || this.#pieces.length > PIECES_MAX) this.give()
    else if (this.#bytes === start.end) this.#answer(start, this.#takePieces())
  }

  /** False if there is no room for it. */
  #hold(piece: Buffer): boolean {
    if (!this.#owner.hold(piece.length + PIECE_BYTES)) return false
    this.#pieces.push(piece)
    this.#bytes += piece.length
    return true
  }

  #answer({ head, bodyStart }: RequestStart<Target>, request: Buffer): void {
    this.#state = 'answering'
    this.isUsed = true
    this.#owner.answer(this, { head, body: request.subarray(bodyStart) })
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
    this.#owner.forget(this, this.#start?.head)
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
    this.#owner.release(this.#bytes + length * PIECE_BYTES)
    this.#pieces = []
    this.#bytes = 0
    return all
  }
}
