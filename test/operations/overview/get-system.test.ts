// What people who look after the server see of it, through real HTTP, on every store.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Role } from '../../../src/core/accounts/role.ts'
import { MIGRATIONS } from '../../../src/store/migrations.ts'
import { signInAs } from '../../support/accounts/sign-in-as.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

interface System {
  readonly memory_bytes: number
  readonly log: { readonly lag_entries: number }
}

const PATH = '/v1/workspaces/main/system'

describeEachStore('The system (get_system)', (kind) => {
  let server: TestServer
  beforeAll(async () => void (server = await startServer(kind, {}, { withPipeline: false })))
  afterAll(() => server.stop())

  const read = async () => server.call<System>('GET', PATH, { person: await signInAs(server, 'developer') })

  it('shows versions, roles, sizes and how many entries wait', async () => {
    const aNumber: unknown = expect.any(Number)
    const { status, body } = await read()
    expect(status).toBe(200)
    expect(body).toEqual({
      version: expect.stringMatching(/^\d+\./),
      node_version: process.versions.node,
      roles: ['http', 'delivery'],
      started_at: expect.stringMatching(/Z$/),
      memory_bytes: aNumber,
      is_ready: true,
      problems: [],
      store: { kind, schema: Object.keys(MIGRATIONS).at(-1), bytes: aNumber },
      log: { kind, bytes: { sqlite: aNumber, postgres: null }[kind], lag_entries: 0, lag_seconds: 0 },
    })
    expect(body.memory_bytes).toBeGreaterThan(1_000_000)
    const event = { type: 'event', customer_id: 'ada', actions: [{ action: 'Visit' }] }
    await server.call('POST', '/v1/event/main', { body: event })
    expect((await read()).body.log.lag_entries).toBe(1)
  })

  const refused: [role: Role, status: number][] = [
    ['owner', 200],
    ['developer', 200],
    ['marketer', 403],
    ['analyst', 403],
  ]
  it.each(refused)('answers the %s with %i', async (role, status) => {
    expect((await server.call('GET', PATH, { person: await signInAs(server, role) })).status).toBe(status)
  })

  it('is not for keys', async () => {
    expectRefusal(await server.call('GET', PATH, { tile: 'reports' }), 403, 'forbidden')
  })
})
