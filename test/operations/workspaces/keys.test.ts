// API keys through real HTTP, on every store: what is known of them, and how a person makes new ones.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { ROLES } from '../../../src/core/accounts/role.ts'
import { toIso } from '../../../src/core/time-value.ts'
import { signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { expectRefusal, startServer, until, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const HOUR_MS = 60 * 60 * 1000

interface KeyItem {
  readonly tile: string
  readonly created_at: string | null
  readonly created_by: string | null
  readonly last_used_at: string | null
  readonly previous: { readonly valid_until: string; readonly last_used_at: string | null } | null
}

interface NewKey {
  readonly tile: string
  readonly key: string
  readonly previous_valid_until: string | null
}

describeEachStore('Keys (list_keys, generate_key)', (kind) => {
  let server: TestServer
  let owner: SignedInPerson
  let workspace: TestWorkspace
  /** What time it is for the server. */
  let now: number

  beforeAll(async () => {
    server = await startServer(kind)
    owner = await signInAs(server, 'owner')
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    now = Date.now()
    server.setClock(now)
    workspace = await server.makeWorkspace()
  })

  const listAs = (person: SignedInPerson) =>
    server.call<{ data: KeyItem[] }>('GET', `/v1/workspaces/${workspace.id}/keys`, { person })
  const itemOf = async (tile: string) => {
    const item = (await listAs(owner)).body.data.find((key) => key.tile === tile)
    if (!item) throw new Error(`there is no key ${tile}`)
    return item
  }
  const generate = (tile: string, body: unknown = {}, person = owner, headers: Record<string, string> = {}) =>
    server.call<NewKey>('POST', `/v1/workspaces/${workspace.id}/keys/${tile}`, { person, body, headers })
  /** What the tile `data` may do. */
  const use = async (dataKey: string) => {
    const path = `/v1/workspaces/${workspace.id}/categories`
    return (await server.call('GET', path, { as: { ...workspace, dataKey } })).status
  }

  it('are listed for both tiles, without the keys', async () => {
    const answer = await listAs(owner)
    const known = { created_at: expect.any(String) as string, created_by: null, last_used_at: null, previous: null }
    expect(answer).toMatchObject({ status: 200 })
    expect(answer.body.data).toEqual([
      { tile: 'data', ...known },
      { tile: 'reports', ...known },
    ])
    expect(JSON.stringify(answer.body)).not.toMatch(/td_|[0-9a-f]{64}/)
  })

  it('that are new work at once, and say who made them and when they were used', async () => {
    const answer = await generate('data')
    expect(answer.status).toBe(201)
    const key = expect.stringMatching(/^td_data_[\w-]{43}$/) as string
    expect(answer.body).toEqual({ tile: 'data', key, previous_valid_until: null })
    const made = { tile: 'data', created_at: toIso(now), created_by: `person:${owner.email}`, previous: null }
    expect(await itemOf('data')).toEqual({ ...made, last_used_at: null })
    expect(await use(answer.body.key)).toBe(200)
    await until('the old key fails', async () => (await use(workspace.dataKey)) === 401)
    await until('the use is known', async () => (await itemOf('data')).last_used_at !== null)
    expect(await itemOf('data')).toEqual({ ...made, last_used_at: toIso(now) })
    expect((await itemOf('reports')).created_by).toBeNull()
  })

  it('that are replaced stay valid for the hours that somebody wants, and are shown as long', async () => {
    const { key, previous_valid_until } = (await generate('data', { old_key_valid_hours: 2 })).body
    expect(previous_valid_until).toBe(toIso(now + 2 * HOUR_MS))
    expect([await use(key), await use(workspace.dataKey)]).toEqual([200, 200])
    await until('both uses are known', async () => {
      const { last_used_at: used, previous } = await itemOf('data')
      return used !== null && previous?.last_used_at !== null
    })
    const previous = { valid_until: previous_valid_until, last_used_at: toIso(now) }
    expect(await itemOf('data')).toMatchObject({ last_used_at: toIso(now), previous })
    server.setClock(now + 2 * HOUR_MS - 1)
    expect([await use(key), await use(workspace.dataKey)]).toEqual([200, 200])
    server.setClock(now + 2 * HOUR_MS)
    expect([await use(key), await use(workspace.dataKey)]).toEqual([200, 401])
    expect((await itemOf('data')).previous).toBeNull()
  })

  it('are made again by a repeated request, whatever its Idempotency-Key', async () => {
    const repeat = () => generate('reports', {}, owner, { 'idempotency-key': 'once' })
    expect((await repeat()).body.key).not.toBe((await repeat()).body.key)
  })

  it.each<[tile: string, body: unknown, fields: readonly string[]]>([
    ['data', { old_key_valid_hours: 25 }, ['old_key_valid_hours']],
    ['data', { old_key_valid_hours: -1 }, ['old_key_valid_hours']],
    ['data', { old_key_valid_hours: 1.5 }, ['old_key_valid_hours']],
    ['sales', { hours: 1 }, ['hours', 'path.tile']],
  ])('are not made for the tile %s with %j', async (tile, body, fields) => {
    const before = (await listAs(owner)).body
    expectRefusal(await generate(tile, body), 400, 'invalid_request', fields)
    expect((await listAs(owner)).body).toEqual(before)
    expect(await use(workspace.dataKey)).toBe(200)
  })

  it('are for owners and developers of the workspace', async () => {
    for (const role of ROLES) {
      const person = await signInAs(server, role, workspace.id)
      const may = role === 'owner' || role === 'developer'
      const statuses = [(await listAs(person)).status, (await generate('reports', {}, person)).status]
      expect([role, ...statuses]).toEqual(may ? [role, 200, 201] : [role, 403, 403])
      const path = `/v1/workspaces/${server.workspace.id}/keys/data`
      expectRefusal(await server.call('POST', path, { person, body: {} }), 403, 'forbidden')
    }
  })

  it('cannot make others: a key is no person', async () => {
    for (const tile of ['data', 'reports'] as const) {
      const answer = await server.call('POST', `/v1/workspaces/${workspace.id}/keys/data`, {
        as: workspace,
        tile,
        body: {},
      })
      expectRefusal(answer, 403, 'forbidden')
    }
  })
})
