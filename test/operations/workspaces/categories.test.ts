// Email preference categories through real HTTP, on every store: adding, labelling and removing them, and what stays.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { ROLES } from '../../../src/core/accounts/role.ts'
import { CATEGORIES_MAX } from '../../../src/core/workspace.ts'
import { signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { preferenceCalls } from '../../support/calls/preference-calls.ts'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

interface CategoryBody {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

describeEachStore('Categories (add_category, update_category, remove_category)', (kind) => {
  let server: TestServer
  let owner: SignedInPerson
  let workspace: TestWorkspace

  beforeAll(async () => {
    server = await startServer(kind)
    owner = await signInAs(server, 'owner')
  })
  afterAll(() => server.stop())
  beforeEach(async () => void (workspace = await server.makeWorkspace()))

  const call = <Body = CategoryBody>(method: string, name: string | null, options: object = {}) => {
    const path = `/v1/workspaces/${workspace.id}/categories`
    const named = name === null ? path : `${path}/${encodeURIComponent(name)}`
    return server.call<Body>(method, named, { person: owner, ...options })
  }
  const add = (body: unknown, options: object = {}) => call('POST', null, { body, ...options })
  const label = (name: string, labels: unknown) => call('PATCH', name, { body: { labels } })
  const list = async () => (await call<{ data: CategoryBody[] }>('GET', null)).body.data

  it('are added behind the others with their labels, in the usual spelling of languages', async () => {
    const added = await add({ name: 'Offers', labels: { 'PT-br': 'Ofertas', de: 'Angebote' } })
    const offers = { name: 'Offers', labels: { de: 'Angebote', 'pt-BR': 'Ofertas' } }
    expect([added.status, added.body]).toEqual([201, offers])
    expect((await add({ name: 'News' })).body).toEqual({ name: 'News', labels: {} })
    expect(await list()).toEqual([offers, { name: 'News', labels: {} }])
  })

  it('are added once by a repeated request, and otherwise conflict with their own name', async () => {
    const once = { headers: { 'idempotency-key': 'k1' } }
    const first = await add({ name: 'News', labels: { de: 'Neues' } }, once)
    const repeated = await add({ name: 'News', labels: { de: 'Neues' } }, once)
    expect([repeated.status, repeated.body]).toEqual([201, first.body])
    expectRefusal(await add({ name: 'News', labels: { de: 'Anderes' } }), 409, 'conflict')
    expect(await list()).toEqual([first.body])
  })

  it('can be decided about at once, and what was decided outlasts them', async () => {
    const calls = preferenceCalls(server, workspace)
    await calls.makeUsers(['c1'])
    await add({ name: 'News' })
    const choice = { customer_id: 'c1', opt_in_status: 'OPTED_IN', categories: { News: true } }
    expect((await calls.update(choice)).status).toBe(200)
    expect((await call('DELETE', 'News')).status).toBe(204)
    expectRefusal(await call('DELETE', 'News'), 404, 'not_found')
    const [proof] = await calls.proofsOf('c1')
    expect(proof?.after.categories).toEqual({ News: true })
    expect(await list()).toEqual([])
    await add({ name: 'News' })
    expect((await calls.readOne('c1')).categories).toEqual({ News: true })
  })

  it('have no labels of an earlier category of the same name', async () => {
    await add({ name: 'News', labels: { de: 'Neues' } })
    await call('DELETE', 'News')
    await add({ name: 'News' })
    expect(await list()).toEqual([{ name: 'News', labels: {} }])
  })

  it('get other labels in place of all that they had', async () => {
    await add({ name: 'News', labels: { de: 'Neues', fr: 'Actualités' } })
    await add({ name: 'Offers', labels: { de: 'Angebote' } })
    const changed = await label('News', { de: 'Neuigkeiten', es: 'Noticias' })
    expect([changed.status, changed.body]).toEqual([
      200,
      { name: 'News', labels: { de: 'Neuigkeiten', es: 'Noticias' } },
    ])
    expect((await label('Offers', {})).body).toEqual({ name: 'Offers', labels: {} })
    expect(await list()).toEqual([changed.body, { name: 'Offers', labels: {} }])
    expectRefusal(await label('Alerts', {}), 404, 'not_found')
  })

  it.each(['Sales & offers', 'a/b', '100 %', 'ünï ?#', '優惠', '😀'.repeat(256)])('may be called %s', async (name) => {
    expect((await add({ name })).status).toBe(201)
    expect((await label(name, { de: 'x' })).body).toEqual({ name, labels: { de: 'x' } })
    expect((await call('DELETE', name)).status).toBe(204)
  })

  it.each<[body: unknown, fields: readonly string[]]>([
    [{}, ['name']],
    [{ name: '' }, ['name']],
    [
      { name: ' x', labels: { de_DE: 'x', fr: '', es: 'x'.repeat(257) } },
      ['labels.de_DE', 'labels.es', 'labels.fr', 'name'],
    ],
    [{ name: '..' }, ['name']],
    [{ name: 'x', labels: { de: 1 } }, ['labels.de']],
    [{ name: 'x', labels: { de: 'a', DE: 'b' } }, ['labels.DE']],
    [{ name: 'x', labels: [] }, ['labels']],
    [{ name: 'x'.repeat(257), colour: 'red' }, ['colour', 'name']],
  ])('are not added as %j', async (body, fields) => {
    expectRefusal(await add(body), 400, 'invalid_request', fields)
    expect(await list()).toEqual([])
  })

  it('number at most a thousand', async () => {
    const categories = Array.from({ length: CATEGORIES_MAX }, (_, index) => `c${index}`)
    await server.changeSettings(workspace, { categories })
    expectRefusal(await add({ name: 'one more' }), 400, 'invalid_request', ['name'])
    expect(await list()).toHaveLength(CATEGORIES_MAX)
  })

  it('are changed by owners, developers and marketers, and read by everybody', async () => {
    for (const role of ROLES) {
      const person = await signInAs(server, role, workspace.id)
      const statuses = [
        (await add({ name: role }, { person })).status,
        (await call('PATCH', role, { person, body: { labels: {} } })).status,
        (await call('GET', null, { person })).status,
        (await call('DELETE', role, { person })).status,
      ]
      expect([role, ...statuses]).toEqual(role === 'analyst' ? [role, 403, 403, 200, 403] : [role, 201, 200, 200, 204])
    }
    expectRefusal(await add({ name: 'x' }, { person: undefined, as: workspace }), 403, 'forbidden')
  })
})
