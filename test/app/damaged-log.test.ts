// A damaged page of the embedded log, in a real file: the server says it, and an operator can go on behind it.
import { closeSync, cpSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import SqliteFile from 'better-sqlite3'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { migrate } from '../../src/store/migrations.ts'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { openDatabase } from '../../src/store/open-database.ts'
import { openSqliteLogReader } from '../../src/log/sqlite/sqlite-log-reader.ts'
import { openSqliteLog } from '../../src/log/sqlite/sqlite-log.ts'
import { newEntry } from '../log/log-contract.ts'
import {
  basic,
  failureOf,
  run,
  runJson,
  startServing,
  type Environment,
  type ServingProgram,
} from '../support/program.ts'
import { until } from '../support/server.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

const ENTRIES = 60
const FILLING_BYTES = 7_000
/** Larger than half a page, so that each batch has a page of its own; random, so that it is not compressed. */
const FILLING = randomBytes(FILLING_BYTES).toString('base64')

let folder: string
let dataKey: string
let pageBytes: number
let leaves: readonly { readonly page: number; readonly position: number }[]
const at = (...names: string[]) => join(folder, ...names)

/** A store with a workspace, and a log of entries that no pipeline has applied yet. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidings-damaged-'))
  const database = openDatabase({ dataDir: at('whole'), databaseUrl: undefined })
  await migrate(database, Date.now())
  ;({ dataKey } = await createWorkspace(database, 'main', {}, Date.now()))
  await database.close()
  const log = openSqliteLog({ path: at('whole', 'log.db') })
  for (let number = 1; number <= ENTRIES; number++) {
    const body = Buffer.from(JSON.stringify(bodyOf(number)))
    await log.append(newEntry(`r${number}`, { body, receivedAt: Date.now() }))
  }
  await log.close()
  const file = new SqliteFile(at('whole', 'log.db'), { readonly: true })
  pageBytes = file.pragma('page_size', { simple: true }) as number
  file.close()
  leaves = await findLeaves()
})
afterAll(() => rmSync(folder, { recursive: true }))

const bodyOf = (number: number) => {
  const actions = [{ action: 'Opened', attributes: { filling: FILLING } }]
  return { type: 'event', customer_id: `c${number}`, actions }
}

/** The pages that hold one batch each, by the first page at which reading from its position fails when it is damaged. */
async function findLeaves() {
  const found: { page: number; position: number }[] = []
  const { size } = statSync(at('whole', 'log.db'))
  for (let page = 2; page <= size / pageBytes; page++) {
    const path = at('probe.db')
    cpSync(at('whole', 'log.db'), path)
    damage(path, page)
    const reader = openSqliteLogReader(path)
    const read = await reader.read(0, { entries: ENTRIES, bytes: 100_000_000 }).catch(() => [])
    await reader.close()
    rmSync(path)
    if (read.length > 0 && read.length < ENTRIES) found.push({ page, position: read.length + 1 })
  }
  return found
}

function damage(path: string, page: number): void {
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(pageBytes, 0xff), 0, pageBytes, (page - 1) * pageBytes)
  closeSync(file)
}

let copies = 0
function damagedCopy(position: number): { readonly DATA_DIR: string } {
  const dir = at(`copy-${++copies}`)
  cpSync(at('whole'), dir, { recursive: true })
  const leaf = leaves.find((candidate) => candidate.position === position)
  if (!leaf) throw new Error(`no page holds the entry at ${position}: ${JSON.stringify(leaves)}`)
  damage(join(dir, 'log.db'), leaf.page)
  return { DATA_DIR: dir }
}

const eventsOf = async ({ started }: ServingProgram, number: number) => {
  const headers = { authorization: basic('main', dataKey) }
  const answer = await fetch(`${started.url}/v1/event/main?customer_id=c${number}`, { headers })
  return ((await answer.json()) as { data?: unknown[] }).data?.length ?? 0
}

