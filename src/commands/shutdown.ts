// How a server process ends: with its work finished after a signal, at once when one of its threads is gone.
import type { Worker } from 'node:worker_threads'
import type { Config } from '../app/config.ts'
import { AppError } from '../core/app-error.ts'
import { messageOf } from '../core/thrown.ts'
import { DRAIN_MS } from '../http/operator/readiness.ts'
import type { CommandCall } from './command.ts'

/** How long what is in flight may take to finish. */
const FINISH_WAIT_MS = 8_000
const SIGNALS = ['SIGTERM', 'SIGINT'] as const

export interface Stoppable {
  stop(): Promise<void>
}

/**
 * How long stopping may take after a signal; past that the process ends with exit status 1. Shorter than the time after which it
 * is killed, so that it can still say what was wrong: container runtimes give ten seconds, the files in `deploy/` fifteen.
 */
export function stopWaitMs({ databaseUrl }: Pick<Config, 'databaseUrl'>): number {
  return databaseUrl === undefined ? FINISH_WAIT_MS : DRAIN_MS + FINISH_WAIT_MS
}

export class Shutdown {
  readonly #failStart: CommandCall['fail']
  readonly #waitMs: number
  #running: Stoppable | undefined
  #isStopping = false

  /**
   * From here on signals end the process in order, and the end of any thread ends it with exit status 1. `failStart` reports that
   * during a start; later the one object of `--json` has been printed already.
   */
  constructor(failStart: CommandCall['fail'], waitMs: number) {
    this.#failStart = failStart
    this.#waitMs = waitMs
    // A terminal and npm may both send the signal; the first one counts.
    for (const signal of SIGNALS) process.on(signal, () => void this.#stop())
    process.on('worker', (thread) => this.#watch(thread))
  }

  /** What a signal stops. Where it is undefined, the signal just ends the process. */
  set running(running: Stoppable | undefined) {
    this.#running = running
  }

  /** A process without one of its threads would take requests in and never finish them. */
  #watch(thread: Worker): void {
    const name = thread.threadName
    thread.on('error', (error) => this.#endNow(`the thread "${name}" failed: ${messageOf(error)}`))
    // A start that fails closes its threads itself, and then says why.
    thread.on('exit', () => {
      if (this.#running && !this.#isStopping) this.#endNow(`the thread "${name}" stopped unexpectedly`)
    })
  }

  async #stop(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    setTimeout(() => this.#endNow(`work in progress did not finish within ${this.#waitMs} ms`), this.#waitMs)
    try {
      await this.#running?.stop()
    } catch (error) {
      this.#endNow(`the server could not shut down cleanly: ${messageOf(error)}`)
    }
    process.exit(0)
  }

  #endNow(reason: string): never {
    if (!this.#running) return this.#failStart(new AppError('unavailable', reason))
    process.stderr.write(`tidings: ${reason}\n`)
    process.exit(1)
  }
}
