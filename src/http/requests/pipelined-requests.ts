// Requests that a client sends before it has the answer to the one before: each is worked on only when that answer is sent whole,
// so that a connection never has more than one answer in memory. Meanwhile nothing more is read from it.
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
   * Calls `go` when it is the turn of the request on `socket` that `response` belongs to; never if the connection ends before
   * that, as it does where too many wait. To be called where it is not its turn yet: `response.socket` is null then.
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
    // Node hands the connection to a response when the one before it is sent, and is not done with that one before the next tick.
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
    // Node itself resumes a connection whose answer was read.
    socket.on('resume', () => queue.waiting > 0 && socket.pause())
    socket.once('close', () => {
      this.#waiting -= queue.waiting
      queue.waiting = 0
    })
    return queue
  }
}
