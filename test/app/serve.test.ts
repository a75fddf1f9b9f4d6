// Checks `serve` in separate processes: the first start, how it stops, how it notices changes by other processes, and its roles.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sql, type RawBuilder } from 'kysely'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { EmailVault } from '../../src/store/users/email-vault.ts'
import { openDatabase } from '../../src/store/open-database.ts'
import type { Database } from '../../src/store/store.ts'
import { saveUsers } from '../../src/store/users/users.ts'
import { listWorkspaces } from '../../src/store/workspaces/workspaces.ts'
import { findFreePorts } from '../support/free-ports.ts'
import {
  basic,
  BIN,
  environmentOf,
  failureOf,
  run,
  runJson,
  start,
  startServing,
  type Environment,
  type FirstWorkspace,
  type ServingProgram,
  type Started,
} from '../support/program.ts'
import { FAR_FUTURE, newEntry } from '../log/log-contract.ts'
import { describeLogLocation } from '../../src/log/describe-log-location.ts'
import { openSqliteLog } from '../../src/log/sqlite/sqlite-log.ts'
import { isOlder, makeOlder } from '../store/older-tables.ts'
import { until } from '../support/server.ts'
import {
  describeEachStore,
  describeOnPostgres,
  makeLocation,
  makeStore,
  openTestDatabase,
  type TestLocation,
} from '../support/stores.ts'

// Several processes are started one after another, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

/** How soon a replaced key or a suspension takes effect in a running server ("Tiles"). */
const KEYS_WAIT_MS = 1_000
/** How soon changed settings take effect. */
const SETTINGS_WAIT_MS = 5_000

const body = JSON.stringify({ type: 'event', customer_id: 'c1', actions: [{ action: 'Order Placed' }] })

/** Sends one event; returns the response. */
function track(url: string, workspaceId: string, key: string): Promise<Response> {
  const headers = { authorization: basic(workspaceId, key), 'content-type': 'application/json' }
  return fetch(`${url}/v1/event/${workspaceId}`, { method: 'POST', headers, body })
}

/** What became of the request of an answer. Unlike a question about the user, it waits for nothing and is never refused. */
async function statusOf(url: string, key: string, answer: Response): Promise<string> {
  expect(answer.status).toBe(200)
  const { request_id } = (await answer.clone().json()) as { request_id: string }
  const headers = { authorization: basic('main', key) }
  const found = await fetch(`${url}/v1/event/main/requests/${request_id}`, { headers })
  return ((await found.json()) as { status: string }).status
}

async function countEvents(url: string, { workspace_id, data_key }: FirstWorkspace): Promise<number> {
  const headers = { authorization: basic(workspace_id, data_key) }
  const answer = await fetch(`${url}/v1/event/${workspace_id}?customer_id=c1`, { headers })
  return !answer.ok ? 0 : ((await answer.json()) as { data: unknown[] }).data.length
}

