// All connections of a server: limits their number, and closes those that do not read their answers. One timer checks them all; no
// request sets a timer of its own.
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import type { HttpLimits } from './http-limits.ts'

/** Something with deadlines that is checked together with the connections. */
export interface Swept {
  /** `now`: milliseconds of a clock that never goes back. */
  sweep(now: number): void
}

/** How many bytes of a connection's output the system has taken, and since when it has taken no more. */
interface Unread {
  readonly sent: number
  readonly since: number
}

export class Connections {
  readonly #limits: HttpLimits
  readonly #swept: readonly Swept[]
  readonly #diagnostics: FastifyBaseLogger
  readonly #sockets = new Set<Socket>()
  /** Those that had unsent output at the last check. */
  readonly #unread = new Map<Socket, Unread>()
  #dropped = 0

  constructor(limits: HttpLimits, swept: readonly Swept[], diagnostics: FastifyBaseLogger) {
    this.#limits = limits
    this.#swept = swept
    this.#diagnostics = diagnostics
  }

  /** Call it before the server listens. */
  follow(server: Server): void {
    server.maxConnections = this.#limits.connectionsMax
    // A client that has ended its side may still wait for the answer. This is a property of Node's server; no option sets it.
    Object.assign(server, { httpAllowHalfOpen: true })
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
   * Closes the connections with an unread answer or an incomplete request. Only those that wait for an answer stay (`isAwaited`).
   */
  closeStalled(isAwaited: (socket: Socket) => boolean): void {
    for (const socket of this.#sockets) if (socket.writableLength > 0 || !isAwaited(socket)) socket.destroy()
  }

  #sweep(): void {
    const now = performance.now()
    for (const waiting of this.#swept) waiting.sweep(now)
    for (const socket of this.#sockets) this.#closeUnread(socket, now)
    if (this.#dropped === 0) return
    const { connectionsMax } = this.#limits
    this.#diagnostics.warn(
      { closed: this.#dropped },
      `all ${connectionsMax} connections are in use: further ones are closed`,
    )
    this.#dropped = 0
  }

  /** Large answers are sent in pieces (`answer-stream.ts`), so that a slow client is seen to read. */
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
