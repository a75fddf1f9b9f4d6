// `bin/warm-up.ts`, which `npm ci` runs: the first start finds what Node makes of the sources, as every later one does.
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { run, start, type Ended } from './program.ts'
import { until } from './server.ts'

const WARM_UP = fileURLToPath(new URL('../bin/warm-up.ts', import.meta.url))
const TEST_WAIT_MS = 60_000

let folder: string
let cache: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidings-cold-'))
  cache = join(folder, 'cache')
})
afterEach(() => rmSync(folder, { recursive: true }))

function warmUp(path = process.env['PATH'] ?? ''): Promise<Ended> {
  return run([WARM_UP], { NODE_COMPILE_CACHE: cache, PATH: path }, process.execPath)
}

/** Every file that is kept, and when it was written. */
function listKept(): string[] {
  const files = readdirSync(cache, { recursive: true, encoding: 'utf8' }).toSorted()
  return files.map((file) => `${file} ${statSync(join(cache, file)).mtimeMs}`)
}

it(
  'leaves nothing of the sources to be made by the first start',
  async () => {
    expect(await warmUp()).toEqual({ status: 0, stdout: '', stderr: '' })
    const kept = listKept()
    const env = { NODE_COMPILE_CACHE: cache, DATA_DIR: join(folder, 'data'), PORT: '0', LOG_LEVEL: 'warn' }
    const server = start(['serve'], env)
    await until('it serves', () => server.output().stdout.includes('serves on'), TEST_WAIT_MS)
    await server.stop('SIGTERM')
    expect(kept.length).toBeGreaterThan(0)
    expect(listKept()).toEqual(kept)
  },
  TEST_WAIT_MS,
)

it(
  'says when Tidings does not start, and does not fail the installation',
  async () => {
    const { status, stderr } = await warmUp(folder)
    expect(status).toBe(0)
    expect(stderr).toMatch(/^Tidings was installed and not warmed up: its first start ended with the status 1\n$/)
  },
  TEST_WAIT_MS,
)
