// All connections: how many there may be, and how long one that does not read its answer is kept. One timer looks at all.
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import type { HttpLimits } from './http-limits.ts'

/** Something that waits on connections and is looked at with them. */
export interface Swept {
  /** `now`: milliseconds of a clock that never goes back. */
  sweep(now: number): void
}

/** How many of the bytes sent on a connection the system has taken over, and since when it has taken no more. */
interface Unread {
  readonly sent: number
  readonly since: number
}

export class Connections {
  readonly #limits: HttpLimits
  readonly #swept: readonly Swept[]
  readonly #diagnostics: FastifyBaseLogger
  readonly #sockets = new Set<Socket>()
  /** Those that had something unsent when they were looked at. */
  readonly #unread = new Map<Socket, Unread>()
  #dropped = 0

  constructor(limits: HttpLimits, swept: readonly Swept[], diagnostics: FastifyBaseLogger) {
    this.#limits = limits
    this.#swept = swept
    this.#diagnostics = diagnostics
  }

  /** To be called before the server listens. */
  follow(server: Server): void {
    server.maxConnections = this.#limits.connectionsMax
    // A client that has ended its side may still wait for the answer.
    Object.assign(server, { httpAllowHalfOpen: true })
    this.#keepUnread(server)
    server.on('drop', () => this.#dropped++)
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => {
        this.#sockets.delete(socket)
        this.#unread.delete(socket)
      })
    })
    server.once('listening', () => {
      const timer = setInterval(() => this.#sweep(), this.#limits.sweepEveryMs).unref()
      server.once('close', () => clearInterval(timer))
    })
  }

  /**
   * Closes the connections that have not read their whole answer, or not sent their whole request: only those go on that merely
   * wait for an answer (`isAwaited`).
   */
  closeStalled(isAwaited: (socket: Socket) => boolean): void {
    for (const socket of this.#sockets) if (socket.writableLength > 0 || !isAwaited(socket)) socket.destroy()
  }

  /**
   * Node takes a connection for idle as soon as its answer is written, though most of that may still wait here for a client
   * that reads slowly. Closing idle connections leaves those alone.
   */
  #keepUnread(server: Server): void {
    const closeIdle = server.closeIdleConnections.bind(server)
    server.closeIdleConnections = () => {
      const unread = [...this.#sockets].filter(({ writableLength }) => writableLength > 0)
      for (const socket of unread) socket.destroy = () => socket
      closeIdle()
      for (const socket of unread) Reflect.deleteProperty(socket, 'destroy')
    }
  }

  #sweep(): void {
    const now = performance.now()
    for (const waiting of this.#swept) waiting.sweep(now)
    for (const socket of this.#sockets) this.#closeUnread(socket, now)
    if (this.#dropped === 0) return
    const { connectionsMax } = this.#limits
    this.#diagnostics.warn(
      { closed: this.#dropped },
      `there are ${connectionsMax} connections: further ones are closed`,
    )
    this.#dropped = 0
  }

  /** Large answers are sent in pieces (`answer-pieces.ts`), so that a client that reads slowly is seen to read. */
  #closeUnread(socket: Socket, now: number): void {
    if (socket.writableLength === 0) {
      this.#unread.delete(socket)
      return
    }
    const sent = socket.bytesWritten - socket.writableLength
    const before = this.#unread.get(socket)
    if (before?.sent !== sent) this.#unread.set(socket, { sent, since: now })
    else if (now - before.since >= this.#limits.answerUnreadMs) socket.destroy()
  }
}
