// Checks that only the user who runs Tidings can read its data.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { basic, run, startServing, type FirstWorkspace } from '../support/program.ts'

// Several processes are started one after another, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 60_000 })

let folder: string
const at = (name: string) => join(folder, name)
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)
const modesIn = (path: string) => Object.fromEntries(readdirSync(path).map((name) => [name, modeOf(join(path, name))]))

beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'tidings-private-'))))
afterAll(() => rmSync(folder, { recursive: true }))

it('serve and backup make a data folder and a file that only their own user can read', async () => {
  const environment = { DATA_DIR: at('new/data') }
  const server = await startServing(environment)
  const { data_key } = server.started.first_workspace as FirstWorkspace
  const answer = await fetch(`${server.started.url}/v1/event/main`, {
    method: 'POST',
    headers: { authorization: basic('main', data_key), 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'event', customer_id: 'c1', actions: [{ action: 'Order Placed' }] }),
  })
  expect(answer.status).toBe(200)
  expect(await run(['backup', at('backup.db')], environment)).toMatchObject({ status: 0 })
  const databases = ['log.db', 'log.db-shm', 'log.db-wal', 'state.db', 'state.db-shm', 'state.db-wal']
  const names = ['http.lock', 'secret.key', ...databases]
  expect(modesIn(environment.DATA_DIR)).toEqual(Object.fromEntries(names.map((name) => [name, '600'])))
  expect([modeOf(environment.DATA_DIR), modeOf(at('backup.db'))]).toEqual(['700', '600'])
  expect(await server.stop()).toMatchObject({ status: 0 })
})

it('restore makes files that only its own user can read, and keeps the mode of an existing folder', async () => {
  await run(['workspace', 'create', 'main'], { DATA_DIR: at('kept') })
  expect(await run(['backup', at('open.db')], { DATA_DIR: at('kept') })).toMatchObject({ status: 0 })
  chmodSync(at('open.db'), 0o644)
  mkdirSync(at('given'))
  chmodSync(at('given'), 0o755)
  expect(await run(['restore', at('open.db')], { DATA_DIR: at('given') })).toMatchObject({ status: 0 })
  expect(modesIn(at('given'))).toMatchObject({ 'log.db': '600', 'state.db': '600' })
  expect(new Set(Object.values(modesIn(at('given'))))).toEqual(new Set(['600']))
  expect(await run(['restore', at('open.db')], { DATA_DIR: at('made') })).toMatchObject({ status: 0 })
  expect([modeOf(at('given')), modeOf(at('made'))]).toEqual(['755', '700'])
})
