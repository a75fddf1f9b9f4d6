// Checks that a test file, even one that fails, leaves nothing behind for the next file in the same process.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { run } from '../support/program.ts'

const CONFIG = fileURLToPath(new URL('../../vitest.config.ts', import.meta.url))
const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))
const PROGRAM = JSON.stringify(fileURLToPath(new URL('../support/program.ts', import.meta.url)))
const TEST_WAIT_MS = 60_000

const LEAVES = `
import { expect, it, vi } from 'vitest'
import { start } from ${PROGRAM}
it('leaves a process and fake timers', () => {
  globalThis.left = start(['-e', 'setInterval(() => {}, 1_000)'], {}, process.execPath)
  vi.useFakeTimers()
  expect(globalThis.left.child.pid).toBeGreaterThan(0)
})`

const FINDS = `
import { expect, it, vi } from 'vitest'
it('finds neither', async () => {
  expect(vi.isFakeTimers()).toBe(false)
  await globalThis.left.ended
  expect(globalThis.left.child.signalCode).toBe('SIGKILL')
})`

it(
  'A test file does not leave processes or fake timers to the next file',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidings-files-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    mkdirSync(join(folder, 'test'))
    writeFileSync(join(folder, 'test/1-leaves.test.ts'), LEAVES)
    writeFileSync(join(folder, 'test/2-finds.test.ts'), FINDS)
    const options = ['--config', CONFIG, '--root', folder, '--project', 'all', '--maxWorkers=1']
    const { status, stdout } = await run([VITEST, 'run', ...options], {}, process.execPath)
    expect(stdout).toMatch(/Test Files .*2 passed/)
    expect(status).toBe(0)
  },
  TEST_WAIT_MS,
)
