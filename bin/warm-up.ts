// Run by `npm ci`, and when an image is built: bundles what Tidings is made with, loads every source and starts Tidings once on
// nothing, so that what Node makes of it all is kept for all later starts. A start that has to make it anew takes twice as long,
// and its process needs 50 MiB more for as long as it runs: every thread then holds the TypeScript translator.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { INSTALLED_CACHE } from './bundles.ts'

/** For each start and for its end: a machine that takes longer goes on starting cold. */
const WAIT_MS = 30_000
const ROOT = join(import.meta.dirname, '..')
/** Where `bin/tidings` looks for what is kept; empty where whoever runs it wants nothing to be kept. */
const CACHE = process.env['NODE_COMPILE_CACHE'] ?? INSTALLED_CACHE

if (CACHE !== '') {
  await attempt('its packages are not bundled', makeBundles)
  await attempt('not warmed up', warmUp)
}

/** A failure costs nothing but some time at each start, or at the next, which also tells what is wrong. */
async function attempt(otherwise: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    process.stderr.write(`Tidings was installed and ${otherwise}: ${(error as Error).message}\n`)
  }
}

/** The bundler is loaded only here, because this machine may not be able to load it. */
async function makeBundles(): Promise<void> {
  mkdirSync(CACHE, { recursive: true })
  const { bundlePackages } = await import('./bundle-packages.ts')
  const packages = await bundlePackages(CACHE)
  if (packages === undefined) return
  const { bundleSources } = await import('./bundle-sources.ts')
  await bundleSources(packages)
}

async function warmUp(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-warm-up-'))
  try {
    await loadSources(folder)
    await startOnce(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** By a command, because what is kept depends on the options that `bin/tidings` gives to Node. */
async function loadSources(dataDir: string): Promise<void> {
  const sources = new URL('load-sources.ts', import.meta.url)
  const command = startTidings(['--version'], { DATA_DIR: dataDir, NODE_OPTIONS: `--import=${sources.href}` })
  try {
    const end = await Promise.race([endOf(command), pause(WAIT_MS, 'no end', { ref: false })])
    if (end !== 'the status 0') throw new Error(`loading its sources ended with ${end}`)
  } finally {
    command.kill('SIGKILL')
  }
}

async function startOnce(dataDir: string): Promise<void> {
  const server = startTidings(['serve'], { DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'warn' })
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

function startTidings(args: readonly string[], environment: Readonly<Record<string, string>>) {
  const { PATH = '' } = process.env
  return spawn(join(ROOT, 'bin/tidings'), args, {
    env: { PATH, NODE_COMPILE_CACHE: CACHE, ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

/** How it ended; a failure to start is an end too. */
function endOf(server: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    server.once('exit', (status, signal) => resolve(signal ?? `the status ${status}`))
    server.once('error', ({ message }) => resolve(message))
  })
}
