// Counts large users in a process of its own, whose memory a test can bound.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { TestPlace } from './stores.ts'

interface Bounds {
  readonly heapMib: number
  readonly timeoutMs: number
}

/** Counts the users waiting in a store. Returns how the process ended, and what it had to say. */
export function countWaiting(
  { dataDir, databaseUrl }: TestPlace,
  { heapMib, timeoutMs }: Bounds,
): { readonly status: number | null; readonly stderr: string } {
  const script = fileURLToPath(new URL('count-waiting.ts', import.meta.url))
  const { DATABASE_URL: _url, ...environment } = process.env
  const env = { ...environment, DATA_DIR: dataDir, ...(databaseUrl && { DATABASE_URL: databaseUrl }) }
  const { status, stderr } = spawnSync(process.execPath, [`--max-old-space-size=${heapMib}`, script], {
    env,
    encoding: 'utf8',
    timeout: timeoutMs,
  })
  return { status, stderr }
}