describeEachStore('a server in a process of its own', (kind) => {
  let location: TestLocation
  let environment: Environment
  let server: ServingProgram
  let keys: FirstWorkspace
  let other: FirstWorkspace

  beforeAll(async () => {
    location = await makeLocation(kind)
    environment = environmentOf(location)
    const startedAt = performance.now()
    server = await startServing(environment)
    process.stdout.write(`ready after ${Math.round(performance.now() - startedAt)} ms on ${kind}\n`)
    keys = server.started.first_workspace as FirstWorkspace
  })
  afterAll(async () => {
    await server.stop('SIGKILL')
    await location.remove()
  })

  it('creates a workspace on the first start, and prints its URL', async () => {
    expect(server.started).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string,
      roles: ['http', 'pipeline', 'delivery'],
      first_workspace: {
        workspace_id: 'main',
        data_key: expect.stringMatching(/^td_data_/) as string,
        reports_key: expect.stringMatching(/^td_reports_/) as string,
      },
      setup_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/dashboard\/setup#[\w-]{43}$/) as string,
    })
    const { url } = server.started
    const answer = await track(url, 'main', keys.data_key)
    await until('it is applied', async () => (await statusOf(url, keys.data_key, answer)) === 'processed')
    expect(await countEvents(url, keys)).toBe(1)
  })

  it('finishes a request in flight on SIGTERM, then exits with status 0', async () => {
    const { url } = server.started
    const headers = { authorization: basic('main', keys.data_key), 'content-type': 'application/json' }
    const sending = request(`${url}/v1/event/main`, { method: 'POST', headers })
    sending.write(body.slice(0, 10))
    await until('the request has arrived', async () => (await fetch(`${url}/healthz`)).ok)
    const stopping = server.stop('SIGTERM')
    await until('it takes no more connections', () =>
      fetch(`${url}/healthz`).then(
        () => false,
        () => true,
      ),
    )
    sending.end(body.slice(10))
    const [answer] = (await once(sending, 'response')) as [{ statusCode: number }]
    expect(answer.statusCode).toBe(200)
    expect(await stopping).toMatchObject({ status: 0, stderr: '' })
  })

  it('keeps its data when it starts again, and creates no other workspace', async () => {
    server = await startServing(environment)
    expect(server.started.first_workspace).toBeUndefined()
    await until('both events are there', async () => (await countEvents(server.started.url, keys)) === 2)
  })

  it('serves a workspace as soon as another process has created it', async () => {
    other = (await runJson(['workspace', 'create', 'other'], environment)).body as FirstWorkspace
    expect((await track(server.started.url, 'other', other.data_key)).status).toBe(200)
  })

  it('accepts a new key at once, and refuses the replaced one within a second', async () => {
    const { body } = await runJson(['key', 'generate', 'main', 'data', '--yes'], environment)
    const old = keys.data_key
    keys = { ...keys, data_key: (body as { key: string }).key }
    expect((await track(server.started.url, 'main', keys.data_key)).status).toBe(200)
    const isRefused = async () => (await track(server.started.url, 'main', old)).status === 401
    await until('the old key fails', isRefused, KEYS_WAIT_MS)
  })

  it('refuses a suspended workspace within a second', async () => {
    await run(['workspace', 'set', 'other', 'suspended=true'], environment)
    const isRefused = async () => (await track(server.started.url, 'other', other.data_key)).status === 403
    expect(await until('the workspace is suspended', isRefused, KEYS_WAIT_MS)).toBe(true)
  })

  it('applies changed settings within 5 seconds', async () => {
    await run(['workspace', 'set', 'main', 'limits.track_events_per_minute=77'], environment)
    const applies = async () => {
      const answer = await track(server.started.url, 'main', keys.data_key)
      return answer.headers.get('x-ratelimit-limit') === '77'
    }
    expect(await until('the new limit applies', applies, SETTINGS_WAIT_MS)).toBe(true)
  })

  it('exits with status 0 on SIGINT too', async () => {
    expect(await server.stop('SIGINT')).toMatchObject({ status: 0 })
  })

  it('accepts events in a process with the role http, and applies them in another with the role pipeline', async () => {
    server = await startServing(environment, ['--role', 'http'])
    expect(server.started.roles).toEqual(['http'])
    const { url } = server.started
    const answer = await track(url, 'main', keys.data_key)
    expect(await statusOf(url, keys.data_key, answer)).toBe('accepted')
    const pipeline = await startServing(environment, ['--role', 'pipeline'])
    expect(pipeline.started).toEqual({ url: null, roles: ['pipeline'] })
    const isApplied = async () => (await statusOf(url, keys.data_key, answer)) === 'processed'
    await until('the pipeline has applied it', isApplied)
    expect(await pipeline.stop()).toMatchObject({ status: 0, stderr: '' })
  })

  const deaths: [how: string, thread: string, deed: string, said: string][] = [
    ['ends by itself', 'pipeline', 'process.exit(0)', 'the thread "pipeline" stopped unexpectedly'],
    ['fails', 'pipeline', `throw new Error('out of order')`, 'the thread "pipeline" failed: out of order'],
  ]
  it.each(deaths)('exits with status 1 when one of its threads %s', async (_how, thread, deed, said) => {
    await server.stop()
    const script = `import { threadName } from 'node:worker_threads'
      if (threadName === '${thread}') setTimeout(() => { ${deed} }, 1_000)`
    const preload = `--import=data:text/javascript,${encodeURIComponent(script)}`
    server = await startServing({ ...environment, NODE_OPTIONS: preload })
    expect(await server.ended).toMatchObject({ status: 1, stderr: `tidings: ${said}\n` })
  })

  it('refuses to start without PII_KEY when a workspace needs it', async () => {
    const withKey = { ...environment, PII_KEY: Buffer.alloc(32, 7).toString('base64') }
    await run(['workspace', 'create', 'sealed'], environment)
    await run(['workspace', 'set', 'sealed', 'email_protection=encrypted'], withKey)
    const ended = await runJson(['serve'], { ...environment, PORT: '0', LOG_LEVEL: 'warn' })
    expect(failureOf(ended)).toMatchObject({ status: 1, fields: ['PII_KEY'] })
    await run(['workspace', 'set', 'sealed', 'email_protection=none'], environment)
  })

  it('refuses to start with another PII_KEY than the one that encrypted the emails', async () => {
    const [own, other] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)]
    const withKey = (key: Buffer) => ({ ...environment, PORT: '0', LOG_LEVEL: 'warn', PII_KEY: key.toString('base64') })
    await run(['workspace', 'create', 'other-key'], environment)
    await run(['workspace', 'set', 'other-key', 'email_protection=encrypted'], withKey(own))
    const server = await startServing(withKey(other))
    await server.stop()

    const { sealed, key: emailKey } = new EmailVault(own).seal('other-key', 'anna@example.com')
    const user = { id: 1, workspaceId: 'other-key', customerId: null, emailKey, createdAt: 0 }
    const database = openDatabase(location)
    await database.write((store) => saveUsers(store, [{ ...user, attributes: { email: [sealed, 0, 0] } }]))
    const ended = await runJson(['serve'], withKey(other))
    expect(failureOf(ended)).toMatchObject({ status: 1, fields: ['PII_KEY'] })
    expect(JSON.stringify(ended.body)).toContain('is not the key that encrypted the emails in other-key')
    const opening = await startServing(withKey(own))
    await opening.stop()

    await database.write(({ query }) => query.deleteFrom('users').where('workspace_id', '=', 'other-key').execute())
    await database.close()
    await run(['workspace', 'set', 'other-key', 'email_protection=none'], environment)
  })

  it('refuses a log that does not belong to its tables, and says where the log is', async () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(location.dataDir, `log.db${suffix}`), { force: true })
    const database = openDatabase(location)
    await database.write(({ query }) => query.updateTable('cursors').set({ position: 1_000_000 }).execute())
    await database.close()
    const ended = await runJson(['serve'], { ...environment, PORT: '0', LOG_LEVEL: 'warn' })
    expect(failureOf(ended)).toMatchObject({
      status: 1,
      code: 'conflict',
      message: expect.stringContaining(kind === 'sqlite' ? 'log.db' : 'PostgreSQL (') as string,
    })
  })
})

