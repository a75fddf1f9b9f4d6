// What API keys may read of their workspace through real HTTP, on every store: its settings, its limits, and its categories.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { addNamedCategory } from '../../../src/actions/workspaces/change-categories.ts'
import { FEEDBACK_KEYS } from '../../../src/core/delivery/delivery-settings.ts'
import { LIMIT_DEFAULTS, type Limits } from '../../../src/core/workspace.ts'
import { changedByTest } from '../../support/audit/changed-by.ts'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOON = Date.UTC(2030, 5, 15, 12)
const MINUTE_MS = 60_000

interface LimitItem {
  readonly limit: string
  readonly units: number
  readonly window: string
  readonly operation: string | null
  readonly used: number
  readonly remaining: number
  readonly resets_at: string
}

interface CategoryPage {
  readonly data: { readonly name: string; readonly labels: Readonly<Record<string, string>> }[]
  readonly next_after: string | null
}

describeEachStore('Reading a workspace (get_workspace, list_limits, list_categories)', (kind) => {
  let server: TestServer
  let workspace: TestWorkspace

  beforeAll(async () => {
    server = await startServer(kind, { SECRET_KEY: randomBytes(32).toString('base64') })
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    server.setClock(NOON)
    workspace = await server.makeWorkspace()
  })

  const read = <Body = unknown>(path = '', options: object = {}) =>
    server.call<Body>('GET', `/v1/workspaces/${workspace.id}${path}`, { as: workspace, ...options })

  it.each(['data', 'reports'] as const)(
    'returns all settings with their types to the key of the tile %s',
    async (tile) => {
      const answer = await read<{ settings: object; revision: number }>('', { tile })
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({
        workspace_id: workspace.id,
        settings: {
          name: workspace.id,
          timezone: 'UTC',
          suspended: false,
          email_protection: 'none',
          identity_resolution: [],
          project_codes: [],
          joined_customer_ids_max: 20,
          clock_skew_seconds: 300,
          'retention_days.events': null,
          global_control_percent: 0,
          frequency_caps: [],
          alert_sender_id: null,
          ...Object.fromEntries(FEEDBACK_KEYS.map((key) => [`feedback.${key}`, null])),
          ...Object.fromEntries(Object.entries(LIMIT_DEFAULTS).map(([name, units]) => [`limits.${name}`, units])),
        },
        created_at: expect.stringMatching(/Z$/) as string,
        revision: expect.any(Number) as number,
      })
    },
  )

  it('returns settings as they are in the store, and a key of feedback only as set', async () => {
    const before = (await read<{ revision: number }>()).body.revision
    await server.changeSettings(workspace, {
      frequencyCaps: [{ count: 1, days: 7 }],
      feedbackKeys: { mailgun_key: 'v1.sealed' },
    })
    const { body } = await read<{ settings: object; revision: number }>()
    expect(body.settings).toMatchObject({ frequency_caps: ['1/7d'], 'feedback.mailgun_key': 'set' })
    expect(JSON.stringify(body)).not.toContain('sealed')
    expect(body.revision).toBeGreaterThan(before)
  })

  it('refuses another workspace, and keys for what only people may do', async () => {
    const other = await server.makeWorkspace()
    expectRefusal(await read('', { as: other }), 403, 'forbidden', ['path.Workspace_ID'])
    for (const tile of ['data', 'reports'] as const) {
      expectRefusal(await read('/keys', { tile }), 403, 'forbidden')
      const change = { as: workspace, tile, body: { settings: { name: 'x' } } }
      expectRefusal(await server.call('PATCH', `/v1/workspaces/${workspace.id}`, change), 403, 'forbidden')
    }
  })

  const limitsOf = async () => {
    const { body } = await read<{ data: LimitItem[] }>('/limits', { tile: 'reports' })
    return new Map(body.data.map(({ limit, ...item }) => [limit, item]))
  }
  const setLimits = (limits: Partial<Limits>) =>
    server.changeSettings(workspace, { limits: { ...LIMIT_DEFAULTS, ...limits } })
  const track = (events: number) => {
    const actions = Array.from({ length: events }, () => ({ action: 'Visit' }))
    const body = { type: 'event', customer_id: 'c1', actions }
    return server.call('POST', `/v1/event/${workspace.id}`, { as: workspace, body })
  }

  it('tells what is used of each limit in the window under way, and takes nothing by telling', async () => {
    await setLimits({ track_events_per_minute: 10 })
    server.setClock(NOON + 1)
    expect((await track(3)).status).toBe(200)
    expect((await track(4)).status).toBe(200)
    expect((await track(4)).status).toBe(429)
    const limits = await limitsOf()
    expect([...limits.keys()]).toEqual(Object.keys(LIMIT_DEFAULTS))
    const tracked = {
      units: 10,
      window: 'minute',
      operation: 'track_events',
      used: 7,
      remaining: 3,
      resets_at: new Date(NOON + MINUTE_MS).toISOString(),
    }
    expect(limits.get('track_events_per_minute')).toEqual(tracked)
    expect((await limitsOf()).get('track_events_per_minute')).toEqual(tracked)
    expect(limits.get('update_preferences_per_day')).toEqual({
      units: 360_000,
      window: 'day',
      operation: null,
      used: 0,
      remaining: 360_000,
      resets_at: new Date(Date.UTC(2030, 5, 16)).toISOString(),
    })
  })

  it('shows the operation that used most of a limit that several have, each by itself', async () => {
    for (let count = 0; count < 4; count++) await read('/categories')
    await read()
    const { operation, used, remaining } = (await limitsOf()).get('management_per_minute') as Omit<LimitItem, 'limit'>
    expect({ operation, used, remaining }).toEqual({ operation: 'list_categories', used: 4, remaining: 996 })
  })

  it('begins again with the next window, and shows no less than nothing of a limit that was lowered', async () => {
    const preference = { user_preferences: { customer_id: 'nobody', opt_in_status: 'OPTED_IN' } }
    const update = () =>
      server.call('PUT', '/v1.0/opt-in-management/user-preferences', { as: workspace, body: preference })
    for (let count = 0; count < 3; count++) expect((await update()).status).toBe(404)
    await setLimits({ update_preferences_per_day: 2 })
    server.setClock(NOON + MINUTE_MS)
    const limits = await limitsOf()
    expect(limits.get('update_preferences_per_minute')).toMatchObject({ used: 0, operation: null })
    expect(limits.get('update_preferences_per_day')).toMatchObject({ units: 2, used: 3, remaining: 0 })
  })

  const add = async (names: readonly string[], labels: Readonly<Record<string, string>> = {}) => {
    for (const name of names) {
      await server.database.write((store) => addNamedCategory(store, { name, by: changedByTest(workspace.id) }, labels))
    }
  }

  it('lists categories in their order, with their labels', async () => {
    await add(['News'])
    await add(['Offers'], { de: 'Angebote', 'pt-BR': 'Ofertas' })
    expect((await read('/categories')).body).toEqual({
      data: [
        { name: 'News', labels: {} },
        { name: 'Offers', labels: { de: 'Angebote', 'pt-BR': 'Ofertas' } },
      ],
      next_after: null,
    })
  })

  it('lists categories in pages that neither overlap nor skip', async () => {
    const names = ['c', 'a', 'e', 'b', 'd']
    await add(names)
    const found: string[] = []
    let after: string | null = null
    do {
      const query: string = after === null ? '' : `&after=${after}`
      const { body } = await read<CategoryPage>(`/categories?limit=2${query}`)
      found.push(...body.data.map(({ name }) => name))
      after = body.next_after
    } while (after !== null)
    expect(found).toEqual(names)
    expectRefusal(await read('/categories?after=x&limit=0'), 400, 'invalid_request', ['query.after', 'query.limit'])
    expectRefusal(await read('/categories?after=x'), 400, 'invalid_request', ['query.after'])
  })

  it('ends a page of categories that would be too large, and continues behind it', async () => {
    const label = '優'.repeat(256)
    const labels = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [
        `q${String.fromCharCode(97 + (index % 25))}${index < 25 ? 'x' : 'y'}`,
        label,
      ]),
    )
    const names = Array.from({ length: 120 }, (_, index) => `category ${index}`)
    await add(names, labels)
    const { body: first } = await read<CategoryPage>('/categories')
    expect(first.data.length).toBeGreaterThan(50)
    expect(first.data.length).toBeLessThan(120)
    const after = encodeURIComponent(first.next_after ?? '')
    const { body: second } = await read<CategoryPage>(`/categories?after=${after}`)
    expect([...first.data, ...second.data].map(({ name }) => name)).toEqual(names)
    expect(second.data.at(-1)?.labels).toEqual(labels)
  })
})
