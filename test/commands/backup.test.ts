// Checks backups of the embedded store: made from a serving process under load, restored, and served again.
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import SqliteFile from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { NEW_PASSWORD } from '../support/accounts/account-calls.ts'
import { isOlder, makeOlder } from '../store/older-tables.ts'
import { basic, environmentOf, failureOf, run, runJson, startServing } from '../support/program.ts'
import type { EndedJson, FirstWorkspace, ServingProgram } from '../support/program.ts'
import { until } from '../support/server.ts'
import { openTestDatabase } from '../support/stores.ts'

// Several processes are started one after another, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

const SENDERS = 4
const PAGE_EVENTS = 500
/** A check for existence does not see a link to this, but no file can be made where the link is. */
const NOWHERE = 'nowhere'

let folder: string

beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'tidings-backup-'))))
afterAll(() => rmSync(folder, { recursive: true }))

/** A client that sends numbered events, each with its own key for retries. */
class Client {
  /** The numbers of acknowledged events, in order of acknowledgement, with the ids of their requests. */
  readonly acknowledged = new Map<number, string>()
  readonly #url: string
  readonly #keys: FirstWorkspace
  #last = 0
  #isStopped = false

  constructor(url: string, keys: FirstWorkspace) {
    this.#url = url
    this.#keys = keys
  }

