// Run by `npm ci`, and where an image is built: loads every source and starts Tidings once on nothing, so that what Node
// makes of the sources is kept for all later starts. One that has to make it anew takes half as long again, and needs 30 MiB
// more for as long as it runs: every thread then holds the translator from TypeScript.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { constants, enableCompileCache, flushCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

/** For the start and for the end: a machine that takes longer starts cold. */
const WAIT_MS = 30_000
const ROOT = join(import.meta.dirname, '..')
const SOURCES = join(ROOT, 'src')
/** Where `bin/tidings` looks for it; empty where whoever runs it wants nothing to be kept. */
const CACHE = process.env['NODE_COMPILE_CACHE'] ?? join(ROOT, 'node_modules/.cache/tidings')
/** They do something when they are loaded; to start the server loads them too. */
const ENTRANCES = /(?:-thread|^main)\.ts$/

try {
  if (CACHE !== '' && isKept(enableCompileCache(CACHE).status)) await warmUp()
} catch (error) {
  // Nothing is lost by it but some time at the next start, which also tells what is wrong.
  process.stderr.write(`Tidings was installed and not warmed up: ${(error as Error).message}\n`)
}
// Whatever a source has begun, an installation does not wait for it.
process.exit()

function isKept(status: number): boolean {
  const { ENABLED, ALREADY_ENABLED } = constants.compileCacheStatus
  return status === ENABLED || status === ALREADY_ENABLED
}

async function warmUp(): Promise<void> {
  await loadAll()
  flushCompileCache()
  const folder = mkdtempSync(join(tmpdir(), 'tidings-warm-up-'))
  try {
    await startOnce(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Also what only some settings need. */
async function loadAll(): Promise<void> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  const sources = files.filter((file) => file.endsWith('.ts') && !ENTRANCES.test(file))
  await Promise.all(sources.map((file) => import(pathToFileURL(join(SOURCES, file)).href)))
}

async function startOnce(dataDir: string): Promise<void> {
  const { PATH = '' } = process.env
  const server = spawn(join(ROOT, 'bin/tidings'), ['serve'], {
    env: { PATH, NODE_COMPILE_CACHE: CACHE, DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = endOf(server)
  const started = once(server.stdout, 'data', { signal: AbortSignal.timeout(WAIT_MS) })
  try {
    const first = await Promise.race([started, ended])
    if (typeof first === 'string') throw new Error(`its first start ended with ${first}`)
    server.kill('SIGTERM')
    await Promise.race([ended, pause(WAIT_MS, undefined, { ref: false })])
  } finally {
    server.kill('SIGKILL')
    await ended
  }
}

/** How it ended; what prevents a start is an end too. */
function endOf(server: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    server.once('exit', (status, signal) => resolve(signal ?? `the status ${status}`))
    server.once('error', ({ message }) => resolve(message))
  })
}
