// Starts the thread that stores counted batches, and talks with it.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { AheadAnswer, AheadCommand, AheadThreadData } from './ahead-thread.ts'
import type { CountedBatch } from './counted-batch.ts'

export class AheadWriter {
  readonly #thread: Worker
  /** Those who wait for an answer; the thread answers in the order in which it is asked. */
  readonly #waiting: ((answer: AheadAnswer) => void)[] = []

  private constructor(thread: Worker) {
    this.#thread = thread
    thread.on('message', (answer: AheadAnswer) => this.#waiting.shift()?.(answer))
    // A broken thread is a broken process: an `error` event without a listener ends it, as it should.
  }

  /** Rejects where the process may have no further thread, or the thread cannot load its code. */
  static async start(workerData: AheadThreadData): Promise<AheadWriter> {
    const thread = new Worker(new URL('./ahead-thread.ts', import.meta.url), { name: 'ahead', workerData })
    // It says that it is there.
    await once(thread, 'message')
    return new AheadWriter(thread)
  }

  /** From here on the thread notices when others change the store. */
  mark(): Promise<AheadAnswer> {
    return this.#ask('mark')
  }

  /** Stores a batch that was counted since the last mark, if nobody else has changed the store since then. */
  store({ cells, ...batch }: CountedBatch): Promise<AheadAnswer> {
    return this.#ask({ batch: JSON.stringify(batch), cells: JSON.stringify(cells) })
  }

  /** Ends the thread when it has done what it was asked. */
  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#thread.once('exit', resolve))
    this.#thread.postMessage('stop' satisfies AheadCommand)
    await ended
  }

  #ask(command: AheadCommand): Promise<AheadAnswer> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#thread.postMessage(command)
    })
  }
}
