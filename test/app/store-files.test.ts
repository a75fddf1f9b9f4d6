// The files of an embedded store: lost, swapped, foreign and inaccessible ones are refused, each with a way out that works.
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { refuseWrongFiles } from '../../src/app/refuse-wrong-files.ts'
import { readFileIdentity } from '../../src/store/sqlite/file-identity.ts'
import {
  basic,
  failureOf,
  run,
  runJson,
  startServing,
  type FirstWorkspace,
  type ServingProgram,
} from '../support/program.ts'
import { until } from '../support/server.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })

/** A user without rights, on every Linux. */
const NOBODY = 65_534
const isRoot = process.geteuid?.() === 0

let folder: string
let keys: FirstWorkspace
const at = (...names: string[]) => join(folder, ...names)

/** The stores that the tests copy: `stopped`; `killed`, with its write-ahead logs; and `other`. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidings-files-'))
  const server = await startServing({ DATA_DIR: at('stopped') })
  keys = server.started.first_workspace as FirstWorkspace
  await track(server, 'before')
  cpSync(at('stopped'), at('killed'), { recursive: true })
  await server.stop()
  await run(['backup', at('backup.db')], { DATA_DIR: at('stopped') })
  await run(['restore', at('backup.db')], { DATA_DIR: at('restored') })
})
afterAll(() => rmSync(folder, { recursive: true }))

async function track({ started }: ServingProgram, customerId: string): Promise<void> {
  const headers = { authorization: basic('main', keys.data_key), 'content-type': 'application/json' }
  const body = JSON.stringify({ type: 'event', customer_id: customerId, actions: [{ action: 'Opened' }] })
  expect((await fetch(`${started.url}/v1/event/main`, { method: 'POST', headers, body })).status).toBe(200)
  await until('the event is applied', async () => (await listEvents(started.url, customerId)).length > 0)
}

/** None while the user is not processed yet. */
async function listEvents(url: string, customerId: string): Promise<unknown[]> {
  const headers = { authorization: basic('main', keys.data_key) }
  const answer = await fetch(`${url}/v1/event/main?customer_id=${customerId}`, { headers })
  return ((await answer.json()) as { data?: unknown[] }).data ?? []
}

let copies = 0
/** A copy of a store, changed by the test. */
function copyOf(name: string, change: (dir: string) => void = () => {}): string {
  const dir = at(`copy-${++copies}`)
  cpSync(at(name), dir, { recursive: true })
  change(dir)
  return dir
}

const swap = (one: string, other: string) => {
  renameSync(one, `${one}.away`)
  renameSync(other, one)
  renameSync(`${one}.away`, other)
}

it.each<[what: string, store: string, change: (dir: string) => void, message: RegExp]>([
  [
    'an empty state file beside a log',
    'stopped',
    (dir) => truncateSync(join(dir, 'state.db')),
    /state\.db is empty, but the log beside it has reached position 1\. .*`tidings restore`/,
  ],
  [
    'a missing state file beside a log',
    'stopped',
    (dir) => rmSync(join(dir, 'state.db')),
    /state\.db is missing, but the log beside it has reached position 1\. .*`tidings restore`/,
  ],
  [
    'a missing state file beside its write-ahead log',
    'killed',
    (dir) => rmSync(join(dir, 'state.db')),
    /state\.db is missing, but its write-ahead log .*state\.db-wal is not\. .*`tidings restore`/,
  ],
  [
    'an empty log beside its write-ahead log',
    'killed',
    (dir) => truncateSync(join(dir, 'log.db')),
    /log\.db is empty, but its write-ahead log .*log\.db-wal is not\. .*`tidings restore`/,
  ],
  [
    'swapped files',
    'stopped',
    (dir) => swap(join(dir, 'state.db'), join(dir, 'log.db')),
    /state\.db and .*log\.db are swapped\. Exchange their names/,
  ],
  [
    'the log of another store',
    'stopped',
    (dir) => copyFileSync(at('restored', 'log.db'), join(dir, 'log.db')),
    /are from different stores\. .*`tidings restore`/,
  ],
  [
    'the tables of another store',
    'stopped',
    (dir) => copyFileSync(at('restored', 'state.db'), join(dir, 'state.db')),
    /are from different stores\. .*`tidings restore`/,
  ],
  [
    'a backup in the place of the tables',
    'stopped',
    (dir) => copyFileSync(at('backup.db'), join(dir, 'state.db')),
    /state\.db is a backup, not a store\. .*`tidings restore`/,
  ],
  [
    'restored files beside old write-ahead logs',
    'killed',
    (dir) => ['state.db', 'log.db'].forEach((name) => copyFileSync(at('restored', name), join(dir, name))),
    /state\.db-wal was left by another store .* would change it\. .*`tidings restore`/,
  ],
])('refuses %s, and changes nothing', (_what, store, change, message) => {
  const dir = copyOf(store, change)
  const sizes = () => ['state.db', 'log.db'].map((name) => statSync(join(dir, name), { throwIfNoEntry: false })?.size)
  const before = sizes()
  expect(() => refuseWrongFiles(dir)).toThrow(message)
  expect(sizes()).toEqual(before)
})

