// `suppression add|list|remove`, as an operator calls them, beside no server, on every store.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { environmentOf, failureOf, runJson, type Environment } from '../support/program.ts'
import { describeEachStore, makeStore, type TestLocation } from '../support/stores.ts'

describeEachStore('The commands of suppressions', (kind) => {
  let location: TestLocation
  let environment: Environment

  beforeAll(async () => {
    location = await makeStore(kind)
    environment = environmentOf(location)
    await runJson(['workspace', 'create', 'main'], environment)
  })
  afterAll(() => location.remove())

  const run = (verb: string, ...operands: string[]) => runJson(['suppression', verb, 'main', ...operands], environment)

  it('add an address, list it, and lift its suppression', async () => {
    const added = await run('add', 'Ada@Shop.example', '--reason', 'complaint', '--evidence', 'ticket 7')
    const suppression = { email: 'Ada@Shop.example', reason: 'complaint', evidence: 'ticket 7' }
    expect(added).toMatchObject({ status: 0, body: { workspace_id: 'main', ...suppression } })
    expect((await run('list')).body).toMatchObject({ suppressions: [suppression], next_after: null })
    expect(await run('remove', 'ada@shop.example')).toMatchObject({ status: 0, body: { outcome: 'removed' } })
    expect((await run('list')).body).toMatchObject({ suppressions: [] })
    expect((await run('remove', 'ada@shop.example')).status).toBe(1)
  })

  it('name an address and a reason that are none', async () => {
    expect(failureOf(await run('add', 'nobody'))).toMatchObject({ status: 1, fields: ['EMAIL'] })
    const reason = await run('add', 'ada@shop.example', '--reason', 'dislike')
    expect(failureOf(reason)).toMatchObject({ status: 1, fields: ['--reason'] })
  })
})