describeEachStore('serve without --json', (kind) => {
  let location: TestLocation

  beforeAll(async () => void (location = await makeLocation(kind)))
  afterAll(() => location.remove())

  it('prints the first workspace, both keys and a curl command that works', async () => {
    const server = start(['serve'], { ...environmentOf(location), PORT: '0', LOG_LEVEL: 'warn' })
    const curl = await until('the curl line', () => /^curl .*\n/m.exec(server.output().stdout)?.[0])
    const { stdout } = server.output()
    expect(stdout).toMatch(/is listening on http:\/\/127\.0\.0\.1:\d+\n/)
    expect(stdout).toMatch(/^workspace id {2}main\ndata key {6}td_data_\S+\nreports key {3}td_reports_\S+$/m)
    const answer = await promisify(execFile)('sh', ['-c', curl])
    expect(JSON.parse(answer.stdout)).toMatchObject({ status: 'success' })
    expect(await server.stop()).toMatchObject({ status: 0, stderr: '' })
  })

  it('prints which log the pipeline follows', async () => {
    const pipeline = start(['serve', '--role', 'pipeline'], { ...environmentOf(location), LOG_LEVEL: 'warn' })
    const line = await until(
      'it follows the log',
      () => /is following the log in .*/.exec(pipeline.output().stdout)?.[0],
    )
    const { host, pathname } = new URL(location.databaseUrl ?? 'none:')
    expect(line).toBe(
      kind === 'sqlite'
        ? `is following the log in ${join(location.dataDir, 'log.db')}`
        : `is following the log in PostgreSQL (${host}${pathname})`,
    )
    expect(await pipeline.stop()).toMatchObject({ status: 0, stderr: '' })
  })

  it('reports that the port is in use, exits with status 1, and leaves older tables unchanged', async () => {
    await (await openTestDatabase(location)).close()
    await makeOlder(location)
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const port = String((other.address() as AddressInfo).port)
    const { status, stdout, stderr } = await run(['serve'], {
      ...environmentOf(location),
      PORT: port,
      LOG_LEVEL: 'warn',
    })
    other.close()
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain(`PORT ${port} is in use on 127.0.0.1`)
    expect(await isOlder(location)).toBe(true)
  })
})

