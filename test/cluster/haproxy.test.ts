// deploy/haproxy.cfg in HAProxy itself, in front of a small server that returns the requests it got. Without haproxy the suite is
// skipped with that reason; with `REQUIRE_HAPROXY=1` it fails instead.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findFreePorts } from '../support/free-ports.ts'
import { endWithTests } from '../support/end-with-tests.ts'
import { until } from '../support/server.ts'

const CONFIG = fileURLToPath(new URL('../../deploy/haproxy.cfg', import.meta.url))
/** Where Debian installs it, which is not in every PATH. */
const PROGRAMS = ['haproxy', '/usr/sbin/haproxy']

interface Answer {
  readonly status: number | undefined
  readonly body: string
}

const program = findHaproxy()

function findHaproxy(): string | undefined {
  const found = PROGRAMS.find((name) => spawnSync(name, ['-v']).status === 0)
  if (found !== undefined) return found
  if (process.env['REQUIRE_HAPROXY'] === '1') throw new Error('haproxy is required and not there')
  process.stderr.write('skipped with HAProxy: no haproxy is found\n')
  return undefined
}

describe.skipIf(program === undefined)('deploy/haproxy.cfg in HAProxy', () => {
  let target: Server
  let port: number
  let end: () => Promise<void>

  beforeAll(async () => {
    const [targetPort, ownPort] = (await findFreePorts(2)) as [number, number]
    port = ownPort
    target = createServer(answerOrBreak).listen(targetPort, '127.0.0.1')
    await once(target, 'listening')
    end = startHaproxy({ port, targetPort })
    await until('it sends requests to the server', async () => (await ask('/').catch(() => undefined))?.status === 200)
  })
  afterAll(async () => {
    await end()
    target.closeAllConnections()
    target.close()
  })

  /** Sends the path unchanged. */
  async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
    const asked = request({ host: '127.0.0.1', port, path, headers, method, agent: false }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    return { status: answer.statusCode, body: (await answer.toArray()).join('') }
  }

  it.each([
    '/metrics',
    '/metrics/',
    '/metrics?x=1',
    '//metrics',
    '///metrics//',
    '/%6detrics',
    '/%6Detric%73?x',
    '/%2fmetrics',
  ])('hides %s from clients', async (path) => {
    expect((await ask(path)).status).toBe(404)
  })

  it.each(['/', '/metricsx', '/x/metrics', '/v1/event/metrics', '/x?/metrics'])('forwards %s', async (path) => {
    expect((await ask(path)).status).toBe(200)
  })

  const paths: [path: string, isEvent: boolean][] = [
    ['/v1/event/main', true],
    ['//v1/event/main', true],
    ['/v1//event/main', true],
    ['/v1/%65vent/main', true],
    ['/v1/customer/main', false],
    ['/v1/events/main', false],
    ['/x/v1/event/main', false],
  ]
  it.each(paths)('adds the client address to %s, but to events (%s) only if they have one', async (path, isEvent) => {
    expect((await ask(path)).body).toBe(isEvent ? '' : '127.0.0.1')
    expect((await ask(path, { 'x-forwarded-for': '192.0.2.1' })).body).toBe('192.0.2.1, 127.0.0.1')
  })

  it.each([
    ['/v1/event/main', { 'idempotency-key': 'k1' }, 200],
    ['//v1/event/main', { 'idempotency-key': 'k2' }, 200],
    ['/v1//customer/main', { 'idempotency-key': 'k3' }, 200],
    ['/v1/event/main', {}, 502],
    ['//v1/coupon-list', { 'idempotency-key': 'k4' }, 502],
  ])('retries a broken request only if that does no harm: %s %o', async (path, headers, status) => {
    expect((await ask(path, { ...headers, 'x-break': `${path} ${status}` }, 'POST')).status).toBe(status)
  })
})

const broken = new Set<string>()

/** Responds with the X-Forwarded-For that it got. Breaks the connection of the first request of each kind with `x-break`. */
function answerOrBreak({ headers }: IncomingMessage, response: ServerResponse): void {
  const kind = headers['x-break']
  if (typeof kind === 'string' && !broken.has(kind)) {
    broken.add(kind)
    response.destroy()
    return
  }
  response.end(headers['x-forwarded-for'] ?? '')
}

/** Starts HAProxy with the ports of this test and without the container network. */
function startHaproxy({ port, targetPort }: { readonly port: number; readonly targetPort: number }) {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-haproxy-'))
  const text = readFileSync(CONFIG, 'utf8')
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace(/^resolvers docker\n(?: .*\n)*/m, '')
    .replaceAll('resolvers docker init-addr libc,none', '')
    .replaceAll(/http-\d:8080/g, `127.0.0.1:${targetPort}`)
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, text)
  const child = spawn(program as string, ['-db', '-f', file], { stdio: 'ignore' })
  endWithTests(child)
  return async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true })
  }
}
