// The program that `npm run build` makes. Other suites start it too.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ROOT } from '../support/setup/checkout.ts'
import { basic, BIN, run, startServing, type FirstWorkspace, type ServingProgram } from '../support/program.ts'
import { until } from '../support/server.ts'
import { readVersion } from '../../src/app/version.ts'

/** So long that the log compresses it. */
const LONG_TEXT = 'word '.repeat(2_000)

let folder: string
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'tidings-dist-'))))
afterAll(() => rmSync(folder, { recursive: true }))

/** Starts a server from `dist/`. */
function serve(): Promise<ServingProgram> {
  return startServing({ DATA_DIR: join(folder, 'data') })
}

it('the build has a file for the process, and one for each kind of thread, which it starts', () => {
  const dist = join(dirname(dirname(BIN)), 'dist')
  const files = readdirSync(dist).filter((file) => file.endsWith('.js'))
  const threads = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('-thread.ts'))
    .map((file) => basename(file, '.ts'))
  const started = files.flatMap((file) => {
    const text = readFileSync(join(dist, file), 'utf8')
    return [...text.matchAll(/new URL\(\s*["'`]\.\/([\w-]+-thread\.\w+)["'`]/g)].map(([, name]) => name)
  })
  expect(threads.length).toBeGreaterThan(0)
  expect(new Set(started)).toEqual(new Set(threads.map((name) => `${name}.js`)))
  expect(files).toEqual(expect.arrayContaining(['main.js', ...started]))
})

it('the build prints its version', async () => {
  expect(await run(['--version'])).toEqual({ status: 0, stdout: `${readVersion()}\n`, stderr: '' })
})

it(
  'the build serves the dashboard, the reference page, and events from before it was killed',
  { timeout: 60_000 },
  async () => {
    const killed = await serve()
    const { workspace_id, data_key } = killed.started.first_workspace as FirstWorkspace
    const headers = { authorization: basic(workspace_id, data_key), 'content-type': 'application/json' }
    const action = { action: 'Order Placed', attributes: { note: LONG_TEXT }, platform: 'WEB' }
    const body = JSON.stringify({ type: 'event', customer_id: 'ada', actions: [action] })
    const call = ({ started }: ServingProgram, path: string, request?: RequestInit) =>
      fetch(new URL(path, started.url), { headers, ...request })
    const accepted = await call(killed, `/v1/event/${workspace_id}`, { method: 'POST', body })
    expect(accepted.status).toBe(200)
    const { request_id: requestId } = (await accepted.json()) as { request_id: string }
    await killed.stop('SIGKILL')

    const server = await serve()
    // Unlike a question about the user, this one waits for nothing, so it is never refused.
    await until('the event is applied', async () => {
      const fate = await call(server, `/v1/event/${workspace_id}/requests/${requestId}`)
      return ((await fate.json()) as { status: string }).status === 'processed'
    })
    const answer = await call(server, `/v1/event/${workspace_id}?customer_id=ada`)
    const { data: events } = (await answer.json()) as { data: unknown[] }
    expect(events).toEqual([expect.objectContaining(action)])
    const paths = ['/dashboard', '/docs', '/docs/page.css', '/docs/swagger-ui-bundle.js', '/openapi.json']
    const pages = await Promise.all(paths.map((path) => call(server, path)))
    expect(pages.map(({ status }) => status)).toEqual(paths.map(() => 200))
    expect(await server.stop('SIGTERM')).toMatchObject({ status: 0, stderr: '' })
  },
)
