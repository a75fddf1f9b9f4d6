// Checks the diagnostics of a server process: readable on a terminal, JSON elsewhere; what they say of start, stop and changes.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { readVersion } from '../../src/app/version.ts'
import { endWithTests } from '../support/end-with-tests.ts'
import { BIN, environmentOf, run, startServing } from '../support/program.ts'
import { until } from '../support/server.ts'
import { makeLocation, type TestLocation } from '../support/stores.ts'

vi.setConfig({ testTimeout: 60_000 })

const WAIT_MS = 20_000

let location: TestLocation
beforeEach(async () => void (location = await makeLocation('sqlite')))
afterEach(() => location.remove())

it('report start, changed keys and settings, and stop as JSON if standard error is no terminal', async () => {
  const environment = environmentOf(location)
  // A server reports changes of workspaces that it knows.
  await run(['workspace', 'create', 'main'], environment)
  const server = await startServing({ ...environment, LOG_LEVEL: 'info' })
  const lines = () => {
    const texts = server.output().stderr.split('\n').filter(Boolean)
    return texts.map((text) => JSON.parse(text) as Record<string, unknown>)
  }
  const find = (message: string) => lines().filter(({ msg }) => msg === message)
  await run(['key', 'generate', 'main', 'reports', '--yes'], environment)
  await until('it knows the key', () => find('a workspace changed').length === 1, WAIT_MS)
  await run(['workspace', 'set', 'main', 'timezone=Europe/Berlin', 'limits.management_per_minute=7'], environment)
  await until('it knows the settings', () => find('a workspace changed').length === 2, WAIT_MS)
  await server.stop('SIGTERM')
  expect(find('started')).toMatchObject([
    {
      version: readVersion(),
      url: server.started.url,
      roles: ['http', 'pipeline', 'delivery'],
      store: join(location.dataDir, 'state.db'),
      log: join(location.dataDir, 'log.db'),
    },
  ])
  expect(find('a workspace changed')).toMatchObject([
    { workspace_id: 'main', changed: ['reports key'] },
    { workspace_id: 'main', changed: ['timezone', 'limits.management_per_minute'] },
  ])
  expect(find('stopping')).toMatchObject([{ reason: 'SIGTERM' }])
  expect(find('stopped')).toMatchObject([{ reason: 'SIGTERM', duration_ms: expect.any(Number) as number }])
  expect(server.output().stderr).not.toContain('td_')
})

it('are readable on a terminal', async ({ skip }) => {
  skip(spawnSync('script', ['--version']).status !== 0, 'the program `script` of util-linux is not installed')
  const child = spawn('script', ['--quiet', '--return', '--command', `exec '${BIN}' serve`, '/dev/null'], {
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', ...environmentOf(location) },
  })
  endWithTests(child)
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  // oxlint-disable-next-line no-control-regex -- colours are control characters
  const plain = () => printed.replaceAll(/\u001B\[\d+m/g, '')
  await until('it has started', () => plain().includes('INFO: started') && plain().includes('curl'), WAIT_MS)
  // As the terminal sends it for Ctrl-C.
  child.stdin.write('\u0003')
  const [status] = await once(child, 'close')
  expect(plain()).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: started \{"url":"http:.*\}\r$/m)
  expect(plain()).toMatch(/^.*INFO: stopped \{"reason":"SIGINT","duration_ms":\d+\}\r$/m)
  expect(status).toBe(0)
})
