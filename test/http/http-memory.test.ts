// How much memory clients can make a real server process hold: each attack sends or asks for far more than the limit, and the
// server keeps answering. The exact rules are in `http-limits.test.ts`.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LIMIT_DEFAULTS, type Limits } from '../../src/core/workspace.ts'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { basic, environmentOf, startServing, type ServingProgram } from '../support/program.ts'
import { RawConnection } from '../support/raw-http.ts'
import { until, type TestWorkspace } from '../support/server.ts'
import { makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'
import { newTemplate, SEARCH, TEMPLATES } from '../support/calls/template-calls.ts'

const KIB = 1024
const MIB = 1024 * KIB
const STATS = '/core-services/v1/campaign-stats'
const UNLIMITED = Object.fromEntries(Object.keys(LIMIT_DEFAULTS).map((name) => [name, 1_000_000])) as unknown as Limits
const EVENT = JSON.stringify({ type: 'event', customer_id: 'c', actions: [{ action: 'A' }] })
/** One page of templates takes 9 MiB. */
const PAGE = JSON.stringify({ page: 1, entries: 15 })

const isMeasured = process.platform === 'linux'
if (!isMeasured) process.stderr.write('skipped: only Linux shows the memory of another process\n')

describe.skipIf(!isMeasured)('The memory of a server', () => {
  let location: TestLocation
  let workspace: TestWorkspace
  let server: ServingProgram
  let opened: RawConnection[]

  beforeAll(async () => {
    opened = []
    location = await makeStore('sqlite')
    const database = await openTestDatabase(location)
    workspace = await createWorkspace(database, 'main', { limits: UNLIMITED }, Date.now())
    await database.close()
  })
  afterAll(() => location.remove())

  const headOf = (path: string, key: string, framing: string) => {
    const lines = ['host: x', `authorization: ${basic(workspace.id, key)}`, `svc-appkey: ${workspace.id}`, framing]
    return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\ncontent-type: application/json\r\n\r\n`
  }
  const requestOf = (path: string, key: string, body: string) =>
    headOf(path, key, `content-length: ${body.length}`) + body

  async function open(): Promise<RawConnection> {
    const connection = await RawConnection.open(server.started.url)
    opened.push(connection)
    return connection
  }

  function readMemoryMib(name: 'VmRSS' | 'VmHWM'): number {
    const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8')
    return Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / KIB
  }

  /** Waits until a limit is reached: the server has refused or aborted a request, and its memory no longer changes. */
  async function untilRefusing(operation: string): Promise<void> {
    const refused = new RegExp(`^tidings_http_requests_total{operation="${operation}",status="(408|499|503)"}`, 'm')
    const wait = 150_000
    await until('a request is refused', async () => refused.test(await readMetrics()), wait)
    let before = -1
    const isSettled = async () => {
      const now = readMemoryMib('VmRSS')
      const isSame = Math.abs(now - before) <= 1
      before = now
      await readMetrics()
      return isSame
    }
    await until('the memory stands still', isSettled, wait)
  }

  const readMetrics = async () => (await fetch(`${server.started.url}/metrics`)).text()

  /** `send` does the work of one client; all begin at once. `growthMibMax` is added to the peak memory of a server in use. */
  interface Attack {
    readonly what: string
    readonly clients: number
    readonly send: (connection: RawConnection) => Promise<void>
    readonly operation: string
    readonly growthMibMax: number
  }

  const attacks: readonly Attack[] = [
    {
      what: '400 bodies of 1 MiB that never end',
      clients: 400,
      send: (connection) => {
        const head = headOf(STATS, workspace.reportsKey, `content-length: ${MIB}`)
        return connection.write(head + ' '.repeat(MIB - 1))
      },
      operation: 'fetch_campaign_stats',
      growthMibMax: 220,
    },
    {
      what: '2,000 bodies of 128 KiB on the fast path that never end',
      clients: 2_000,
      send: (connection) => {
        const head = headOf('/v1/event/main', workspace.dataKey, `content-length: ${128 * KIB}`)
        return connection.write(head + ' '.repeat(128 * KIB - 1))
      },
      operation: 'track_events',
      growthMibMax: 220,
    },
    {
      what: '60 bodies of 20,000 chunks of one byte that never end',
      clients: 60,
      send: (connection) => {
        const head = headOf(STATS, workspace.reportsKey, 'transfer-encoding: chunked')
        return connection.write(head + '1\r\n \r\n'.repeat(20_000))
      },
      operation: 'fetch_campaign_stats',
      growthMibMax: 120,
    },
    {
      what: '100 answers of 9 MiB that are not read',
      clients: 100,
      send: (connection) => {
        connection.readNothing()
        return connection.write(requestOf(SEARCH, workspace.dataKey, PAGE))
      },
      operation: 'search_templates',
      growthMibMax: 400,
    },
    {
      what: '100 clients that each ask for 200 answers of 9 MiB at once and read none',
      clients: 100,
      send: (connection) => {
        connection.readNothing()
        return connection.write(requestOf(SEARCH, workspace.dataKey, PAGE).repeat(200))
      },
      operation: 'search_templates',
      growthMibMax: 400,
    },
  ]
  it.each(attacks)('stays bounded under $what', { timeout: 300_000 }, async (attack) => {
    server = await startServing({ ...environmentOf(location), LOG_LEVEL: 'fatal' })
    const { url } = server.started
    const headers = {
      authorization: basic(workspace.id, workspace.dataKey),
      'svc-appkey': workspace.id,
      'content-type': 'application/json',
    }
    const post = (path: string, body: string) => fetch(url + path, { method: 'POST', headers, body })
    for (let count = 0; count < 10; count++) {
      const template = newTemplate({}, { email_content: 'x'.repeat(900 * KIB) })
      expect((await post(TEMPLATES, JSON.stringify(template))).status).toBe(200)
    }
    expect((await post('/v1/event/main', EVENT)).status).toBe(200)
    const before = readMemoryMib('VmHWM')
    const opening = Array.from({ length: attack.clients }, async () => {
      // Does not resolve while the server leaves data unread.
      void attack.send(await open())
    })
    await Promise.all(opening)
    await untilRefusing(attack.operation)
    expect((await post('/v1/event/main', EVENT)).status).toBe(200)
    expect(readMemoryMib('VmHWM') - before).toBeLessThan(attack.growthMibMax)
    for (const connection of opened.splice(0)) connection.close()
    // It would continue for long.
    await server.stop('SIGKILL')
  })
})
