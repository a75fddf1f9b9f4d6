// `tidings import` as an operator runs it: against a running server, on every store.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { createWorkspace, type NewWorkspace } from '../../src/actions/create-workspace.ts'
import { csvLines, type ImportBody } from '../support/calls/import-calls.ts'
import { environmentOf, failureOf, run, runJson, startServing, type ServingProgram } from '../support/program.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

// Every command is a process of its own, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 120_000 })

describeEachStore('tidings import', (kind) => {
  let location: TestLocation
  let workspace: NewWorkspace
  let server: ServingProgram
  let environment: Readonly<Record<string, string>>

  beforeAll(async () => {
    location = await makeStore(kind)
    const database = await openTestDatabase(location)
    workspace = await createWorkspace(database, 'main', {}, Date.now())
    await database.close()
    server = await startServing(environmentOf(location))
    environment = { ...environmentOf(location), PORT: new URL(server.started.url).port, DATA_KEY: workspace.dataKey }
  })
  afterAll(async () => {
    await server.stop()
    await location.remove()
  })

  const makeFile = (name: string, text: string) => {
    const path = join(location.dataDir, name)
    writeFileSync(path, text)
    return path
  }

  it('imports a file, and waits until all rows are applied', async () => {
    const path = makeFile('people.csv', `customer_id,plan\n${csvLines(0, 1_200)}null,x\n`)
    const ended = await runJson(['import', path, '--workspace', 'main'], environment)
    expect(ended).toMatchObject({
      status: 0,
      body: { status: 'complete', rows: 1_201, accepted: 1_200, applied: 1_200 },
    })
    const again = await run(['import', path, '--workspace', 'main'], environment)
    expect(again.stdout).toContain(`Import ${(ended.body as ImportBody).import_id}, begun at `)
    expect(again.stdout).toContain(
      '1201 rows, 1200 accepted, 1 refused, 1200 applied.\nline 1202: customer_id is a placeholder',
    )
    const other = await runJson(['import', path, '--workspace', 'main', '--key', 'again'], environment)
    expect((other.body as ImportBody).import_id).not.toBe((ended.body as ImportBody).import_id)
  })

  it('imports NDJSON', async () => {
    const path = makeFile('people', '{"customer_id":"json","attributes":{"age":42}}\n')
    const ended = await runJson(['import', path, '--workspace', 'main', '--format', 'ndjson'], environment)
    expect(ended).toMatchObject({ status: 0, body: { accepted: 1, applied: 1 } })
  })

  it('reports what the server refuses', async () => {
    const path = makeFile('broken.csv', 'email;plan\na,b\n')
    const ended = await runJson(['import', path, '--workspace', 'main'], environment)
    expect(failureOf(ended)).toMatchObject({ status: 1, code: 'invalid_request', fields: ['line 1'] })
    const wrong = { ...environment, DATA_KEY: 'wrong' }
    expect(failureOf(await runJson(['import', path, '--workspace', 'main'], wrong))).toMatchObject({
      code: 'unauthorized',
    })
  })

  it('reports a server that does not run, a missing file and missing settings', async () => {
    const path = makeFile('one.csv', 'customer_id\na\n')
    const refusals: [args: string[], environment: Readonly<Record<string, string>>, code: string][] = [
      [['--url', 'http://127.0.0.1:1'], environment, 'unavailable'],
      [['--url', 'ftp://127.0.0.1'], environment, 'invalid_request'],
      [[], environmentOf(location), 'invalid_request'],
    ]
    for (const [args, given, code] of refusals) {
      const ended = await runJson(['import', path, '--workspace', 'main', ...args], given)
      expect(failureOf(ended)).toMatchObject({ status: 1, code })
    }
    const missing = await runJson(['import', `${path}.csv`, '--workspace', 'main'], environment)
    expect(failureOf(missing)).toMatchObject({ status: 1, code: 'not_found' })
    const unknown = await run(['import', makeFile('one.txt', ''), '--workspace', 'main'], environment)
    expect(unknown).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--format csv or --format ndjson') as string,
    })
  })
})
