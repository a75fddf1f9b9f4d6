// Lets the delivery thread append to the log of its process. The main thread has the log open: its entries and those of requests are
// committed together, and each wakes the pipeline.
import type { MessagePort } from 'node:worker_threads'
import { messageOf } from '../core/thrown.ts'
import type { AppendOutcome, LogWriter, NewEntry } from '../log/event-log.ts'

interface AppendRequest {
  readonly id: number
  readonly entry: NewEntry
}

type AppendAnswer = { readonly id: number } & ({ readonly outcome: AppendOutcome } | { readonly problem: string })

/** The side of the delivery thread. */
export class RemoteLog implements Pick<LogWriter, 'append'> {
  readonly #port: MessagePort
  readonly #waiting = new Map<number, PromiseWithResolvers<AppendOutcome>>()
  #lastId = 0

  constructor(port: MessagePort) {
    this.#port = port
    port.on('message', (answer: AppendAnswer) => this.#settle(answer))
  }

  /** As `LogWriter`; the main thread sets the time of receipt. */
  append(entry: NewEntry): Promise<AppendOutcome> {
    const id = ++this.#lastId
    const waiting = Promise.withResolvers<AppendOutcome>()
    this.#waiting.set(id, waiting)
    this.#port.postMessage({ id, entry } satisfies AppendRequest)
    return waiting.promise
  }

  #settle(answer: AppendAnswer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ('outcome' in answer) waiting?.resolve(answer.outcome)
    else waiting?.reject(new Error(answer.problem))
  }
}

/** The side of the main thread: appends what the other side sends. `clock`: `core/receipt-clock.ts`. */
export function serveLog(port: MessagePort, log: Pick<LogWriter, 'append'>, clock: () => number): void {
  port.on('message', ({ id, entry }: AppendRequest) => {
    const body = Buffer.from(entry.body.buffer, entry.body.byteOffset, entry.body.byteLength)
    log.append({ ...entry, body, receivedAt: clock() }).then(
      (outcome) => port.postMessage({ id, outcome } satisfies AppendAnswer),
      (error: unknown) => port.postMessage({ id, problem: messageOf(error) } satisfies AppendAnswer),
    )
  })
}
