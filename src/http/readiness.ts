// Whether requests can be served: store and log can be written now, and the process is not stopping. Asked by machines every
// few seconds, so that checks which do not come to an end must not pile up.
import { AppError } from '../core/app-error.ts'
import type { LogWriter } from '../log/event-log.ts'
import { refuseNewerTables } from '../store/migrations.ts'
import { StoreError, type Database } from '../store/store.ts'
import { lockWorkspaces } from '../store/workspaces.ts'

/** How long an answer is waited for before the part counts as not ready. */
export const READY_WAIT_MS = 2_000
/**
 * How long a process that others can stand in for goes on answering once it says that it is stopping. A balancer needs two
 * refusals, a second apart (`deploy/haproxy.cfg`), and what it sends until then must not break.
 */
export const DRAIN_MS = 3_000

const FILES_LOST = new AppError(
  'unavailable',
  'The files of the store were removed, moved or replaced while the server ran: it must be started anew.',
  [],
  1,
)

type Check = () => Promise<void>

/** Since a newer program may need what this one does not do, it takes no requests beside one. */
export class Readiness {
  readonly #checks: readonly Check[]
  readonly #areFilesThere: () => boolean
  #isStopping = false
  #isWatched = false

  /** `areFilesThere` tells whether what is written is in the place that the settings name. */
  constructor(database: Database, log: LogWriter, areFilesThere: () => boolean = () => true) {
    this.#areFilesThere = areFilesThere
    this.#checks = [
      // A real change, of a number that may grow at any time: beginning a transaction alone would succeed on a full disk.
      waitingFor('the store', async () => {
        await refuseNewerTables(database)
        await database.write(lockWorkspaces)
      }),
      waitingFor('the log', () => log.check()),
    ]
  }

  /** Whether anybody has asked so far, and may be sending requests here by the answers. */
  get isWatched(): boolean {
    return this.#isWatched
  }

  /** Why nothing may be taken in, however well it could be written; undefined when it may. */
  get loss(): AppError | undefined {
    return this.#areFilesThere() ? undefined : FILES_LOST
  }

  /** From here on the process is not ready. */
  stop(): void {
    this.#isStopping = true
  }

  /** Why requests cannot be served, in words for people; empty when they can. */
  async findProblems(): Promise<string[]> {
    this.#isWatched = true
    if (this.#isStopping) return ['the process is stopping']
    if (this.loss) return [toProblem(this.loss)]
    const outcomes = await Promise.allSettled(this.#checks.map((check) => check()))
    return outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [toProblem(outcome.reason)] : []))
  }
}

/** One attempt at a time, however many ask; each who asks waits for a bounded time. */
function waitingFor(what: string, check: Check): Check {
  let attempt: Promise<void> | undefined
  return async () => {
    attempt ??= check().finally(() => (attempt = undefined))
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new AppError('unavailable', `${what} does not answer`)), READY_WAIT_MS)
    try {
      await Promise.race([attempt, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The words of a driver may name hosts and users, which are nobody's business here; its code says enough. */
function toProblem(reason: unknown): string {
  // A part of a sentence here, which ends where all parts do.
  if (reason instanceof AppError) return reason.message.replace(/[.]$/, '')
  return reason instanceof StoreError ? `the store cannot be written (${reason.driverCode})` : 'something broke'
}
