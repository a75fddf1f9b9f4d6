// All connections of a server: limits their number, closing those without a request first, and closes those that do not read their
// answers. One timer checks them all; no request sets a timer of its own.
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
  readonly #diagnostics: FastifyBaseLogger
  readonly #sockets = new Set<Socket>()
  /** Those on which the head of no request has arrived, oldest first. */
  readonly #silent = new Set<Socket>()
  /** Those that had unsent output at the last check. */
  readonly #unread = new Map<Socket, Unread>()
  /** How many were closed for the limit since the last check. */
  #closed = 0

  constructor(limits: HttpLimits, diagnostics: FastifyBaseLogger) {
    this.#limits = limits
    this.#diagnostics = diagnostics
  }

  /** Call it before the server listens. Checks `swept` together with the connections. */
  follow(server: Server, swept: readonly Swept[]): void {
    // A client that has ended its side may still wait for the answer. This is a property of Node's server; no option sets it.
    Object.assign(server, { httpAllowHalfOpen: true })
    server.on('connection', (socket: Socket) => this.#add(socket))
    server.on('request', ({ socket }) => this.sawRequest(socket))
    server.once('listening', () => {
      const timer = setInterval(() => this.#sweep(swept), this.#limits.sweepEveryMs).unref()
      server.once('close', () => clearInterval(timer))
    })
  }

  /** Call it when a request begins that Node's server does not see. */
  sawRequest(socket: Socket): void {
    this.#silent.delete(socket)
  }

  #add(socket: Socket): void {
    if (this.#sockets.size >= this.#limits.connectionsMax) {
      const [oldestSilent = socket] = this.#silent
      this.#closed++
      this.#forget(oldestSilent)
      oldestSilent.destroy()
      if (oldestSilent === socket) return
    }
    this.#sockets.add(socket)
    this.#silent.add(socket)
    socket.once('close', () => this.#forget(socket))
  }

  #forget(socket: Socket): void {
    this.#sockets.delete(socket)
    this.#silent.delete(socket)
    this.#unread.delete(socket)
  }

  /**
   * Closes the connections with an unread answer or an incomplete request. Only those that wait for an answer stay (`isAwaited`).
   */
  closeStalled(isAwaited: (socket: Socket) => boolean): void {
    for (const socket of this.#sockets) if (socket.writableLength > 0 || !isAwaited(socket)) socket.destroy()
  }

  #sweep(swept: readonly Swept[]): void {
    const now = performance.now()
    for (const waiting of swept) waiting.sweep(now)
    for (const socket of this.#sockets) this.#closeUnread(socket, now)
    if (this.#closed === 0) return
    const which = 'closes the oldest without a request or, if there is none, the new one'
    const what = `all ${this.#limits.connectionsMax} connections are in use: each new one ${which}`
    this.#diagnostics.warn({ closed: this.#closed }, what)
    this.#closed = 0
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
