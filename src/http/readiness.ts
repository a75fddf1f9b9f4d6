// Whether store and log can be written now. Asked by machines every few seconds, so that checks which do not come to an
// end must not pile up.
import { AppError } from '../core/app-error.ts'
import type { LogWriter } from '../log/event-log.ts'
import { StoreError, type Database } from '../store/store.ts'
import { lockWorkspaces } from '../store/workspaces.ts'

/** How long an answer is waited for before the part counts as not ready. */
const READY_WAIT_MS = 2_000

type Check = () => Promise<void>

export class Readiness {
  readonly #checks: readonly Check[]

  constructor(database: Database, log: LogWriter) {
    this.#checks = [
      // A real change, of a number that may grow at any time: beginning a transaction alone would succeed on a full disk.
      waitingFor('the store', () => database.write(lockWorkspaces)),
      waitingFor('the log', () => log.check()),
    ]
  }

  /** Why something cannot be written, in words for people; empty when everything can. */
  async findProblems(): Promise<string[]> {
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
  if (reason instanceof AppError) return reason.message
  return reason instanceof StoreError ? `the store cannot be written (${reason.driverCode})` : 'something broke'
}
