// Checks that commands that lose something ask first: on a terminal a question, elsewhere --yes.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { parkEntries } from '../../src/store/entries/parked-entries.ts'
import { endWithTests } from '../support/end-with-tests.ts'
import { BIN, environmentOf, run, runJson, start, type Environment } from '../support/program.ts'
import { until } from '../support/server.ts'
import { makeLocation, openTestDatabase, type TestLocation } from '../support/stores.ts'

vi.setConfig({ testTimeout: 60_000 })

const KEY = ['key', 'generate', 'main', 'data']
const DROP = ['parked', 'drop', '7']

let location: TestLocation
let environment: Environment
beforeAll(async () => {
  location = await makeLocation('sqlite')
  environment = environmentOf(location)
  await run(['workspace', 'create', 'main'], environment)
})
beforeEach(async () => {
  await run([...DROP, '--yes'], environment)
  const database = await openTestDatabase(location)
  const entry = { position: 7, workspaceId: 'main', kind: 'track_events', requestId: 'r', receivedAt: 1, context: '{}' }
  await database.write((store) => parkEntries(store, [{ ...entry, body: '{}', error: 'it is broken', parkedAt: 2 }]))
  await database.close()
})
afterAll(() => location.remove())

/** What a command would lose: the hash of the key, and the parked entry. */
async function readState(): Promise<unknown> {
  const database = await openTestDatabase(location)
  const keys = await database.query.selectFrom('workspaces').select('data_key_hash').execute()
  const parked = await database.query.selectFrom('parked_entries').select('position').execute()
  await database.close()
  return { keys, parked }
}

describe.each([
  ['key generate', KEY, 'The data key of main that is in use stops working within a second.'],
  ['parked drop', DROP, 'The accepted request at 7 is discarded permanently.'],
])('%s', (_name, args, sentence) => {
  it('changes nothing without a terminal and without --yes', async () => {
    const before = await readState()
    const { status, stdout, stderr } = await run(args, environment)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain(`tidings: ${sentence} Nothing was changed: confirm with --yes`)
    expect(await readState()).toEqual(before)
  })

  it('does not ask with --yes', async () => {
    const before = await readState()
    expect(await run([...args, '--yes'], environment)).toMatchObject({ status: 0, stderr: '' })
    expect(await readState()).not.toEqual(before)
  })

  it.for<[answer: string, expected: number]>([
    ['n\n', 1],
    ['\n', 1],
    ['\u0003', 1],
    ['\u0004', 1],
    ['y\n', 0],
  ])('asks on a terminal, and %j ends it with status %i', async ([answer, expected], { skip }) => {
    skip(spawnSync('script', ['--version']).status !== 0, 'the program `script` of util-linux is not installed')
    const before = await readState()
    const { status, printed } = await runOnTerminal(args, answer)
    expect(printed).toContain(`${sentence} Continue? [y/N]`)
    expect(printed.includes('Not confirmed. Nothing was changed.')).toBe(expected === 1)
    expect(status).toBe(expected)
    const after = await readState()
    expect(isDeepStrictEqual(after, before)).toBe(expected === 1)
  })
})

it('a new key that nobody can read is reported as lost', async () => {
  const command = start([...KEY, '--yes'], environment)
  command.child.stdout?.destroy()
  const { status, stderr } = await command.ended
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr:
      'tidings: The output could not be written: nobody reads it. The new key is lost, and the old one no longer works: ' +
      'run `tidings key generate main data` again.\n',
  })
})

it('the keys of a new workspace that nobody can read are reported as lost', async () => {
  const command = start(['workspace', 'create', 'unread'], environment)
  command.child.stdout?.destroy()
  const { status, stderr } = await command.ended
  expect(status).toBe(1)
  expect(stderr).toContain('The keys of the workspace unread are lost')
  expect(await runJson(['workspace', 'show', 'unread'], environment)).toMatchObject({ status: 0 })
})

/** Runs a command on a terminal of its own, and types the answer when it asks. */
async function runOnTerminal(args: readonly string[], answer: string): Promise<{ status: unknown; printed: string }> {
  const line = [BIN, ...args].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
  })
  endWithTests(child)
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  const ended = once(child, 'close')
  await until('it asks', () => printed.includes('[y/N]'), 20_000)
  child.stdin.write(answer)
  const [status] = await ended
  return { status, printed }
}
