// Queues pipelined requests: each begins only when the answer before it is sent whole, so a connection has at most one answer in
// memory. Until then nothing more is read from the connection.
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { HttpLimits } from '../http-limits.ts'

interface Queue {
  waiting: number
}

export class PipelinedRequests {
  readonly #limits: HttpLimits
  readonly #queues = new WeakMap<Socket, Queue>()
  #waiting = 0

  constructor(limits: HttpLimits) {
    this.#limits = limits
  }

  /**
   * Calls `go` when it is the turn of `response`; never if the connection ends first, as it does when too many wait. Call it only
   * while `response.socket` is null, which means that it is not yet its turn.
   */
  wait(socket: Socket, response: ServerResponse, go: () => void): void {
    if (socket.destroyed) return
    const queue = this.#queues.get(socket) ?? this.#newQueue(socket)
    const { pipelinedMax, pipelinedPerConnectionMax } = this.#limits
    if (this.#waiting >= pipelinedMax || queue.waiting >= pipelinedPerConnectionMax) {
      socket.destroy()
      return
    }
    queue.waiting++
    this.#waiting++
    socket.pause()
    // Node assigns the socket to a response when the one before it is sent, and finishes that one in the same tick.
    response.once('socket', () => process.nextTick(() => this.#leave(socket, queue, go)))
  }

  #leave(socket: Socket, queue: Queue, go: () => void): void {
    if (socket.destroyed) return
    queue.waiting--
    this.#waiting--
    if (queue.waiting === 0) socket.resume()
    go()
  }

  #newQueue(socket: Socket): Queue {
    const queue = { waiting: 0 }
    this.#queues.set(socket, queue)
    // Node resumes a connection whose answer was read.
    socket.on('resume', () => queue.waiting > 0 && socket.pause())
    socket.once('close', () => {
      this.#waiting -= queue.waiting
      queue.waiting = 0
    })
    return queue
  }
}
