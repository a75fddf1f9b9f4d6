// Tells whether the files of the embedded store are still where they were opened. SQLite goes on with files that somebody has
// removed, moved away or replaced, such as by a restore beside the running server: it would take in what nobody can find again.
import { stat } from 'node:fs/promises'
import type { FastifyBaseLogger } from 'fastify'
import { codeOf } from '../core/thrown.ts'
import { startRepeating } from '../runtime/repeat.ts'
import { describeError } from '../store/describe-error.ts'

/** Not at each commit, which would then take longer: what was taken in before the change is gone with the files anyway. */
const LOOK_EVERY_MS = 250

export class OpenedFiles {
  readonly #paths: readonly string[]
  readonly #diagnostics: FastifyBaseLogger
  /** Which file was found at each path; SQLite makes the file beside its own only when it needs it. */
  readonly #opened = new Map<string, string>()
  #lost: string | undefined

  /** The paths are those of files of SQLite. */
  constructor(paths: readonly string[], diagnostics: FastifyBaseLogger) {
    this.#paths = paths.flatMap((path) => [path, `${path}-wal`])
    this.#diagnostics = diagnostics
  }

  /** Whether all were where they were opened when they were last looked at. */
  get areThere(): boolean {
    return this.#lost === undefined
  }

  /** To be called when all are open. The returned function stops the watch. */
  async watch(): Promise<() => Promise<void>> {
    await this.#look()
    return startRepeating(() => this.#look(), {
      everyMs: LOOK_EVERY_MS,
      onFailed: (error) => {
        this.#diagnostics.error({ err: describeError(error) }, 'cannot check the files of the store; retrying')
      },
    })
  }

  async #look(): Promise<void> {
    const before = this.#lost
    const found = await Promise.all(this.#paths.map(async (path) => ({ path, file: await findFile(path) })))
    this.#lost = found.find(({ path, file }) => !this.#isOpened(path, file))?.path
    if (this.#lost === before) return
    if (this.#lost === undefined) this.#diagnostics.warn('the files of the store are back where the server opened them')
    else
      this.#diagnostics.error(
        `${this.#lost} was removed, moved or replaced; the server refuses requests until it is restarted`,
      )
  }

  #isOpened(path: string, file: string | undefined): boolean {
    const opened = this.#opened.get(path)
    if (opened === undefined && file !== undefined) this.#opened.set(path, file)
    return opened === undefined || opened === file
  }
}

/** What distinguishes a file from every other; undefined when there is none at the path. */
async function findFile(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path, { bigint: true })
    return `${dev}:${ino}`
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
