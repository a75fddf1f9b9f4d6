// Kills a serving process in the middle of an import: the same file, sent again, is applied once.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createWorkspace, type NewWorkspace } from '../../src/actions/create-workspace.ts'
import { LIMIT_DEFAULTS } from '../../src/core/workspace.ts'
import type { Database } from '../../src/store/store.ts'
import { releaseImports } from '../../src/store/users/imports.ts'
import { csvLines, openImport, type ImportBody } from '../support/calls/import-calls.ts'
import { environmentOf, startServing } from '../support/program.ts'
import { until } from '../support/server.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

const ROWS = 20_000
const KEY = 'killed'
const SENT_BEFORE_KILL = 12_000

describeEachStore('An import', (kind) => {
  let location: TestLocation
  let database: Database
  let workspace: NewWorkspace

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    workspace = await createWorkspace(database, 'main', { limits: { ...LIMIT_DEFAULTS } }, Date.now())
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  it('goes on after its server was killed, and applies each row once', async () => {
    const child = await startServing(environmentOf(location))
    const killed = openImport(child.started.url, workspace, KEY)
    await killed.send(`customer_id,plan\n${csvLines(0, SENT_BEFORE_KILL)}`)
    const rowsOf = async () => (await database.query.selectFrom('imports').selectAll().execute())[0]
    await until('a checkpoint is saved and rows are applied', async () => {
      const row = await rowsOf()
      return row !== undefined && row.chunks > 0 && row.applied > 0
    })
    await child.stop('SIGKILL')
    // The embedded store belongs to one process, so the next one knows that the import is not being sent. With PostgreSQL a minute
    // must pass.
    if (kind === 'postgres') await database.write((store) => releaseImports(store, Date.now() + 1))

    const next = await startServing(environmentOf(location))
    try {
      const again = openImport(next.started.url, workspace, KEY)
      await again.send(`customer_id,plan\n${csvLines(0, ROWS)}`)
      const { status, body } = await again.end()
      expect({ status, body }).toMatchObject({ status: 200, body: { rows: ROWS, accepted: ROWS } })
      const id = (body as ImportBody).import_id
      await until('all rows are applied', async () => (await rowsOf())?.applied === ROWS)
      expect(await rowsOf()).toMatchObject({ id, applied: ROWS, rows: ROWS, is_received: 1 })
    } finally {
      await next.stop()
    }
    const users = database.query.selectFrom('users').select(({ fn }) => fn.countAll<number>().as('count'))
    expect(await users.executeTakeFirst()).toEqual({ count: ROWS })
  })
})
