// Checks that a command reports in one sentence that its output is lost on a full disk, and that a server continues.
import { existsSync } from 'node:fs'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { findFreePorts } from '../support/free-ports.ts'
import { basic, BIN, environmentOf, run, runJson, start } from '../support/program.ts'
import { until } from '../support/server.ts'
import { makeLocation, type TestLocation } from '../support/stores.ts'

// Several processes are started one after another, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 60_000 })

const START_WAIT_MS = 20_000
const LOST = 'tidings: The output could not be written: the disk is full.'
const KEYS_LOST = ' The keys of the workspace main are lost: replace them with `tidings key generate`.'

let location: TestLocation
beforeEach(async ({ skip }) => {
  skip(!existsSync('/dev/full'), 'this system has no device that is always full')
  location = await makeLocation('sqlite')
})
afterEach(() => location?.remove())

/** Runs the program in a shell. */
const startIn = (command: string, environment = {}) => {
  return start(['-c', `exec "$0" ${command}`, BIN], { ...environmentOf(location), ...environment }, 'sh')
}

it.each([
  ['standard output', '>/dev/full', `${LOST}${KEYS_LOST}\n`],
  ['standard output and standard error', '>/dev/full 2>/dev/full', ''],
])('a server continues, and can be stopped, when the disk of %s is full', async (_, full, expected) => {
  const [port] = await findFreePorts(1)
  const server = startIn(`serve ${full}`, { PORT: String(port), LOG_LEVEL: 'warn' })
  const isMade = async () => (await run(['workspace', 'show', 'main'], environmentOf(location))).status === 0
  await until('the first workspace is made', isMade, START_WAIT_MS)
  const { body } = await runJson(['key', 'generate', 'main', 'data', '--yes'], environmentOf(location))
  const headers = { authorization: basic('main', (body as { key: string }).key) }
  const answer = await fetch(`http://127.0.0.1:${port}/v1/customer/main?customer_id=nobody`, { headers })
  expect(answer.status).toBe(404)
  const { status, stderr } = await server.stop()
  expect({ status, stderr }).toEqual({ status: 0, stderr: expected })
})

it('a command reports that its output is lost, and fails', async () => {
  await run(['workspace', 'create', 'main'], environmentOf(location))
  const { status, stderr } = await startIn('workspace list >/dev/full').ended
  expect({ status, stderr }).toEqual({ status: 1, stderr: `${LOST}\n` })
})
