// Checks how a server in use stops: it finishes requests in flight, does not wait for idle connections, and gives a balancer time
// to send requests elsewhere.
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import SqliteFile from 'better-sqlite3'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import type { HttpLimits } from '../../src/http/http-limits.ts'
import { lockTables } from '../../src/store/entries/lock-tables.ts'
import { STATE_FILE } from '../../src/store/open-database.ts'
import type { Database } from '../../src/store/store.ts'
import { basic, environmentOf, startServing, type FirstWorkspace } from '../support/program.ts'
import { RawConnection } from '../support/raw-http.ts'
import { startServer, until, type TestServer } from '../support/server.ts'
import { describeOnPostgres, makeLocation, openTestDatabase } from '../support/stores.ts'
import { newTemplate, SEARCH, TEMPLATES } from '../support/calls/template-calls.ts'
import { trackingOf } from '../support/calls/tracking.ts'

/** Far less than the time for which an idle connection stays open. */
const STOP_MS_MAX = 15_000
/** How long the HAProxy of `deploy/haproxy.cfg` takes to stop using a process: `fall` times `inter`. */
const BALANCER_MS = 2_000

/** The diagnostics about a batch for which the server no longer waits. */
const GIVEN_UP = expect.stringContaining('the pipeline did not stop in time') as string

const event = { type: 'event', customer_id: 'c1', actions: [{ action: 'Visit' }] }

it(
  'a stopping server finishes requests in flight, and does not wait for idle connections',
  { timeout: 60_000 },
  async () => {
    const server = await startServer('sqlite')
    const requests = Array.from({ length: 50 }, () => trackingOf(server).events(event))
    // Some requests have a response, others are in progress.
    expect((await Promise.any(requests)).status).toBe(200)
    const stopsAt = performance.now()
    await server.stop()
    expect(performance.now() - stopsAt).toBeLessThan(STOP_MS_MAX)
    const outcomes = await Promise.allSettled(requests)
    const statuses = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.status] : []))
    expect(new Set(statuses)).toEqual(new Set([200]))
  },
)

const PAGE = '/docs/swagger-ui-bundle.js'
/** More pages than the system buffers for a client that does not read. */
const PAGES = 6

/** Stops a server while a client has begun to read pages, but paused. */
async function stopWithUnread(httpLimits: Partial<HttpLimits>) {
  const server = await startServer('sqlite', {}, { httpLimits })
  const page = await server.call<string>('GET', PAGE)
  const connection = await RawConnection.open(server.url)
  connection.readFirstOnly()
  await connection.write(`GET ${PAGE} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(PAGES))
  await until('the first page has begun', () => connection.hasAnswer)
  const stopped = server.stop()
  const isRefused = (error: { code?: string }) => error.code === 'ECONNREFUSED'
  await until('new connections are refused', () => RawConnection.open(server.url).then(hangUp, isRefused))
  return { connection, page: page.body, stopped }
}

function hangUp(connection: RawConnection): false {
  connection.close()
  return false
}

it('a stopping server completes the responses that it has begun, however slowly they are read', async () => {
  const { connection, page, stopped } = await stopWithUnread({})
  connection.read()
  const pages: string[] = []
  while (pages.length < PAGES) pages.push((await connection.nextAnswer()).body)
  expect(pages.map((read) => read === page)).toEqual(pages.map(() => true))
  await stopped
  await until('the connection is closed', () => connection.isEnded)
})

it('a stopping server does not wait long for responses that nobody reads', async () => {
  const { connection, stopped } = await stopWithUnread({ stopStalledMs: 50 })
  await expect(stopped).resolves.toBeUndefined()
  connection.close()
})

it('a stopping server does not wait long for incomplete requests', async () => {
  const server = await startServer('sqlite', {}, { httpLimits: { stopStalledMs: 50 } })
  const { id, dataKey } = server.workspace
  const headers = `host: x\r\nauthorization: ${basic(id, dataKey)}\r\ncontent-type: application/json\r\ncontent-length: 99\r\n`
  const head = `POST /v1/event/${id} HTTP/1.1\r\n${headers}`
  const connections = await Promise.all(
    [head, `${head}\r\n{"type":"event"`].map(async (half) => {
      const connection = await RawConnection.open(server.url)
      await connection.write(half)
      return connection
    }),
  )
  await expect(server.stop()).resolves.toBeUndefined()
  for (const connection of connections) await until('the connection is closed', () => connection.isEnded)
})

/** The turn in which a server searches the templates of a workspace, one request at a time. */
const searchesOf = ({ workspace }: TestServer) => `templates ${workspace.id}`

/** A search on a connection of its own; `behind` follows it at once. */
async function beginSearch({ url, workspace: { id, dataKey } }: TestServer, behind = '') {
  const connection = await RawConnection.open(url)
  const body = '{"page":1,"entries":1}'
  const headers = `host: x\r\nauthorization: ${basic(id, dataKey)}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`
  await connection.write(`POST ${SEARCH} HTTP/1.1\r\n${headers}\r\n${body}${behind}`)
  return connection
}

it('a stopping server refuses requests that wait in a queue for long, although their clients may have left', async () => {
  const server = await startServer('sqlite', {}, { httpLimits: { stopStalledMs: 50 } })
  const turn = Promise.withResolvers<void>()
  const held = server.queue.run(searchesOf(server), () => turn.promise)
  const [waiting, left, pipelined] = await Promise.all([
    beginSearch(server),
    beginSearch(server),
    beginSearch(server, `GET ${PAGE} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(PAGES)),
  ])
  // When this is answered, the server has read what came before.
  await server.call('GET', '/healthz')
  left.close()
  pipelined.close()
  const stopped = server.stop()
  const refused = await waiting.nextAnswer()
  expect([refused.status, refused.headers.get('retry-after'), refused.body]).toEqual([
    503,
    '1',
    expect.stringContaining('The server is stopping.'),
  ])
  await stopped
  turn.resolve()
  await held
})

