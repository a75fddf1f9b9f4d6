// Checks that the files of the embedded store are still where the server opened them. SQLite keeps using files that are removed,
// moved or replaced, for example by a restore beside the running server, and everything written to them then is lost.
import { stat } from 'node:fs/promises'
import type { FastifyBaseLogger } from 'fastify'
import { codeOf } from '../core/thrown.ts'
import type { Job } from './job.ts'

/** Not at each commit, which would slow it down: everything accepted before the change is lost with the files anyway. */
const CHECK_EVERY_MS = 250

export function watchFiles(files: OpenedFiles): Job {
  return { name: 'check the files of the store', everyMs: CHECK_EVERY_MS, run: () => files.check() }
}

export class OpenedFiles {
  readonly #paths: readonly string[]
  readonly #diagnostics: FastifyBaseLogger
  /** Path → the file that was first found there. SQLite creates the `-wal` file only when it needs it. */
  readonly #opened = new Map<string, string>()
  #missing: string | undefined

  /** The paths of SQLite files. */
  constructor(paths: readonly string[], diagnostics: FastifyBaseLogger) {
    this.#paths = paths.flatMap((path) => [path, `${path}-wal`])
    this.#diagnostics = diagnostics
  }

  /** Whether the last check found all files where they were opened. */
  get arePresent(): boolean {
    return this.#missing === undefined
  }

  /** Compares the files with those that were opened. The first call, when all are open, records them. */
  async check(): Promise<void> {
    const before = this.#missing
    const found = await Promise.all(this.#paths.map(async (path) => ({ path, file: await findFile(path) })))
    this.#missing = found.find(({ path, file }) => !this.#isOpened(path, file))?.path
    if (this.#missing === before) return
    if (this.#missing === undefined)
      this.#diagnostics.warn('the files of the store are back where the server opened them')
    else
      this.#diagnostics.error(
        `${this.#missing} was removed, moved or replaced; the server refuses requests until the files are back or it is restarted`,
      )
  }

  #isOpened(path: string, file: string | undefined): boolean {
    const opened = this.#opened.get(path)
    if (opened === undefined && file !== undefined) this.#opened.set(path, file)
    return opened === undefined || opened === file
  }
}

/** Device and inode of the file at a path; undefined if there is none. */
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