it('the server applies what it can read, says in words what it cannot, and goes on when an operator skips it', async () => {
  const environment = damagedCopy(30)
  const server = await startServing(environment)
  await until('the entries before it are applied', async () => (await eventsOf(server, 29)) === 1)
  const ready = await fetch(`${server.started.url}/readyz`)
  const problem =
    'The log is damaged after position 29 and cannot be read further. An operator must run `tidings log check`'
  expect({ status: ready.status, text: await ready.text() }).toEqual({
    status: 503,
    text: expect.stringContaining(problem) as string,
  })
  await until('the diagnostics say it', () => server.output().stderr.includes(problem))
  expect(server.output().stderr).not.toContain('SQLITE_')
  const checked = await runJson(['log', 'check'], environment)
  const damaged = [{ from: 30, to: 30, entries: 1, is_applied: false }]
  expect(checked).toMatchObject({ status: 1, body: { entries: ENTRIES - 1, cursor: 29, damaged } })
  const refused = failureOf(await runJson(['log', 'skip', '--damaged'], environment))
  expect(refused).toMatchObject({ status: 2, code: 'invalid_request' })
  expect(refused?.message).toBe(
    '1 entry at position 30 will be lost. Nothing was changed: confirm with --yes, because no terminal is there to ask on.\nSee tidings --help.',
  )
  const skipped = await runJson(['log', 'skip', '--damaged', '--yes'], environment)
  expect(skipped).toMatchObject({ status: 0, body: { skipped: { from: 30, to: 30, entries: 1 } } })
  await until('the entries behind it are applied', async () => (await eventsOf(server, ENTRIES)) === 1)
  expect(await eventsOf(server, 30)).toBe(0)
  await until('the server is ready', async () => (await fetch(`${server.started.url}/readyz`)).status === 200)
  await server.stop()
})

it('a restored backup of a log whose damaged entries are applied or skipped is whole', async () => {
  const environment = damagedCopy(2)
  const server = await startServing(environment)
  await until('the pipeline stops', async () => (await fetch(`${server.started.url}/readyz`)).status === 503)
  const refused = failureOf(await runJson(['backup', at('refused.db')], environment))
  expect(refused?.message).toMatch(/^The log is damaged between the positions \d+ and \d+, which are not applied\./)
  await run(['log', 'skip', '--damaged', '--yes'], environment)
  await until('all is applied', async () => (await eventsOf(server, ENTRIES)) === 1)
  await server.stop()
  expect((await run(['log', 'check'], environment)).stdout).toContain(', applied.\nNothing is lost.')
  expect(await run(['backup', at('skipped.db')], environment)).toMatchObject({ status: 0 })
  const restored = { DATA_DIR: at('restored') }
  expect(await run(['restore', at('skipped.db')], restored)).toMatchObject({ status: 0 })
  expect(await runJson(['log', 'check'], restored)).toMatchObject({ status: 0, body: { damaged: [] } })
})

it('log check and log skip say when nothing is damaged, and what they need', async () => {
  const environment = { DATA_DIR: at('whole') }
  expect(await run(['log', 'check'], environment)).toMatchObject({
    status: 0,
    stdout: `${ENTRIES} entries can be read.\n`,
  })
  const nothing = failureOf(await runJson(['log', 'skip', '--damaged', '--yes'], environment))
  expect(nothing).toMatchObject({ code: 'not_found', message: 'No entry that is not applied is damaged.' })
  expect(await run(['log', 'skip'], environment)).toMatchObject({ status: 2 })
  const early = failureOf(await runJson(['log', 'skip', '--damaged', '--yes'], damagedCopy(30)))
  expect(early?.message).toContain('The entries from 1 to 29 can be read and are not applied yet.')
  const codeFor = async (environment: Environment) => failureOf(await runJson(['log', 'check'], environment))?.code
  expect(await codeFor({ DATABASE_URL: 'postgres://db/x' })).toBe('invalid_request')
  expect(await codeFor({ DATA_DIR: at('nowhere') })).toBe('not_found')
})
