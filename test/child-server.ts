// Tidings as a real process of its own, which tests may kill.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { DatabasePlace } from '../src/store/open-database.ts'

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const START_WAIT_MS = 20_000

export interface ChildServer {
  readonly url: string
  readonly child: ChildProcess
  /** All that it has written to standard error so far. */
  readonly diagnostics: () => string
  /** Sends a signal and waits for the end; gives the exit code, null when the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

/** Starts `serve` on a free port, and waits until it says where it listens. */
export async function startChild(place: DatabasePlace, environment: Record<string, string> = {}): Promise<ChildServer> {
  const child = spawn(process.execPath, [MAIN, 'serve', '--json'], {
    env: {
      ...process.env,
      PORT: '0',
      DATA_DIR: place.dataDir,
      ...(place.databaseUrl !== undefined && { DATABASE_URL: place.databaseUrl }),
      LOG_LEVEL: 'error',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const started = await firstObject(child, () => errors)
  return {
    url: started.url,
    child,
    diagnostics: () => errors,
    async end(signal) {
      if (child.exitCode !== null) return child.exitCode
      const ended = once(child, 'exit')
      child.kill(signal)
      const [code] = (await ended) as [number | null]
      return code
    },
  }
}

/** What `serve --json` prints once it listens. */
async function firstObject(child: ChildProcess, errors: () => string): Promise<{ url: string }> {
  const deadline = AbortSignal.timeout(START_WAIT_MS)
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  while (!output.includes('\n')) {
    if (child.exitCode !== null || deadline.aborted) throw new Error(`the server did not start: ${errors()}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return JSON.parse(output) as { url: string }
}
