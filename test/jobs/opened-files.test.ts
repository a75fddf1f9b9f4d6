// Checks that a server refuses requests, and says why, when files of its embedded store are removed, moved or replaced: what it
// wrote to the old files would be lost.
import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LOG_FILE } from '../../src/log/open-log.ts'
import { STATE_FILE } from '../../src/store/open-database.ts'
import { environmentOf, run } from '../support/program.ts'
import { expectRefusal, startServer, until, type TestServer } from '../support/server.ts'
import { trackingOf } from '../support/calls/tracking.ts'

const event = { type: 'event', customer_id: 'c1', actions: [{ action: 'Visit' }] }

/** A new file has one page; its other pages are all in the write-ahead log. */
const FIRST_PAGE_BYTES = 4_096

let server: TestServer
beforeEach(async () => {
  server = await startServer('sqlite')
  // By the end of this, all threads have opened the files.
  const tracking = trackingOf(server)
  await tracking.fateOf(await tracking.events(event))
  const state = join(server.dataDir, STATE_FILE)
  await until('checkpoints have begun', () => statSync(state).size > FIRST_PAGE_BYTES)
})
afterEach(() => server.stop())

const readiness = () => server.call<{ error?: { message: string } }>('GET', '/readyz', { as: null })
const untilReady = (status: number) => until(`/readyz is ${status}`, async () => (await readiness()).status === status)

const CHANGES: readonly (readonly [string, () => Promise<void>])[] = [
  ['the folder is removed', async () => rmSync(server.dataDir, { recursive: true })],
  ['the log is removed', async () => rmSync(join(server.dataDir, LOG_FILE))],
  ['the store is removed', async () => rmSync(join(server.dataDir, STATE_FILE))],
  ['the write-ahead log of the log is removed', async () => rmSync(join(server.dataDir, `${LOG_FILE}-wal`))],
  ['a backup replaces its files', replaceByBackup],
]

it.each(CHANGES)('the server refuses requests when %s', async (_, change) => {
  await change()
  await untilReady(503)
  expect((await readiness()).body.error?.message).toMatch(/^Not ready: The files of the store were removed/)
  const refused = await trackingOf(server).events(event)
  expectRefusal(refused, 503, 'unavailable')
  expect(refused.headers.get('retry-after')).toBe('1')
})

it('the server continues when its files are moved back', async () => {
  const elsewhere = `${server.dataDir}-elsewhere`
  renameSync(server.dataDir, elsewhere)
  await untilReady(503)
  renameSync(elsewhere, server.dataDir)
  await untilReady(200)
  expect((await trackingOf(server).events(event)).status).toBe(200)
})

async function replaceByBackup(): Promise<void> {
  const folder = `${server.dataDir}-backup`
  const file = join(folder, 'backup.db')
  mkdirSync(folder)
  expect(await run(['backup', file], environmentOf(server))).toMatchObject({ status: 0 })
  rmSync(server.dataDir, { recursive: true })
  expect(await run(['restore', file], environmentOf(server))).toMatchObject({ status: 0 })
  rmSync(folder, { recursive: true })
}
