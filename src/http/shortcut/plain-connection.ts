// One connection for as long as nothing but plain requests comes on it: one after the other, each answered before the next is
// read. With anything else it is given to Node's own HTTP server, with all that was received and is not answered, and stays there.
import type { Socket } from 'node:net'
import type { AnswerSink } from '../answers/unsent-answers.ts'
import type { PlainHead, PlainStart } from './plain-head.ts'

/** A body may come in so many pieces; usually it comes in one with its head, or in one of its own. */
const PIECES_MAX = 128
const NOTHING: Buffer = Buffer.alloc(0)

/** A request that is there as a whole. */
export interface PlainRequest<Target> {
  readonly head: PlainHead<Target>
  readonly body: Uint8Array
}

/** A text with the encoding in which it is sent: that of plain ASCII is the fastest. */
export interface EncodedText {
  readonly text: string
  readonly encoding: 'latin1' | 'utf8'
}

/** What all connections share; see `plain-requests.ts`. */
export interface PlainLane<Target> {
  /** The plain request that begins with these bytes; undefined where it is not plain, or none is taken any more. */
  read(bytes: Buffer, last: PlainHead<Target> | undefined): PlainStart<Target> | undefined
  /** Carries a request out, and calls `send` with the answer sooner or later. Never throws. */
  answer(connection: PlainConnection<Target>, request: PlainRequest<Target>): void
  /** Whether this much more may be held of requests that are not whole. */
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
 * | answering | the request is carried out, or the      | keep it, and give  | end once it is       |
 * |           | answer is being sent                    | to Node afterwards | answered             |
 * | given     | Node has it, or it is closed            |                    |                      |
 */
type State = 'waiting' | 'receiving' | 'answering' | 'given'

/** Also where the answer to the request that is carried out is sent. */
export class PlainConnection<Target> implements AnswerSink {
  readonly socket: Socket
  readonly #lane: PlainLane<Target>
  #state: State = 'waiting'
  #start: PlainStart<Target> | undefined
  /** Of the request before. */
  #last: PlainHead<Target> | undefined
  /** While receiving: the request so far. While answering: what came too early. */
  #pieces: Buffer[] = []
  /** Bytes of the pieces; all of them are counted by the lane. */
  #held = 0
  #hasEnded = false
  #whenAnswered: (() => void)[] = []
  /** When it began to wait, or the head of the present request was there, by a clock that never goes back. */
  since: number

  constructor(socket: Socket, lane: PlainLane<Target>) {
    this.socket = socket
    this.#lane = lane
    this.since = performance.now()
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onClose)
    // What breaks a connection also closes it.
    socket.on('error', () => {})
  }

  get state(): State {
    return this.#state
  }

  /** Whether a request has come whole so far. */
  get isUsed(): boolean {
    return this.#last !== undefined
  }

  /** False while a request waits for its answer, or that is being sent. */
  get closed(): boolean {
    return this.#state !== 'answering'
  }

  once(_event: 'close', listener: () => void): void {
    this.#whenAnswered.push(listener)
  }

  /** Sends the answer to the request that is carried out; `whenSent` is called when the system has taken over all of it. */
  send({ text, encoding }: EncodedText, whenSent: () => void): void {
    if (this.#state !== 'answering') return
    this.socket.write(text, encoding, (error) => {
      // An answer that could not be sent was told of by the end of the connection.
      if (error || this.#state !== 'answering') return
      whenSent()
      this.#goOn()
    })
  }

  /** Leaves the connection to Node, with what was received of a request; `last` came after what is held. */
  give(last = NOTHING): void {
    const received = [this.#takePieces(), last].filter(({ length }) => length > 0)
    const hasEnded = this.#hasEnded
    this.detach()
    this.#lane.giveToNode(this)
    for (const piece of received) this.socket.emit('data', piece)
    if (hasEnded) this.socket.emit('end')
    else this.socket.resume()
  }

  /** From here on others listen to the connection, but for what breaks it: without a listener that would end the process. */
  detach(): void {
    this.#state = 'given'
    this.#takePieces()
    this.socket.off('data', this.#onData)
    this.socket.off('end', this.#onEnd)
    this.socket.off('close', this.#onClose)
    this.#lane.forget(this, undefined)
  }

  readonly #onData = (piece: Buffer): void => {
    if (this.#state === 'waiting') this.#begin(piece)
    else if (this.#state === 'receiving') this.#receive(piece)
    else {
      this.socket.pause()
      if (!this.#hold(piece)) this.socket.destroy()
    }
  }

  #begin(piece: Buffer): void {
    const start = this.#lane.read(piece, this.#last)
    this.#start = start
    this.since = performance.now()
    if (start?.end === piece.length) this.#answer(start, piece)
    else if (!start) this.give(piece)
    else {
      this.#state = 'receiving'
      this.#receive(piece)
    }
  }

  #receive(piece: Buffer): void {
    const start = this.#start as PlainStart<Target>
    if (!this.#hold(piece)) this.give(piece)
    // Behind its end another request has begun.
    else if (this.#held > start.end || this.#pieces.length > PIECES_MAX) this.give()
    else if (this.#held === start.end) this.#answer(start, this.#takePieces())
  }

  /** False where there is no room for it. */
  #hold(piece: Buffer): boolean {
    if (!this.#lane.hold(piece.length)) return false
    this.#pieces.push(piece)
    this.#held += piece.length
    return true
  }

  #answer({ head, bodyStart }: PlainStart<Target>, request: Buffer): void {
    this.#state = 'answering'
    this.#last = head
    this.#lane.answer(this, { head, body: request.subarray(bodyStart) })
  }

  #goOn(): void {
    this.#state = 'waiting'
    this.#start = undefined
    this.since = performance.now()
    this.#tellAnswered()
    if (this.#pieces.length > 0) this.give()
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
    this.#lane.forget(this, this.#start?.head)
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
    this.#lane.release(this.#held)
    this.#pieces = []
    this.#held = 0
    return all
  }
}
