// Counts large users in a process of its own, whose memory a test can bound.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { TestPlace } from '../stores.ts'

interface Bounds {
  readonly heapMib: number
  readonly timeoutMs: number
}

/**
 * As `bin/tidings` has garbage collected. A young generation as large as Node's own is moved into the old one faster than that is
 * collected, where it is small: then it depends on the moment whether there is room.
 */
const COLLECTING = ['--max-semi-space-size=8', '--no-allocation-site-pretenuring', '--no-parallel-scavenge']

/** Counts the users waiting in a store. Returns how the process ended, and what it had to say. */
export function countWaiting(
  { dataDir, databaseUrl }: TestPlace,
  { heapMib, timeoutMs }: Bounds,
): { readonly status: number | null; readonly stderr: string } {
  const script = fileURLToPath(new URL('count-waiting.ts', import.meta.url))
  const { DATABASE_URL: _url, ...environment } = process.env
  const env = { ...environment, DATA_DIR: dataDir, ...(databaseUrl && { DATABASE_URL: databaseUrl }) }
  const { status, stderr } = spawnSync(process.execPath, [...COLLECTING, `--max-old-space-size=${heapMib}`, script], {
    env,
    encoding: 'utf8',
    timeout: timeoutMs,
  })
  return { status, stderr }
}
