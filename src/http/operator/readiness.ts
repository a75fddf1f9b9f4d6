// Decides whether this process is ready for requests: store and log can be written now, and it is not stopping.
import { AppError } from '../../core/app-error.ts'
import type { LogReader, LogWriter } from '../../log/event-log.ts'
import { LogUnavailable } from '../../log/unavailable.ts'
import { listPipelineCursors } from '../../store/entries/cursors.ts'
import { refuseNewerTables } from '../../store/migrations.ts'
import { StoreError, type Database } from '../../store/store.ts'
import { lockWorkspaces } from '../../store/workspaces/workspaces.ts'
import { boundedAttempt } from './bounded-attempt.ts'

/** A part that takes longer to answer is not ready. */
export const READY_WAIT_MS = 2_000
/**
 * In a cluster, how long a process still serves after `/readyz` says that it is stopping. A balancer needs two refusals, a second
 * apart.
 */
export const DRAIN_MS = 3_000

const FILES_LOST = new AppError(
  'unavailable',
  'The files of the store were removed, moved or replaced while the server ran. Restart it.',
  [],
  1,
)

/** The process is not ready. The message says why in words for people, the causes in detail for operators. */
export class NotReady extends AppError {
  readonly causes: readonly unknown[]

  constructor(problems: readonly string[], causes: readonly unknown[] = []) {
    super('unavailable', `Not ready: ${problems.join('; ')}.`)
    this.causes = causes
  }
}

export interface ReadinessOptions {
  readonly database: Database
  readonly log: LogWriter
  readonly logReader: LogReader
  /** Whether writes still reach the files that the settings name. */
  readonly areFilesPresent?: (() => boolean) | undefined
}

/** A process whose tables were migrated by a newer version is not ready. */
export class Readiness {
  readonly #checks: readonly (() => Promise<void>)[]
  readonly #areFilesPresent: () => boolean
  #isStopping = false
  #isWatched = false

  constructor({ database, log, logReader, areFilesPresent = () => true }: ReadinessOptions) {
    this.#areFilesPresent = areFilesPresent
    this.#checks = [
      boundedAttempt(() => checkStore(database), { what: 'the store', waitMs: READY_WAIT_MS }),
      boundedAttempt(() => log.check(), { what: 'the log', waitMs: READY_WAIT_MS }),
      boundedAttempt(() => checkReading(database, logReader), { what: 'the log', waitMs: READY_WAIT_MS }),
    ]
  }

  /** Whether anything has asked so far, such as a balancer that acts on the answers. */
  get isWatched(): boolean {
    return this.#isWatched
  }

  /** Set if the files are gone: then nothing may be accepted, even if it could be written. */
  get loss(): AppError | undefined {
    return this.#areFilesPresent() ? undefined : FILES_LOST
  }

  /** From now on the process is not ready. */
  stop(): void {
    this.#isStopping = true
  }

  /** Throws `NotReady` when requests cannot be served. */
  async check(): Promise<void> {
    this.#isWatched = true
    const { problems, causes } = await this.findProblems()
    if (problems.length > 0) throw new NotReady(problems, causes)
  }

  /** Why requests cannot be served, in words for people, and the causes in detail for operators. */
  async findProblems(): Promise<{ readonly problems: readonly string[]; readonly causes: readonly unknown[] }> {
    if (this.#isStopping) return { problems: ['the process is stopping'], causes: [] }
    if (this.loss) return { problems: [toProblem(this.loss)], causes: [] }
    const outcomes = await Promise.allSettled(this.#checks.map((check) => check()))
    const causes = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
    return { problems: causes.map(toProblem), causes }
  }
}

async function checkStore(database: Database): Promise<void> {
  await refuseNewerTables(database)
  // A real change, to a number that may grow at any time: merely beginning a transaction would succeed on a full disk.
  await database.write(lockWorkspaces)
}

/** The pipeline of the embedded log stops for good at a damaged page. A shared log has other readers, and copies of each entry. */
async function checkReading(database: Database, logReader: LogReader): Promise<void> {
  if (logReader.partitions > 1) return
  const [cursor = 0] = await listPipelineCursors(database, logReader.partitions)
  await logReader.read(cursor, { entries: 1, bytes: 1 })
}

/** Names no parts and codes of drivers: these are in the diagnostics. */
function toProblem(reason: unknown): string {
  if (reason instanceof LogUnavailable) return 'the log cannot be written'
  // It becomes part of a sentence, which ends after the last part.
  if (reason instanceof AppError) return reason.message.replace(/[.]$/, '')
  return reason instanceof StoreError ? 'the store cannot be written' : 'something broke'
}