  async send(number = ++this.#last): Promise<string> {
    const actions = [{ action: 'Order Placed', attributes: { number } }]
    const answer = await fetch(`${this.#url}/v1/event/main`, {
      method: 'POST',
      headers: {
        authorization: basic('main', this.#keys.data_key),
        'content-type': 'application/json',
        'idempotency-key': `order-${number}`,
      },
      body: JSON.stringify({ type: 'event', customer_id: 'c1', actions }),
    })
    const { request_id } = (await answer.json()) as { request_id: string }
    if (answer.status === 200) this.acknowledged.set(number, request_id)
    return request_id
  }

  /** Sends one event after another until `stop` is called. */
  async keepSending(): Promise<void> {
    while (!this.#isStopped) await this.send()
  }

  stop(): void {
    this.#isStopped = true
  }

  /** The numbers of all stored events of the user, in order. */
  async stored(): Promise<number[]> {
    const numbers: number[] = []
    for (let before = ''; ;) {
      const query = `customer_id=c1&limit=${PAGE_EVENTS}${before}`
      const headers = { authorization: basic('main', this.#keys.data_key) }
      const answer = await fetch(`${this.#url}/v1/event/main?${query}`, { headers })
      if (answer.status === 404) return []
      const page = (await answer.json()) as {
        data: { attributes: { number: number } }[]
        next_before: string | null
      }
      numbers.push(...page.data.map(({ attributes }) => attributes.number))
      if (page.next_before === null) return numbers.toSorted((left, right) => left - right)
      before = `&before=${page.next_before}`
    }
  }
}

async function untilApplied(url: string): Promise<void> {
  await until(
    'the log is applied',
    async () => /^tidings_log_lag_entries 0$/m.test(await (await fetch(`${url}/metrics`)).text()),
    30_000,
  )
}

describe('a backup under load', () => {
  const environment = () => ({ DATA_DIR: join(folder, 'original') })
  const restoredEnvironment = () => ({ DATA_DIR: join(folder, 'restored') })
  const file = () => join(folder, 'backup.db')
  let keys: FirstWorkspace
  let written: EndedJson
  let readBack: EndedJson
  /** The events that were acknowledged before the backup began; `client` has all. */
  let before: number[]
  let client: Client
  let restored: ServingProgram
  let later: Client

  beforeAll(async () => {
    const server = await startServing(environment())
    keys = server.started.first_workspace as FirstWorkspace
    await run(['workspace', 'set', 'main', 'limits.track_events_per_minute=1000000'], environment())
    client = new Client(server.started.url, keys)
    const senders = Array.from({ length: SENDERS }, () => client.keepSending())
    await until('events are acknowledged', () => client.acknowledged.size > 200)
    before = [...client.acknowledged.keys()]
    written = await runJson(['backup', file()], environment())
    const atEnd = client.acknowledged.size
    await until('more are acknowledged', () => client.acknowledged.size > atEnd + 50)
    client.stop()
    await Promise.all(senders)
    await server.stop()
    readBack = await runJson(['restore', file()], restoredEnvironment())
    restored = await startServing(restoredEnvironment())
    later = new Client(restored.started.url, keys)
    await untilApplied(restored.started.url)
  })
  afterAll(() => restored.stop())

  it('is reported with its file and size, and later with the folder where it is restored', () => {
    expect(written).toEqual({ status: 0, stderr: '', body: { file: file(), bytes: statSync(file()).size } })
    const body = { file: file(), data_dir: restoredEnvironment().DATA_DIR }
    expect(readBack).toEqual({ status: 0, stderr: '', body })
  })

  it('contains everything that was acknowledged before it began, exactly once', async () => {
    const stored = await later.stored()
    const missing = before.filter((number) => !stored.includes(number))
    expect(missing).toEqual([])
    expect(stored.length).toBe(new Set(stored).size)
    expect(restored.started.first_workspace).toBeUndefined()
  })

  it('recognises retries of the requests that it contains, and of no others', async () => {
    const [first = 0] = before
    expect(await later.send(first)).toBe(client.acknowledged.get(first))
    const lost = Math.max(...client.acknowledged.keys())
    expect(await later.stored()).not.toContain(lost)
    expect(await later.send(lost)).not.toBe(client.acknowledged.get(lost))
    await untilApplied(restored.started.url)
    const stored = await later.stored()
    expect(stored.filter((number) => number === first || number === lost)).toEqual([first, lost])
  })

  it('assigns no position twice after it is restored', async () => {
    const count = (await later.stored()).length
    for (let number = 1_000_001; number <= 1_000_020; number++) await later.send(number)
    await untilApplied(restored.started.url)
    expect((await later.stored()).length).toBe(count + 20)
  })

  it('overwrites no file', async () => {
    const bytes = readFileSync(file())
    expect(failureOf(await runJson(['backup', file()], environment()))).toMatchObject({ status: 1, code: 'conflict' })
    expect(readFileSync(file()).equals(bytes)).toBe(true)
  })

  it('overwrites no file that appears after its check', async () => {
    const raced = join(folder, 'raced.db')
    symlinkSync(NOWHERE, raced)
    expect(failureOf(await runJson(['backup', raced], environment()))).toMatchObject({ status: 1, code: 'conflict' })
    expect(lstatSync(raced).isSymbolicLink()).toBe(true)
    expect(readdirSync(folder).filter((name) => name.startsWith('raced.db'))).toEqual(['raced.db'])
  })

  it.each(['-', ''])('refuses %j, which is not the path of a file', async (name) => {
    for (const command of ['backup', 'restore']) {
      const refused = failureOf(await runJson([command, name], environment()))
      expect(refused).toMatchObject({ status: 1, code: 'invalid_request', fields: ['FILE'] })
    }
  })

  it('requires an existing folder', async () => {
    const ended = await runJson(['backup', join(folder, 'nowhere', 'backup.db')], environment())
    expect(failureOf(ended)).toMatchObject({ status: 1, code: 'invalid_request' })
  })

  it('leaves no other files beside its own', () => {
    expect(readdirSync(folder).filter((name) => name.startsWith('backup.db'))).toEqual(['backup.db'])
  })

  it('fails for a folder without a store, and makes none there', async () => {
    const dataDir = join(folder, 'elsewhere')
    const ended = await runJson(['backup', join(folder, 'nothing.db')], { DATA_DIR: dataDir })
    expect(failureOf(ended)).toMatchObject({
      status: 1,
      code: 'not_found',
      message: expect.stringContaining(dataDir) as string,
    })
    expect([existsSync(dataDir), existsSync(join(folder, 'nothing.db'))]).toEqual([false, false])
  })

  it('is not restored over existing data', async () => {
    const ended = await runJson(['restore', file()], environment())
    expect(failureOf(ended)).toMatchObject({ status: 1, code: 'conflict' })
  })
})

it('a backup contains entries that the pipeline has not applied yet', async () => {
  const environment = { DATA_DIR: join(folder, 'unapplied') }
  const server = await startServing(environment, ['--role', 'http'])
  const client = new Client(server.started.url, server.started.first_workspace as FirstWorkspace)
  for (let number = 1; number <= 5; number++) await client.send(number)
  const file = join(folder, 'unapplied.db')
  expect(await run(['backup', file], environment)).toMatchObject({ status: 0 })
  await server.stop()
  const restoredEnvironment = { DATA_DIR: join(folder, 'unapplied-restored') }
  expect(await run(['restore', file], restoredEnvironment)).toMatchObject({ status: 0, stderr: '' })
  const restored = await startServing(restoredEnvironment)
  await untilApplied(restored.started.url)
  const later = new Client(restored.started.url, server.started.first_workspace as FirstWorkspace)
  expect(await later.stored()).toEqual([1, 2, 3, 4, 5])
  await restored.stop()
})

it('a restore ends all sessions, so that none comes back which has ended since', async () => {
  const environment = { DATA_DIR: join(folder, 'signed-in') }
  const server = await startServing(environment)
  const { url, setup_url: link = '' } = server.started
  const owner = { token: new URL(link).hash.slice(1), email: 'ada@example.com', name: 'Ada', password: NEW_PASSWORD }
  const headers = { 'content-type': 'application/json' }
  const accept = { method: 'POST', headers, body: JSON.stringify(owner) }
  const accepted = await fetch(`${url}/v1/access-links/accept`, accept)
  const cookie = accepted.headers.get('set-cookie')?.split(';')[0] ?? ''
  const statusAt = async (at: string) => (await fetch(`${at}/v1/sessions`, { headers: { cookie } })).status
  expect(await statusAt(url)).toBe(200)
  const file = join(folder, 'signed-in.db')
  expect(await run(['backup', file], environment)).toMatchObject({ status: 0 })
  await server.stop()
  const restoredEnvironment = { DATA_DIR: join(folder, 'signed-in-restored') }
  expect(await run(['restore', file], restoredEnvironment)).toMatchObject({ status: 0, stderr: '' })
  const restored = await startServing(restoredEnvironment)
  expect(await statusAt(restored.started.url)).toBe(401)
  // The person is still there.
  expect(restored.started.setup_url).toBeUndefined()
  await restored.stop()
})

it('a backup succeeds beside the unfinished file of another, which it leaves unchanged', async () => {
  const environment = { DATA_DIR: join(folder, 'killed') }
  const [file, half] = [join(folder, 'killed.db'), 'half of a backup']
  await run(['workspace', 'create', 'main'], environment)
  // In a container each command has the same process id.
  const script = `import { writeFileSync } from 'node:fs'
    writeFileSync(${JSON.stringify(`${file}.unfinished-`)} + process.pid, ${JSON.stringify(half)})`
  const preload = `--import=data:text/javascript,${encodeURIComponent(script)}`
  expect(await run(['backup', file], { ...environment, NODE_OPTIONS: preload })).toMatchObject({
    status: 0,
    stderr: '',
  })
  const beside = readdirSync(folder).filter((name) => name.startsWith('killed.db.'))
  expect(beside.map((name) => readFileSync(join(folder, name), 'utf8'))).toEqual([half])
})

it('a backup copies a store of an older version unchanged, and a restore migrates it', async () => {
  const location = { dataDir: join(folder, 'older'), databaseUrl: undefined }
  const file = join(folder, 'older.db')
  await run(['workspace', 'create', 'main'], environmentOf(location))
  // From this table, a backup reads how far the log is applied.
  await makeOlder(location, ['cursors'])
  expect(await run(['backup', file], environmentOf(location))).toMatchObject({ status: 0, stderr: '' })
  expect(await isOlder(location)).toBe(true)
  const copy = { dataDir: join(folder, 'older-copy'), databaseUrl: undefined }
  mkdirSync(copy.dataDir)
  copyFileSync(file, join(copy.dataDir, 'state.db'))
  expect(await isOlder(copy)).toBe(true)
  new SqliteFile(file).exec('drop table cursors').close()
  const restored = { dataDir: join(folder, 'older-restored'), databaseUrl: undefined }
  expect(await run(['restore', file], environmentOf(restored))).toMatchObject({ status: 0, stderr: '' })
  expect(await isOlder(restored)).toBe(false)
  expect(await runJson(['workspace', 'list'], environmentOf(restored))).toMatchObject({ status: 0 })
})

it('a backup refuses a store of a newer version', async () => {
  const location = { dataDir: join(folder, 'newer'), databaseUrl: undefined }
  const database = await openTestDatabase(location)
  await database.write(({ query }) =>
    query.insertInto('migrations').values({ name: '9999-later', applied_at: 1 }).execute(),
  )
  await database.close()
  const refused = failureOf(await runJson(['backup', join(folder, 'newer.db')], environmentOf(location)))
  expect(refused).toMatchObject({ status: 1, code: 'conflict', message: expect.stringContaining('newer') as string })
  expect(readdirSync(folder).filter((name) => name.startsWith('newer.db'))).toEqual([])
})

describe('restore', () => {
  const environment = () => ({ DATA_DIR: join(folder, 'target') })

  beforeAll(async () => {
    await run(['workspace', 'create', 'main'], { DATA_DIR: join(folder, 'source') })
    await run(['backup', join(folder, 'good.db')], { DATA_DIR: join(folder, 'source') })
  })

  const unfit: [what: string, make: (path: string) => void][] = [
    ['a text file', (path) => writeFileSync(path, 'not a database\n'.repeat(1_000))],
    ['an empty file', (path) => writeFileSync(path, '')],
    ['a backup of a newer format', (path) => makeNewer(path)],
    ['a copy of state.db', (path) => copyFileSync(join(folder, 'source', 'state.db'), path)],
    [
      'half a backup',
      (path) => damage(path, (bytes) => truncateSync(path, Math.floor(bytes.length / 2 / 4096) * 4096)),
    ],
    [
      'a backup with a damaged page',
      (path) => damage(path, (bytes) => writeFileSync(path, bytes.fill(0x55, 8192, 12_288))),
    ],
  ]
  it.each(unfit)('refuses %s, and leaves the data directory empty', async (_what, make) => {
    const path = join(folder, 'unfit.db')
    rmSync(path, { force: true })
    make(path)
    const ended = await runJson(['restore', path], environment())
    expect(failureOf(ended)).toMatchObject({ status: 1, code: 'invalid_request' })
    expect(() => readdirSync(environment().DATA_DIR)).toThrow('ENOENT')
  })

  it('refuses a backup of an unreleased draft, and leaves the data directory empty', async () => {
    const path = join(folder, 'draft.db')
    copyFileSync(join(folder, 'good.db'), path)
    new SqliteFile(path)
      .exec(`delete from migrations where name <> '0001-tables'; update migrations set name = '0001-workspaces'`)
      .exec(`create table entries (position integer)`)
      .close()
    const refused = failureOf(await runJson(['restore', path], environment()))
    expect(refused).toMatchObject({ status: 1, code: 'conflict', message: expect.stringContaining('draft') as string })
    expect(readdirSync(environment().DATA_DIR)).toEqual([])
    rmSync(environment().DATA_DIR, { recursive: true })
  })

  it('refuses a file that does not exist', async () => {
    const ended = await runJson(['restore', join(folder, 'none.db')], environment())
    expect(failureOf(ended)).toMatchObject({ status: 1, code: 'not_found' })
  })

  it.each(['state.db-wal', 'log.db-shm', 'state.db-journal'])(
    'does not treat a folder with %s as empty',
    async (name) => {
      const left = { DATA_DIR: join(folder, `left-${name}`) }
      mkdirSync(left.DATA_DIR)
      writeFileSync(join(left.DATA_DIR, name), 'of a killed server')
      const refused = failureOf(await runJson(['restore', join(folder, 'good.db')], left))
      expect(refused).toMatchObject({ status: 1, code: 'conflict', message: expect.stringContaining(name) as string })
      expect(readdirSync(left.DATA_DIR)).toEqual([name])
    },
  )

  it('overwrites no file that appears after its check', async () => {
    const raced = { DATA_DIR: join(folder, 'raced') }
    mkdirSync(raced.DATA_DIR)
    const state = join(raced.DATA_DIR, 'state.db')
    symlinkSync(NOWHERE, state)
    const refused = failureOf(await runJson(['restore', join(folder, 'good.db')], raced))
    expect(refused).toMatchObject({ status: 1, code: 'conflict', message: expect.stringContaining(state) as string })
    expect(readdirSync(raced.DATA_DIR)).toEqual(['state.db'])
    expect(lstatSync(state).isSymbolicLink()).toBe(true)
  })

  it('leaves a folder that no command uses when it is killed', async () => {
    const killed = { DATA_DIR: join(folder, 'killed-restore') }
    // Kills the restore as soon as it has written a file.
    const script = `import fs from 'node:fs'
      import { syncBuiltinESMExports } from 'node:module'
      const { createWriteStream } = fs
      fs.createWriteStream = (...args) => createWriteStream(...args).on('close', () => process.kill(process.pid, 'SIGKILL'))
      syncBuiltinESMExports()`
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(script)}`
    await run(['restore', join(folder, 'good.db')], { ...killed, NODE_OPTIONS })
    expect(readdirSync(killed.DATA_DIR)).toContain('state.db')
    for (const args of [['workspace', 'list'], ['serve'], ['restore', join(folder, 'good.db')]]) {
      const message = expect.stringContaining(
        'is incomplete. If no restore is running, empty the folder and restore again.',
      ) as string
      expect(failureOf(await runJson(args, killed))).toMatchObject({ status: 1, message })
    }
  })

  it('refuses the state.db of a restored store, which is no backup', async () => {
    const restored = { DATA_DIR: join(folder, 'restored-state') }
    expect(await run(['restore', join(folder, 'good.db')], restored)).toMatchObject({ status: 0, stderr: '' })
    const path = join(folder, 'restored-state.db')
    copyFileSync(join(restored.DATA_DIR, 'state.db'), path)
    const refused = failureOf(await runJson(['restore', path], { DATA_DIR: join(folder, 'of-restored') }))
    expect(refused).toMatchObject({ status: 1, code: 'invalid_request' })
  })

  it('restores settings and workspaces before a first start', async () => {
    const fresh = { DATA_DIR: join(folder, 'fresh') }
    expect(await run(['restore', join(folder, 'good.db')], fresh)).toMatchObject({ status: 0, stderr: '' })
    expect((await runJson(['workspace', 'show', 'main'], fresh)).body).toMatchObject({ workspace_id: 'main' })
  })
})

it.each([
  ['backup', {}, 'the tables and the log are in PostgreSQL: use pg_dump.'],
  ['restore', {}, 'the tables and the log are in PostgreSQL: use pg_restore.'],
  ['backup', { NATS_URL: 'nats://127.0.0.1:1' }, 'use pg_dump. The log is in NATS and has its own backup.'],
  ['restore', { NATS_URL: 'nats://127.0.0.1:1' }, 'use pg_restore. The log is in NATS and has its own backup.'],
])('%s refers to the tools of PostgreSQL and NATS if they store the data: with %j', async (command, log, advice) => {
  const elsewhere = { DATABASE_URL: 'postgres://127.0.0.1:1/none', DATA_DIR: join(folder, 'elsewhere'), ...log }
  const refused = failureOf(await runJson([command, join(folder, 'any.db')], elsewhere))
  expect(refused).toMatchObject({ status: 1, message: expect.stringContaining(advice) as string })
})

/** Writes a good backup in the format of a newer version. */
function makeNewer(path: string): void {
  copyFileSync(join(folder, 'good.db'), path)
  const file = new SqliteFile(path)
  file.pragma(`user_version = ${(file.pragma('user_version', { simple: true }) as number) + 1}`)
  file.close()
}

/** Writes a good backup and changes it. */
function damage(path: string, change: (bytes: Buffer) => void): void {
  copyFileSync(join(folder, 'good.db'), path)
  change(readFileSync(path))
}
