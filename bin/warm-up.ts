// Run by `npm ci`, and where an image is built: loads every source and starts Tidings once on nothing, so that what Node
// makes of the sources is kept for all later starts. One that has to make it anew takes half as long again, and needs 30 MiB
// more for as long as it runs: every thread then holds the translator from TypeScript.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { enableCompileCache, flushCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** For each step: a machine that takes longer starts cold. */
const WAIT_MS = 30_000
const ROOT = join(import.meta.dirname, '..')
const SOURCES = join(ROOT, 'src')
/** Where `bin/tidings` looks for it. */
const CACHE = process.env['NODE_COMPILE_CACHE'] ?? join(ROOT, 'node_modules/.cache/tidings')
/** They do something when they are loaded; to start the server loads them too. */
const ENTRANCES = /(?:-thread|^main)\.ts$/

try {
  enableCompileCache(CACHE)
  await loadAll()
  flushCompileCache()
  await startOnce()
} catch (error) {
  // Nothing is lost by it but some time at the next start, which also tells what is wrong.
  process.stderr.write(`Tidings was installed and not warmed up: ${(error as Error).message}\n`)
}

/** Also what only some settings need. */
async function loadAll(): Promise<void> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  const sources = files.filter((file) => file.endsWith('.ts') && !ENTRANCES.test(file))
  await Promise.all(sources.map((file) => import(join(SOURCES, file))))
}

async function startOnce(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-warm-up-'))
  const { PATH = '' } = process.env
  const server = spawn(join(ROOT, 'bin/tidings'), ['serve'], {
    env: { PATH, NODE_COMPILE_CACHE: CACHE, DATA_DIR: folder, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    await Promise.race([once(server.stdout, 'data', { signal: AbortSignal.timeout(WAIT_MS) }), endOf(server)])
    server.kill('SIGTERM')
    await once(server, 'exit', { signal: AbortSignal.timeout(WAIT_MS) })
  } finally {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

async function endOf(server: ChildProcess): Promise<never> {
  const [status] = (await once(server, 'exit')) as [number | null]
  throw new Error(`its first start ended with the status ${status}`)
}