describeOnPostgres('a process on a shared database', () => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeLocation('postgres')
    database = openDatabase(location)
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const count = async (found: RawBuilder<unknown>) => (await found.execute(database.query)).rows.length
  const appending = sql`select 1 from pg_proc where proname = 'log_append'`

  it('closes the connections that only its start needs, in the role pipeline', async () => {
    const pipeline = await startServing(environmentOf(location), ['--role', 'pipeline'])
    await until('it follows the log', () =>
      database.query.selectFrom('partition_leases').selectAll().executeTakeFirst(),
    )
    const askedAtStart = sql`select 1 from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query like '%from log_trimmed%'`
    expect(await count(askedAtStart)).toBe(0)
    expect(await pipeline.stop()).toMatchObject({ status: 0 })
  })

  it('does not change the log if the database is newer than the program', async () => {
    expect(await count(appending)).toBe(1)
    await sql`drop function log_append`.execute(database.query)
    await sql`insert into migrations (name, applied_at) values ('9999-later', 1)`.execute(database.query)
    const ended = await runJson(['serve'], { ...environmentOf(location), PORT: '0', LOG_LEVEL: 'warn' })
    expect(failureOf(ended)).toMatchObject({ status: 1, message: expect.stringContaining('newer') as string })
    expect(await count(appending)).toBe(0)
  })
})

