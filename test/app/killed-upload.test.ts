// Kills a serving process in the middle of an upload of coupons: no part of it counts, and the same upload succeeds afterwards.
// Another process that fails to start does not disturb an upload.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pino } from 'pino'
import { readConfig } from '../../src/app/config.ts'
import { NO_ALERTS } from '../../src/core/coupons/coupon-list.ts'
import { serve } from '../../src/app/serve.ts'
import { addCouponList } from '../../src/store/coupons/coupon-lists.ts'
import { UPLOAD_ABANDONED_MS } from '../../src/store/coupons/coupon-uploads.ts'
import { createWorkspace, type NewWorkspace } from '../../src/actions/create-workspace.ts'
import type { Database } from '../../src/store/store.ts'
import { environmentOf, run, startServing } from '../support/program.ts'
import { codesOf, countRows, openUpload, toCsv } from '../support/calls/coupon-calls.ts'
import { until } from '../support/server.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

const CODES = codesOf('KILLED', 60_000)

describeEachStore('An upload', (kind) => {
  let location: TestLocation
  let database: Database
  let workspace: NewWorkspace

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    workspace = await createWorkspace(database, 'main', {}, Date.now())
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const makeList = (id: string) =>
    database.write((store) =>
      addCouponList(store, {
        id,
        workspaceId: 'main',
        name: id,
        label: id,
        expiresAt: '2199-12-31',
        createdBy: 'anna',
        emailAlertSubscribers: [],
        alertConditions: NO_ALERTS,
        createdAt: Date.now(),
      }),
    )

  it('adds nothing when its server is killed, and can be repeated once another server notices', async () => {
    const list = await makeList('killed')
    const child = await startServing(environmentOf(location))
    const killed = openUpload({ url: child.started.url, workspace }, list.id)
    await killed.send(toCsv(CODES))
    await until('codes of the upload are stored', async () => (await countRows(database, list.number)) > 0)
    await child.stop('SIGKILL')

    // The embedded store belongs to one process, so the next one knows at once; with PostgreSQL a minute must pass.
    const lateMs = kind === 'sqlite' ? 0 : UPLOAD_ABANDONED_MS
    const next = await serve({
      config: readConfig({ PORT: '0', DATA_DIR: location.dataDir, DATABASE_URL: location.databaseUrl }),
      diagnostics: pino({ level: 'fatal' }),
      clock: () => Date.now() + lateMs,
    })
    try {
      const again = openUpload({ url: next.url, workspace }, list.id)
      await again.send(toCsv(CODES))
      expect((await again.end()).body).toMatchObject({ added: CODES.length, duplicates: 0 })
    } finally {
      await next.stop()
    }
    const coupons = database.query.selectFrom('coupons').select('code').where('list_number', '=', list.number)
    expect((await coupons.execute()).length).toBe(CODES.length)
  })

  it('continues when another process fails to start on the same port', async () => {
    const list = await makeList('going-on')
    const child = await startServing(environmentOf(location))
    try {
      const upload = openUpload({ url: child.started.url, workspace }, list.id)
      await upload.send(toCsv(CODES))
      await until('codes of the upload are stored', async () => (await countRows(database, list.number)) > 0)
      const second = await run(['serve'], { ...environmentOf(location), PORT: new URL(child.started.url).port })
      expect(second).toMatchObject({ status: 1, stderr: expect.stringContaining('is in use') as string })
      expect((await upload.end()).body).toMatchObject({ added: CODES.length, duplicates: 0 })
    } finally {
      await child.stop()
    }
  })
})
