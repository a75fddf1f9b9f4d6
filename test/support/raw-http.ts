// HTTP written byte by byte, for what no client library would send or read.
import { connect, type Socket } from 'node:net'
import { until } from './server.ts'

export interface RawAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

export class RawConnection {
  readonly #socket: Socket
  #received: Buffer[] = []
  #isEnded = false
  #isReset = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#received.push(chunk))
    socket.on('end', () => (this.#isEnded = true))
    socket.on('close', () => (this.#isEnded = true))
    // A reset is an end too; what was received before it stays.
    socket.on('error', () => (this.#isReset = true))
  }

  /** With `keepsSending`, a connection that does not end its side when the server has ended its own. */
  static async open(url: string, keepsSending = false): Promise<RawConnection> {
    const { hostname, port } = new URL(url)
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: keepsSending })
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    return new RawConnection(socket)
  }

  /** Resolves when the system has taken the bytes, or the connection does not take any more. */
  async write(bytes: string | Uint8Array): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.write(bytes, () => resolve()))
  }

  /** The next answer; it must have a content-length, or be without a body. */
  nextAnswer(): Promise<RawAnswer> {
    return until('an answer', () => this.#takeAnswer())
  }

  /** Whether the head of an answer has arrived that nobody has taken yet. */
  get hasAnswer(): boolean {
    return this.#joinReceived().includes('\r\n\r\n')
  }

  /** Whether the server has closed the connection. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Whether the server did not take what was sent. */
  get isReset(): boolean {
    return this.#isReset
  }

  /** From now on only the first piece of what the server sends is taken, until `read`. */
  readFirstOnly(): void {
    this.#socket.once('data', () => this.#socket.pause())
  }

  /** From now on nothing is taken of what the server sends, until `read`. */
  readNothing(): void {
    this.#socket.pause()
  }

  read(): void {
    this.#socket.resume()
  }

  /** Says that nothing more is sent, and reads on. */
  finishSending(): void {
    this.#socket.end()
  }

  close(): void {
    this.#socket.destroy()
  }

  /** Leaves in such a way that the server notices at once: an end alone may be only the end of sending. */
  reset(): void {
    this.#socket.resetAndDestroy()
  }

  #takeAnswer(): RawAnswer | undefined {
    const received = this.#joinReceived()
    const headEnd = received.indexOf('\r\n\r\n')
    if (headEnd < 0) return undefined
    const [statusLine = '', ...lines] = received.subarray(0, headEnd).toString('latin1').split('\r\n')
    const headers = new Map(lines.map((line) => [nameOf(line), line.slice(line.indexOf(':') + 1).trim()]))
    const bodyEnd = headEnd + 4 + Number(headers.get('content-length') ?? 0)
    if (received.byteLength < bodyEnd) return undefined
    const body = received.subarray(headEnd + 4, bodyEnd).toString('utf8')
    this.#received = [received.subarray(bodyEnd)]
    return { status: Number(statusLine.split(' ')[1]), headers, body }
  }

  /** Only when somebody looks: an answer of many megabytes comes in thousands of chunks. */
  #joinReceived(): Buffer {
    const received = Buffer.concat(this.#received)
    this.#received = [received]
    return received
  }
}

function nameOf(line: string): string {
  return line.slice(0, line.indexOf(':')).toLowerCase()
}