describeOnPostgres('a first start', () => {
  it('prints the keys even if it is stopped while it creates its workspace', async () => {
    const location = await makeLocation('postgres')
    const database = await openTestDatabase(location)
    const holder = new Client({ connectionString: location.databaseUrl })
    const [port] = await findFreePorts(1)
    await holder.connect()
    await holder.query(`
      create function wait_at_commit() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock(1); return null; end $$;
      create constraint trigger wait_at_commit after insert on workspaces
        deferrable initially deferred for each row execute function wait_at_commit();
      select pg_advisory_lock(1);`)
    const server = start(['serve', '--json'], { ...environmentOf(location), PORT: String(port), LOG_LEVEL: 'warn' })
    const waiting = sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event = 'advisory' and query = 'commit'`
    await until(
      'the workspace is committed',
      async () => (await waiting.execute(database.query)).rows.length > 0,
      20_000,
    )
    const stopping = server.stop()
    await until('it takes no more connections', () =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        () => false,
        () => true,
      ),
    )
    await holder.end()
    const { status, stdout } = await stopping
    await until('the workspace is there', async () => (await listWorkspaces(database)).length > 0)
    expect({ status, ...(JSON.parse(stdout || '{}') as object) }).toMatchObject({
      status: 0,
      first_workspace: { workspace_id: 'main' },
    })
    await database.close()
    await location.remove()
  })
})

it('serve names the file that prevents a thread from starting', async () => {
  const location = await makeLocation('sqlite')
  const path = join(location.dataDir, 'state.db')
  writeFileSync(path, 'not a database\n'.repeat(1_000))
  const ended = await runJson(['serve'], { ...environmentOf(location), PORT: '0', LOG_LEVEL: 'warn' })
  await location.remove()
  const message = `the thread "store" failed: ${path} cannot be opened: the file is damaged or was not written by Tidings`
  expect(failureOf(ended)).toMatchObject({ status: 1, code: 'unavailable', message })
})

it.each([
  [0, []],
  [2, ['2 applied entries are missing from these tables']],
])(
  'serve warns about applied entries that older tables lack, if the log has deleted any: %i',
  async (trimmed, warnings) => {
    const location = await makeStore('sqlite')
    const log = openSqliteLog({ path: join(location.dataDir, 'log.db') })
    for (const requestId of ['r1', 'r2', 'r3']) await log.append(newEntry(requestId))
    await log.trim({
      throughPosition: trimmed,
      entriesReceivedBefore: FAR_FUTURE,
      entriesReceivedAfter: Infinity,
      keysReceivedBefore: 0,
    })
    await log.close()
    const server = await startServing(environmentOf(location))
    const { stderr } = await server.stop()
    await location.remove()
    expect(stderr.match(/\d+ applied entries are missing from these tables/g) ?? []).toEqual(warnings)
  },
)

it('serve continues, and can be stopped, when the disk of its diagnostics is full', async ({ skip }) => {
  skip(!existsSync('/dev/full'), 'this system has no device that is always full')
  const location = await makeLocation('sqlite')
  const environment = { ...environmentOf(location), PORT: '0', LOG_LEVEL: 'info' }
  const server = start(['-c', 'exec "$0" serve --json 2>/dev/full', BIN], environment, 'sh')
  const line = await until('serve listens', () => /^.*\n/.exec(server.output().stdout)?.[0])
  const { url, first_workspace: keys } = JSON.parse(line) as Started
  expect((await track(url, 'main', keys?.data_key ?? '')).status).toBe(200)
  expect(await server.stop()).toMatchObject({ status: 0 })
  await location.remove()
})

it('serve names the damaged file of the log', async () => {
  const location = await makeLocation('sqlite')
  const path = join(location.dataDir, 'log.db')
  writeFileSync(path, 'not a database\n'.repeat(1_000))
  const ended = await runJson(['serve'], { ...environmentOf(location), PORT: '0', LOG_LEVEL: 'warn' })
  await location.remove()
  const message = `The log in ${path} cannot be opened: the file is damaged or was not written by Tidings.`
  expect(failureOf(ended)).toMatchObject({ status: 1, code: 'unavailable', message })
})

it('a shutdown exits with status 1 when requests in flight do not finish in time', async () => {
  const script = `import { Shutdown } from './src/commands/shutdown.ts'
    new Shutdown(() => {}, 50).running = { stop: () => new Promise(() => {}) }
    process.kill(process.pid, 'SIGTERM')
    setInterval(() => {}, 1_000)`
  const ended = promisify(execFile)(process.execPath, ['--input-type=module-typescript', '--eval', script])
  await expect(ended).rejects.toMatchObject({
    code: 1,
    stderr: 'tidings: work in progress did not finish within 50 ms\n',
  })
})

it('a shutdown waits longer while messages are on connections', async () => {
  const script = `import { Shutdown } from './src/commands/shutdown.ts'
    const stop = () => new Promise((resolve) => setTimeout(resolve, 500))
    new Shutdown(() => {}, 50).running = { stop, isDelivering: true }
    process.kill(process.pid, 'SIGTERM')
    setInterval(() => {}, 1_000)`
  const ended = promisify(execFile)(process.execPath, ['--input-type=module-typescript', '--eval', script])
  await expect(ended).resolves.toMatchObject({ stderr: '' })
})

it.each([
  [undefined, undefined, 'data/log.db'],
  ['postgres://me:secret@db:5432/tidings?password=secret', undefined, 'PostgreSQL (db:5432/tidings)'],
  ['postgres://db/x', 'nats://me:secret@a:4222,nats://b:4222', 'NATS JetStream (a:4222, b:4222)'],
])('the location of a log is shown without passwords: %s, %s', (databaseUrl, natsUrl, name) => {
  expect(describeLogLocation({ dataDir: './data', databaseUrl, natsUrl })).toBe(name)
})
