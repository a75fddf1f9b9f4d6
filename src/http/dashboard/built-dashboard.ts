// Where a server gets the built dashboard from. In a checkout it builds the dashboard again if a file has changed, in a process of its
// own, without network; a start neither waits for that nor fails with it.
import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { FastifyBaseLogger } from 'fastify'
import { readDashboard, readManifest, type DashboardFiles } from './dashboard-files.ts'
import { hasChanged } from './manifest.ts'

/** Several times what the slowest machine takes. */
const BUILD_MS_MAX = 120_000

export interface DashboardPlace {
  /** Of the built files. */
  readonly folder: string
  /** The checkout whose sources they are made from; undefined in an image. */
  readonly checkout: string | undefined
}

/** The place for this program: a checkout runs its sources, and an image `dist/`. */
export function findDashboardPlace(): DashboardPlace {
  const root = dirname(findPackageJSON(import.meta.url) as string)
  return import.meta.url.endsWith('.ts')
    ? { folder: join(root, 'node_modules/.cache/tidings-dashboard'), checkout: root }
    : { folder: join(root, 'dist/dashboard'), checkout: undefined }
}

export class BuiltDashboard {
  readonly #place: DashboardPlace
  readonly #diagnostics: FastifyBaseLogger
  readonly #stopped = new AbortController()
  #prepared: Promise<void> | undefined
  #files: Promise<DashboardFiles> | undefined

  constructor(place: DashboardPlace, diagnostics: FastifyBaseLogger) {
    this.#place = place
    this.#diagnostics = diagnostics
  }

  /** Builds the dashboard if a file of the checkout has changed since it was built. Only the first call does anything. */
  prepare(): Promise<void> {
    this.#prepared ??= this.#buildIfChanged().catch((error: unknown) => {
      if (!this.#stopped.signal.aborted) this.#diagnostics.warn({ err: error }, 'cannot build the dashboard')
    })
    return this.#prepared
  }

  /** The files; undefined if they cannot be read. The next call tries again: somebody may have built them. */
  async findFiles(): Promise<DashboardFiles | undefined> {
    await this.prepare()
    this.#files ??= readDashboard(this.#place.folder)
    try {
      return await this.#files
    } catch {
      this.#files = undefined
      return undefined
    }
  }

  /** Ends a build that is under way. */
  stop(): void {
    this.#stopped.abort()
  }

  async #buildIfChanged(): Promise<void> {
    const { folder, checkout } = this.#place
    if (checkout === undefined || (await isCurrent(checkout, folder))) return
    if (canWriteBeside(folder)) return this.#build(checkout, folder)
    // A user who may only read the checkout, as a service should be.
    const temporary = mkdtempSync(join(tmpdir(), 'tidings-dashboard-'))
    try {
      const made = join(temporary, 'built')
      await this.#build(checkout, made)
      if (existsSync(made)) this.#files = Promise.resolve(await readDashboard(made))
    } finally {
      rmSync(temporary, { recursive: true, force: true })
    }
  }

  async #build(checkout: string, folder: string): Promise<void> {
    const program = join(checkout, 'dashboard/build.ts')
    const { signal } = this.#stopped
    const run = promisify(execFile)(process.execPath, [program, folder], { signal, timeout: BUILD_MS_MAX })
    const { stderr } = await run.catch((error: { readonly stderr?: string }) => {
      if (!error.stderr) throw error
      return { stderr: error.stderr }
    })
    if (stderr === '') this.#diagnostics.info({ folder }, 'built the dashboard, because its files had changed')
    else this.#diagnostics.warn(stderr.trim())
  }
}

async function isCurrent(checkout: string, folder: string): Promise<boolean> {
  const manifest = await readManifest(folder).catch(() => undefined)
  return manifest !== undefined && !(await hasChanged(checkout, manifest.inputs))
}

function canWriteBeside(folder: string): boolean {
  try {
    mkdirSync(dirname(folder), { recursive: true })
    accessSync(dirname(folder), constants.W_OK)
    return true
  } catch {
    return false
  }
}