it.each(['stopped', 'killed', 'restored'])('accepts the files of a store as they are: %s', (store) => {
  expect(() => refuseWrongFiles(copyOf(store))).not.toThrow()
})

it('marks both files with the same id, and restored ones with another', () => {
  const idsIn = (name: string) => ['state.db', 'log.db'].map((file) => readFileIdentity(at(name, file))?.storeId)
  const [[state, log], [restoredState, restoredLog]] = [idsIn('stopped'), idsIn('restored')]
  expect(state).toBeGreaterThan(0)
  expect([log, restoredLog]).toEqual([state, restoredState])
  expect(restoredState).not.toBe(state)
})

it('serve and other commands refuse such files', async () => {
  const DATA_DIR = copyOf('stopped', (dir) => rmSync(join(dir, 'state.db')))
  for (const args of [['serve'], ['workspace', 'list'], ['workspace', 'create', 'other'], ['backup', at('none.db')]]) {
    expect(failureOf(await runJson(args, { DATA_DIR, PORT: '0' }))).toMatchObject({ status: 1, code: 'conflict' })
  }
  expect(readdirSync(DATA_DIR)).not.toContain('state.db')
})

it('serve refuses tables whose log is lost; a backup and a restore elsewhere go on with them', async () => {
  const DATA_DIR = copyOf('stopped', (dir) => rmSync(join(dir, 'log.db')))
  const failure = failureOf(await runJson(['serve'], { DATA_DIR, PORT: '0', LOG_LEVEL: 'fatal' }))
  expect(failure).toMatchObject({ status: 1, code: 'conflict' })
  expect(failure?.message).toMatch(/run `tidings backup`, then `tidings restore` into an empty folder\.$/)
  expect(await run(['backup', at('tables.db')], { DATA_DIR })).toMatchObject({ status: 0 })
  const elsewhere = { DATA_DIR: at('elsewhere') }
  expect(await run(['restore', at('tables.db')], elsewhere)).toMatchObject({ status: 0 })
  const server = await startServing(elsewhere)
  await track(server, 'after')
  expect(await listEvents(server.started.url, 'before')).toHaveLength(1)
  expect((await server.stop()).stderr).toBe('')
})

it('only one process serves a folder with the role http; a pipeline may run beside it, and a kill leaves no lock', async () => {
  const environment = { DATA_DIR: copyOf('stopped') }
  const first = await startServing(environment, ['--role', 'http'])
  const second = failureOf(await runJson(['serve', '--role', 'http'], { ...environment, PORT: '0' }))
  expect(second).toMatchObject({ status: 1, code: 'conflict' })
  expect(second?.message).toContain(
    `Process ${first.child.pid} already serves ${environment.DATA_DIR} with the role http`,
  )
  const pipeline = await startServing(environment, ['--role', 'pipeline'])
  await track(first, 'through-both')
  await first.stop('SIGKILL')
  const third = await startServing(environment)
  await pipeline.stop()
  expect(await third.stop()).toMatchObject({ status: 0, stderr: '' })
})

it('root makes files for the owner of the folder, also when it restores', async ({ skip }) => {
  skip(!isRoot, 'only root can give files away')
  for (const [name, args] of [
    ['given', ['workspace', 'create', 'main']],
    ['given-restored', ['restore', at('backup.db')]],
  ] as const) {
    mkdirSync(at(name))
    chownSync(at(name), NOBODY, NOBODY)
    expect(await run(args, { DATA_DIR: at(name) })).toMatchObject({ status: 0 })
    const server = await startServing({ DATA_DIR: at(name) })
    const owners = readdirSync(at(name)).map((file) => [file, statSync(at(name, file)).uid])
    await server.stop()
    expect(owners.map(([file]) => file)).toContain('http.lock')
    expect(owners).toEqual(owners.map(([file]) => [file, NOBODY]))
  }
})

it('names the owner of a file that this user may not open', async ({ skip }) => {
  skip(!isRoot, 'only root can run a program as another user')
  chmodSync(folder, 0o755)
  const dir = copyOf('stopped')
  chownSync(dir, NOBODY, NOBODY)
  chmodSync(join(dir, 'log.db'), 0o600)
  const script = `import { refuseWrongFiles } from './src/app/refuse-wrong-files.ts'
    process.setuid(${NOBODY})
    try { refuseWrongFiles(${JSON.stringify(dir)}) } catch (error) { console.log(error.message) }`
  const args = ['--input-type=module-typescript', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const path = join(dir, 'state.db')
  expect(stdout).toContain(
    `${path} cannot be opened: it belongs to user 0 with the permissions 600, and this process runs as user ${NOBODY}`,
  )
})