it('a stopping server ignores requests after one that it refuses before the body, which ends the connection', async () => {
  const location = await makeLocation('sqlite')
  const first = await startServer('sqlite', {}, { at: location })
  const { workspace } = first
  const headOf = (key: string, length: number) => {
    const headers = [`authorization: ${basic(workspace.id, key)}`, 'content-type: application/json']
    return `POST /v1/event/${workspace.id} HTTP/1.1\r\nhost: x\r\n${headers.join('\r\n')}\r\ncontent-length: ${length}\r\n\r\n`
  }
  const connection = await RawConnection.open(first.url, true)
  const refused = headOf('wrong', 9)
  await connection.write(refused.slice(0, 9))
  const stopped = first.stop()
  const isRefused = (error: { code?: string }) => error.code === 'ECONNREFUSED'
  await until('new connections are refused', () => RawConnection.open(first.url).then(hangUp, isRefused))
  await connection.write(refused.slice(9))
  expect((await connection.nextAnswer()).headers.get('connection')).toBe('close')
  const behind = JSON.stringify(event)
  await connection.write(' '.repeat(9) + headOf(workspace.dataKey, behind.length) + behind)
  await stopped
  expect(connection.hasAnswer).toBe(false)
  connection.close()
  const second = await startServer('sqlite', {}, { at: { ...location, workspace } })
  const tracking = trackingOf(second)
  await tracking.events({ ...event, actions: [{ action: 'Later' }] })
  const actions = async () => (await tracking.listEvents({ customer_id: 'c1' })).body.data.map(({ action }) => action)
  await until('the later event is applied', async () => (await actions()).includes('Later'))
  expect(await actions()).toEqual(['Later'])
  await second.stop()
  await location.remove()
})

it(
  'a stopping server gives up a batch that does not finish, and responds to the request that waited for it',
  { timeout: 60_000 },
  async () => {
    const location = await makeLocation('sqlite')
    const statePath = join(location.dataDir, STATE_FILE)
    // A batch that holds the write lock for ever when it should stop.
    const script = `import { createRequire } from 'node:module'
    import { parentPort, threadName } from 'node:worker_threads'
    if (threadName === 'pipeline') parentPort.once('message', () => {
      const SqliteFile = createRequire(${JSON.stringify(import.meta.url)})('better-sqlite3')
      new SqliteFile(${JSON.stringify(statePath)}).exec('begin immediate')
      for (;;);
    })`
    const preload = `--import=data:text/javascript,${encodeURIComponent(script)}`
    const server = await startServing({ ...environmentOf(location), NODE_OPTIONS: preload })
    const { workspace_id: id, data_key: key } = server.started.first_workspace as FirstWorkspace
    const headers = { authorization: basic(id, key), 'svc-appkey': id }
    const creating = await beginSending(server.started.url + TEMPLATES, headers, newTemplate())
    const stopping = server.stop()
    const state = new SqliteFile(statePath, { timeout: 0 })
    await until('the batch holds the store', () => !canWrite(state))
    state.close()
    expect(await creating.finish()).toBe(200)
    expect(await stopping).toMatchObject({ status: 0, stderr: GIVEN_UP })
    await location.remove()
  },
)

