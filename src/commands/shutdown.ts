// Ends a server process: after a signal it finishes its work first; when one of its threads fails, it ends at once.
import type { Worker } from 'node:worker_threads'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../app/config.ts'
import { AppError } from '../core/app-error.ts'
import { messageOf } from '../core/thrown.ts'
import { RENDER_THREAD } from '../delivery/content/renderer.ts'
import { RECOUNT_THREAD } from '../statistics/recounts/run-recount.ts'
import { DRAIN_MS } from '../http/operator/readiness.ts'
import type { CommandCall } from './command.ts'

/** How long work in progress may take to finish. */
const STOP_WAIT_MS = 8_000
const SIGNALS = ['SIGTERM', 'SIGINT'] as const
/**
 * Threads whose end is no fault of the process. A renderer ends its thread when a template takes too long, and starts another; a recount
 * ends when it has counted. Who started them handles their errors.
 */
const PASSING_THREADS: ReadonlySet<string> = new Set([RENDER_THREAD, RECOUNT_THREAD])

export interface Stoppable {
  stop(): Promise<void>
  /** Whether messages may still be on connections to SMTP servers. Stopping waits for them longer than for anything else. */
  readonly isDelivering: boolean
}

/**
 * How long stopping may take after a signal; then the process ends with exit status 1. Shorter than the time after which it would be
 * killed (10 s in container runtimes, 15 s in the files of `deploy/`), so that it can still report the cause. While messages are on
 * connections it may take longer, as `start-delivery.ts` limits it.
 */
export function stopWaitMs({ databaseUrl }: Pick<Config, 'databaseUrl'>): number {
  return databaseUrl === undefined ? STOP_WAIT_MS : DRAIN_MS + STOP_WAIT_MS
}

export class Shutdown {
  readonly #failStart: CommandCall['fail']
  readonly #waitMs: number
  #running: Stoppable | undefined
  #isStopping = false
  #diagnostics: FastifyBaseLogger | undefined

  /**
   * From now on a signal stops the process in order, and the end of any thread ends it with exit status 1. `failStart` reports a
   * thread's failure during the start; after it, the one object of `--json` is already printed.
   */
  constructor(failStart: CommandCall['fail'], waitMs: number) {
    this.#failStart = failStart
    this.#waitMs = waitMs
    // A terminal and npm may both send the signal; only the first counts.
    for (const signal of SIGNALS) process.on(signal, () => void this.#stop(signal))
    process.on('worker', (thread) => this.#watch(thread))
  }

  /** What a signal stops. If undefined, the signal ends the process at once. */
  set running(running: Stoppable | undefined) {
    this.#running = running
  }

  /** Where the end of the process is reported. */
  set diagnostics(diagnostics: FastifyBaseLogger) {
    this.#diagnostics = diagnostics
  }

  /** Without one of its threads, a process would accept requests and never finish them. */
  #watch(thread: Worker): void {
    const name = thread.threadName
    if (PASSING_THREADS.has(name ?? '')) return
    thread.on('error', (error) => this.#endNow(`the thread "${name}" failed: ${messageOf(error)}`))
    // A failed start closes its threads itself, and then reports its error.
    thread.on('exit', () => {
      if (this.#running && !this.#isStopping) this.#endNow(`the thread "${name}" stopped unexpectedly`)
    })
  }

  async #stop(signal: string): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    const startedAt = performance.now()
    this.#diagnostics?.info({ reason: signal }, 'stopping')
    this.#limitStop()
    try {
      await this.#running?.stop()
    } catch (error) {
      this.#endNow(`the server could not shut down cleanly: ${messageOf(error)}`)
    }
    this.#diagnostics?.info({ reason: signal, duration_ms: Math.round(performance.now() - startedAt) }, 'stopped')
    process.exit(0)
  }

  /** Ends the process if stopping takes too long. */
  #limitStop(): void {
    setTimeout(() => {
      if (this.#running?.isDelivering) return this.#limitStop()
      this.#endNow(`work in progress did not finish within ${this.#waitMs} ms`)
    }, this.#waitMs)
  }

  #endNow(reason: string): never {
    if (!this.#running) return this.#failStart(new AppError('unavailable', reason))
    process.stderr.write(`tidings: ${reason}\n`)
    process.exit(1)
  }
}