describeOnPostgres('A process behind a balancer', () => {
  it(
    'reports that it is stopping, and accepts new connections until the balancer stops using it',
    { timeout: 60_000 },
    async () => {
      const location = await makeLocation('postgres')
      const server = await startServing(environmentOf(location), ['--role', 'http'])
      const { workspace_id: id, data_key: key } = server.started.first_workspace as FirstWorkspace
      const ready = () => ask(server.started.url, 'GET', '/readyz')
      const track = () => ask(server.started.url, 'POST', `/v1/event/${id}`, basic(id, key))
      expect([(await ready()).status, (await track()).status]).toEqual([200, 200])
      const stopping = server.stop()
      const refusal = await until('it is not ready', async () => {
        const answer = await ready()
        return answer.status === 503 && answer
      })
      const reportedAt = performance.now()
      expect(refusal.text).toContain('Not ready: the process is stopping.')
      const statuses = new Set<number | undefined>()
      let answers = 0
      for (; performance.now() - reportedAt < BALANCER_MS; answers++) statuses.add((await track()).status)
      expect([...statuses, answers > 1]).toEqual([200, true])
      expect(await stopping).toMatchObject({ status: 0 })
      await location.remove()
    },
  )

  it(
    'reports that it is stopping even during a long batch, of which it loses nothing',
    { timeout: 60_000 },
    async () => {
      const location = await makeLocation('postgres')
      const database = await openTestDatabase(location)
      const server = await startServing(environmentOf(location))
      const { workspace_id: id, data_key: key } = server.started.first_workspace as FirstWorkspace
      const ready = () => ask(server.started.url, 'GET', '/readyz')
      const tracked = `/v1/event/${id}`
      expect((await ready()).status).toBe(200)
      const free = await holdTables(database)
      expect((await ask(server.started.url, 'POST', tracked, basic(id, key))).status).toBe(200)
      await until('the batch waits', () => isBatchWaiting(database))
      const tracking = await beginSending(server.started.url + tracked, { authorization: basic(id, key) }, event)
      const stopping = server.stop()
      await until('it is not ready', async () => (await ready()).status === 503)
      // The batch has neither failed nor been given up yet.
      expect(server.output().stderr).not.toMatch(/cannot apply the log|did not stop in time/)
      expect(await tracking.finish()).toBe(200)
      expect(await stopping).toMatchObject({ status: 0, stderr: GIVEN_UP })
      await free()

      const next = await startServing(environmentOf(location))
      await until('both events are applied', async () => (await countEvents(database)) === 2)
      const seen = await ask(next.started.url, 'GET', `${tracked}?customer_id=c1`, basic(id, key))
      expect(seen.text.split('"Visit"')).toHaveLength(3)
      await database.close()
      expect(await next.stop()).toMatchObject({ status: 0, stderr: '' })
      await location.remove()
    },
  )

  it('does not wait for a balancer if nothing has checked its readiness', { timeout: 60_000 }, async () => {
    const [alone, watched] = await Promise.all([startServer('postgres'), startServer('postgres')])
    for (const server of [alone, watched]) expect((await trackingOf(server).events(event)).status).toBe(200)
    expect((await fetch(`${watched.url}/readyz`)).status).toBe(200)
    const stopping = [alone, watched].map((server) => server.stop())
    const answers = ({ url }: TestServer) =>
      ask(url, 'GET', '/healthz').then(
        () => true,
        () => false,
      )
    await until('one takes no connections any more', async () => !(await answers(alone)))
    expect(await answers(watched)).toBe(true)
    await Promise.all(stopping)
  })
})

async function countEvents({ query }: Database): Promise<number> {
  const counted = query.selectFrom('events').select(({ fn }) => fn.countAll<number>().as('count'))
  return (await counted.executeTakeFirstOrThrow()).count
}

/** Sends a request on a new connection, as a balancer does for a new client. */
async function ask(
  url: string,
  method: string,
  path: string,
  authorization?: string,
): Promise<{ status: number | undefined; text: string }> {
  const headers = { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) }
  const sending = request(url + path, { method, headers, agent: false })
  sending.end(method === 'POST' ? JSON.stringify(event) : undefined)
  const [answer] = (await once(sending, 'response')) as [IncomingMessage]
  return { status: answer.statusCode, text: (await answer.toArray()).join('') }
}

/** Sends a request except for its last byte; `finish` sends that byte, and returns the status of the response. */
async function beginSending(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<{ finish(): Promise<number | undefined> }> {
  const text = JSON.stringify(body)
  const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  // The server confirms that it has begun the request.
  const sending = request(url, {
    method: 'POST',
    headers: { ...headers, ...length, expect: '100-continue' },
    agent: false,
  })
  sending.flushHeaders()
  await once(sending, 'continue')
  sending.write(text.slice(0, -1))
  return {
    async finish() {
      sending.end(text.slice(-1))
      const [answer] = (await once(sending, 'response')) as [IncomingMessage]
      return answer.resume().statusCode
    },
  }
}

/** Blocks all batches until the returned function is called. */
async function holdTables(database: Database): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>()
  const freed = Promise.withResolvers<void>()
  const holding = database.write(async (store) => {
    // The transaction is idle for longer than the server allows by default.
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(store.query)
    await lockTables(store)
    held.resolve()
    await freed.promise
  })
  await held.promise
  return async () => {
    freed.resolve()
    await holding
  }
}

async function isBatchWaiting(database: Database): Promise<boolean> {
  const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`
  return (await waiting.execute(database.query)).rows.length > 0
}

function canWrite(file: SqliteFile.Database): boolean {
  try {
    file.exec('begin immediate; rollback')
    return true
  } catch {
    return false
  }
}
