// Campaigns through real HTTP, on every store: creating, getting, listing and updating them. The effects of changed goals are in
// `change-goals.test.ts`.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { CONDITIONS_MAX, GOALS_JSON_LENGTH_MAX } from '../../../src/core/campaigns/goal-faults.ts'
import { NUMBER_LENGTH_MAX, toJsonNumber } from '../../../src/core/json/exact-number.ts'
import { CAMPAIGNS_MAX, GOALS_BYTES_MAX, measureCampaigns } from '../../../src/store/campaigns/campaigns.ts'
import { campaignCallsOf, CAMPAIGNS_PATH, type CampaignCalls } from '../../support/calls/campaign-calls.ts'
import { expectOthersFirst } from '../../support/held-turn.ts'
import {
  expectRefusal,
  LIMITS_OF_TESTS,
  startServer,
  type TestServer,
  type TestWorkspace,
} from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOON = Date.parse('2026-03-10T12:00:00Z')
const EMOJI = '😀'

const goal = (fields: Readonly<Record<string, unknown>> = {}) => ({ name: 'Order', event: 'Order Placed', ...fields })
/** One goal with one condition on the attribute `a`. */
const goalWhere = (...conditions: object[]) => [
  goal({ where: conditions.map((condition) => ({ attribute: 'a', ...condition })) }),
]
const conditions = (count: number) => Array.from({ length: count }, () => ({ operator: 'exists' }))
const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
const goals = (count: number) => Array.from({ length: count }, (_, index) => goal({ name: `Goal ${index}` }))

describeEachStore('Campaigns (create_campaign, get_campaign, list_campaigns, update_campaign)', (kind) => {
  let server: TestServer
  let calls: CampaignCalls

  beforeAll(async () => {
    // Without a pipeline, a recount never ends.
    server = await startServer(kind, {}, { withPipeline: false })
    calls = campaignCallsOf(server)
  })
  beforeEach(() => server.setClock(NOON))
  afterAll(() => server.stop())

  it('creating answers 201 with the id, and getting the campaign returns every field', async () => {
    const created = await calls.create({
      name: 'Summer sale',
      platforms: ['email', 'iOS', 'sms'],
      conversion_goals: [
        { name: 'Visit', event: 'Page Viewed' },
        {
          name: 'Large order',
          event: 'Order Placed',
          where: [
            { attribute: 'amount', operator: 'greater_than', value: 100 },
            { attribute: 'items', operator: 'is_not', value: { list: [null, 'x'] } },
            { attribute: 'coupon', operator: 'exists', value: 'ignored' },
          ],
          window_hours: 240,
        },
      ],
      created_by: 'anna@example.com',
    })
    expect(created.status).toBe(201)
    const { campaign_id } = created.body
    expect(created.body).toEqual({ campaign_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string })
    expect(await calls.fetch(campaign_id)).toEqual({
      campaign_id,
      name: 'Summer sale',
      platforms: ['EMAIL', 'IOS', 'sms'],
      conversion_goals: [
        { name: 'Visit', event: 'Page Viewed', where: [], window_hours: 36 },
        {
          name: 'Large order',
          event: 'Order Placed',
          where: [
            { attribute: 'amount', operator: 'greater_than', value: 100 },
            { attribute: 'items', operator: 'is_not', value: { list: [null, 'x'] } },
            { attribute: 'coupon', operator: 'exists' },
          ],
          window_hours: 240,
        },
      ],
      created_by: 'anna@example.com',
      created_at: '2026-03-10T12:00:00.000Z',
      updated_by: null,
      updated_at: '2026-03-10T12:00:00.000Z',
      archived_at: null,
      recount: null,
    })
  })

  const accepted: [what: string, fields: Record<string, unknown>][] = [
    ['no goals', { conversion_goals: [] }],
    ['five goals', { conversion_goals: goals(5) }],
    ['two goals on one event', { conversion_goals: goals(2) }],
    ['names that differ in case', { conversion_goals: [goal(), goal({ name: 'order' })] }],
    ['a name of 256 characters', { name: EMOJI.repeat(256) }],
    ['20 platforms', { platforms: Array.from({ length: 20 }, (_, index) => `p${index}`) }],
    ['a window of one hour', { conversion_goals: [goal({ window_hours: 1 })] }],
    ['20 conditions', { conversion_goals: goalWhere(...conditions(CONDITIONS_MAX)) }],
    ['the operator is with null', { conversion_goals: goalWhere({ operator: 'is', value: null }) }],
    [
      'the operator is with as many levels as an attribute may have',
      { conversion_goals: goalWhere({ operator: 'is', value: nested(9) }) },
    ],
    ['the operator contains with null', { conversion_goals: goalWhere({ operator: 'contains', value: null }) }],
    [
      'the operator contains with an empty string',
      { conversion_goals: goalWhere({ operator: 'contains', value: '' }) },
    ],
    ['the operator exists without a value', { conversion_goals: goalWhere({ operator: 'exists' }) }],
    ['an attribute called __proto__', { conversion_goals: goalWhere({ attribute: '__proto__', operator: 'exists' }) }],
  ]
  it.each(accepted)('creating accepts %s', async (_what, fields) => {
    expect(await calls.fetch(await calls.make(fields))).toMatchObject(fields)
  })

  it('two campaigns can have the same name', async () => {
    expect(await calls.make({ name: 'Twin' })).not.toBe(await calls.make({ name: 'Twin' }))
  })

  const badGoals: [rule: string, goals: unknown, faulty: string[]][] = [
    ['goals that are not a list', goal(), ['conversion_goals']],
    ['six goals', goals(6), ['conversion_goals']],
    ['a goal without a name', [goal({ name: undefined })], ['conversion_goals[0].name']],
    ['a goal with an empty name', [goal({ name: '' })], ['conversion_goals[0].name']],
    ['a goal with a long name', [goal({ name: 'x'.repeat(257) })], ['conversion_goals[0].name']],
    ['a goal name that cannot be stored', [goal({ name: 'a\u0000' })], ['conversion_goals[0].name']],
    ['goals with one name', [goal(), goal({ event: 'Other' })], ['conversion_goals[1].name']],
    ['a goal without an event', [goal({ event: undefined })], ['conversion_goals[0].event']],
    ['an event with the reserved prefix', [goal({ event: 'svc_click' })], ['conversion_goals[0].event']],
    ['an event with a long name', [goal({ event: 'x'.repeat(257) })], ['conversion_goals[0].event']],
    ['a window of no hours', [goal({ window_hours: 0 })], ['conversion_goals[0].window_hours']],
    ['a window of 241 hours', [goal({ window_hours: 241 })], ['conversion_goals[0].window_hours']],
    ['a window with half an hour', [goal({ window_hours: 1.5 })], ['conversion_goals[0].window_hours']],
    ['a window as a string', [goal({ window_hours: '36' })], ['conversion_goals[0].window_hours']],
    ['an unknown member of a goal', [goal({ window: 36 })], ['conversion_goals[0].window']],
    ['21 conditions', goalWhere(...conditions(CONDITIONS_MAX + 1)), ['conversion_goals[0].where']],
    [
      'a condition without an attribute',
      [goal({ where: [{ operator: 'exists' }] })],
      ['conversion_goals[0].where[0].attribute'],
    ],
    [
      'a condition with an empty attribute name',
      goalWhere({ attribute: '', operator: 'exists' }),
      ['conversion_goals[0].where[0].attribute'],
    ],
    ['a condition without an operator', goalWhere({ value: 1 }), ['conversion_goals[0].where[0].operator']],
    ['an unknown operator', goalWhere({ operator: 'IS', value: 1 }), ['conversion_goals[0].where[0].operator']],
    [
      'an unknown member of a condition',
      goalWhere({ operator: 'exists', values: [1] }),
      ['conversion_goals[0].where[0].values'],
    ],
    [
      'goals that are too large',
      goalWhere({ operator: 'is', value: 'x'.repeat(GOALS_JSON_LENGTH_MAX) }),
      ['conversion_goals'],
    ],
  ]
  it.each(badGoals)('creating refuses %s', async (_rule, conversion_goals, faulty) => {
    expectRefusal(await calls.create({ conversion_goals }), 400, 'invalid_request', faulty)
  })

  const badValues: [operator: string, value: unknown][] = [
    ['is', undefined],
    ['is_not', undefined],
    ['is', nested(10)],
    ['greater_than', undefined],
    ['greater_than', '1'],
    ['greater_than', null],
    ['greater_than', [1]],
    ['less_than', undefined],
    ['less_than', true],
    ['contains', undefined],
    ['contains', ['x']],
    ['contains', {}],
  ]
  it.each(badValues)('creating refuses %s with the value %j', async (operator, value) => {
    const conversion_goals = goalWhere({ operator: 'exists' }, { operator, value })
    const field = 'conversion_goals[0].where[1].value'
    expectRefusal(await calls.create({ conversion_goals }), 400, 'invalid_request', [field])
  })

  const comparing = ['is', 'is_not', 'greater_than', 'less_than', 'contains']
  it.each(comparing)('creating refuses %s with a number of more than 400 characters', async (operator) => {
    const conversion_goals = goalWhere({ operator, value: toJsonNumber('9'.repeat(NUMBER_LENGTH_MAX + 1)) })
    const field = 'conversion_goals[0].where[0].value'
    expectRefusal(await calls.create({ conversion_goals }), 400, 'invalid_request', [field])
  })

  it.each(comparing)('creating and updating keep every digit of a number with %s', async (operator) => {
    const written = (goal: unknown) => JSON.stringify(goal)
    const [first, second] = ['1610521604143693812', '1e400'].map((text) => {
      return [goal({ where: [{ attribute: 'a', operator, value: toJsonNumber(text) }], window_hours: 36 })]
    })
    const id = await calls.make({ conversion_goals: first })
    expect(written((await calls.fetch(id)).conversion_goals)).toBe(written(first))
    const changed = await calls.patch(id, { conversion_goals: second })
    expect(written(changed.body.conversion_goals)).toBe(written(second))
    expect(written((await calls.fetch(id)).conversion_goals)).toBe(written(second))
  })

  const refusals: [rule: string, fields: Record<string, unknown>, faulty: string[]][] = [
    ['a missing name', { name: undefined }, ['name']],
    ['an empty name', { name: '' }, ['name']],
    ['a long name', { name: EMOJI.repeat(257) }, ['name']],
    ['a name that cannot be stored', { name: '\ud800' }, ['name']],
    ['missing platforms', { platforms: undefined }, ['platforms']],
    ['no platforms', { platforms: [] }, ['platforms']],
    ['21 platforms', { platforms: Array.from({ length: 21 }, (_, index) => `p${index}`) }, ['platforms']],
    ['an empty platform', { platforms: ['EMAIL', ''] }, ['platforms[1]']],
    ['a platform twice', { platforms: ['EMAIL', 'EMAIL'] }, ['platforms']],
    ['a platform twice in another case', { platforms: ['EMAIL', 'web', 'email'] }, ['platforms[2]']],
    ['missing goals', { conversion_goals: undefined }, ['conversion_goals']],
    ['a missing creator', { created_by: undefined }, ['created_by']],
    ['an empty creator', { created_by: '' }, ['created_by']],
    ['an unknown field', { updated_by: 'ben' }, ['updated_by']],
    [
      'every fault at once',
      { name: '', platforms: ['web', 'WEB'], conversion_goals: [goal(), goal({ event: 'svc_x', window_hours: 0 })] },
      [
        'conversion_goals[1].event',
        'conversion_goals[1].name',
        'conversion_goals[1].window_hours',
        'name',
        'platforms[1]',
      ],
    ],
  ]
  it.each(refusals)('creating refuses %s', async (_rule, fields, faulty) => {
    expectRefusal(await calls.create(fields), 400, 'invalid_request', faulty)
  })

  it('an unknown id is 404, and an id of another workspace looks the same', async () => {
    const other = await server.makeWorkspace()
    const foreign = await calls.make({ name: 'Theirs' }, other)
    for (const id of [foreign, 'unknown', '01a1fba7-5367-7149-8cd0-a4fecea07fcb']) {
      expectRefusal(await calls.call('GET', `${CAMPAIGNS_PATH}/${id}`), 404, 'not_found')
      expectRefusal(await calls.patch(id, { name: 'Stolen' }), 404, 'not_found')
      expectRefusal(await calls.patch(id, { conversion_goals: [goal()] }), 404, 'not_found')
      expectRefusal(await calls.list(`?before=${id}`), 400, 'invalid_request', ['query.before'])
      const both = ['query.limit', 'query.before']
      expectRefusal(await calls.list(`?limit=0&before=${id}`), 400, 'invalid_request', both)
    }
    expect(await calls.fetch(foreign, other)).toMatchObject({ name: 'Theirs', conversion_goals: [] })
  })

  it('listing returns pages, newest first, that neither overlap nor skip', async () => {
    const workspace = await server.makeWorkspace()
    expect((await calls.list('', workspace)).body).toEqual({ data: [], next_before: null })
    const made: string[] = []
    for (let count = 0; count < 5; count++) {
      made.unshift(await calls.make({}, workspace))
      await calls.make()
    }
    const pages: string[][] = []
    let before = ''
    do {
      const { body } = await calls.list(`?limit=2${before}`, workspace)
      pages.push(body.data.map(({ campaign_id }) => campaign_id))
      before = body.next_before === null ? '' : `&before=${body.next_before}`
    } while (before !== '')
    expect(pages).toEqual([made.slice(0, 2), made.slice(2, 4), made.slice(4)])
    // A full last page has no next page.
    expect((await calls.list('?limit=5', workspace)).body).toMatchObject({ next_before: null })
    const [newest] = (await calls.list('', workspace)).body.data
    expect(newest).toEqual(await calls.fetch(made[0] as string, workspace))
  })

  it('listing returns 50 campaigns a page by default', async () => {
    const workspace = await server.makeWorkspace()
    for (let count = 0; count < 51; count++) await calls.make({}, workspace)
    const { data, next_before } = (await calls.list('', workspace)).body
    expect([data.length, next_before]).toEqual([50, data.at(-1)?.campaign_id])
    expect((await calls.list('?limit=100', workspace)).body.data).toHaveLength(51)
  })

  const badPages: [query: string, faulty: string][] = [
    ['?limit=0', 'query.limit'],
    ['?limit=101', 'query.limit'],
    ['?limit=1.5', 'query.limit'],
    ['?before=', 'query.before'],
    ['?status=ACTIVE', 'query.status'],
  ]
  it.each(badPages)('listing refuses %s', async (query, faulty) => {
    expectRefusal(await calls.list(query), 400, 'invalid_request', [faulty])
  })

  it('updating changes the fields in the request, and stores who made the last update', async () => {
    const conversion_goals = [goal({ where: [], window_hours: 36 })]
    const id = await calls.make({ name: 'Before', platforms: ['EMAIL'], conversion_goals })
    const before = await calls.fetch(id)
    server.setClock(NOON + 1)
    const changed = await calls.patch(id, { name: 'After', platforms: ['tv', 'EMAIL'], updated_by: 'ben' })
    expect(changed.status).toBe(200)
    expect(changed.body).toEqual({
      ...before,
      name: 'After',
      platforms: ['TV', 'EMAIL'],
      updated_by: 'ben',
      updated_at: '2026-03-10T12:00:00.001Z',
    })
    expect(await calls.fetch(id)).toEqual(changed.body)
    server.setClock(NOON + 2)
    const again = { ...changed.body, name: 'Nobody said', updated_by: null, updated_at: '2026-03-10T12:00:00.002Z' }
    expect((await calls.patch(id, { name: 'Nobody said' })).body).toEqual(again)
    // Received before the last update, but executed after it.
    server.setClock(NOON)
    const late = { ...again, name: 'Late', updated_at: '2026-03-10T12:00:00.003Z' }
    expect((await calls.patch(id, { name: 'Late' })).body).toEqual(late)
  })

  it('updating replaces goals as a whole', async () => {
    const id = await calls.make({ conversion_goals: goals(3) })
    const changed = await calls.patch(id, { conversion_goals: [goal({ window_hours: 72 })] })
    expect(changed.body.conversion_goals).toEqual([goal({ where: [], window_hours: 72 })])
    expect((await calls.patch(id, { conversion_goals: [] })).body.conversion_goals).toEqual([])
    expect(await calls.fetch(id)).toMatchObject({ conversion_goals: [] })
  })

  const badChanges: [rule: string, body: unknown, faulty: string[]][] = [
    ['nothing to change', {}, ['body']],
    ['only an updater', { updated_by: 'ben' }, ['body']],
    ['a body that is not an object', [], ['body']],
    ['a creator', { name: 'x', created_by: 'eve' }, ['created_by']],
    ['an id', { name: 'x', campaign_id: 'other' }, ['campaign_id']],
    ['an empty name', { name: '' }, ['name']],
    ['no platforms', { platforms: [] }, ['platforms']],
    ['a platform twice in another case', { platforms: ['tv', 'TV'] }, ['platforms[1]']],
    ['an empty updater', { name: 'x', updated_by: '' }, ['updated_by']],
    [
      'every fault at once',
      { name: '', conversion_goals: [goal({ event: 'svc_x' }), goal(), ...goalWhere({ operator: 'is' })] },
      [
        'conversion_goals[0].event',
        'conversion_goals[1].name',
        'conversion_goals[2].name',
        'conversion_goals[2].where[0].value',
        'name',
      ],
    ],
  ]
  it.each(badChanges)('updating refuses %s', async (_rule, body, faulty) => {
    expectRefusal(await calls.patch(await calls.make(), body), 400, 'invalid_request', faulty)
  })

  it('every operation requires the key of the tile reports and SVC-APPKEY, and counts in the limit of management', async () => {
    const path = `${CAMPAIGNS_PATH}/${await calls.make()}`
    const body = { name: 'x' }
    for (const [method, at, sent] of [
      ['POST', CAMPAIGNS_PATH, { body }],
      ['GET', CAMPAIGNS_PATH, {}],
      ['GET', path, {}],
      ['PATCH', path, { body }],
    ] as const) {
      const refused = await calls.call(method, at, { ...sent, tile: 'data' })
      expectRefusal(refused, 403, 'forbidden')
      const nameless = await calls.call(method, at, { ...sent, headers: { 'svc-appkey': 'other' } })
      expectRefusal(nameless, 403, 'forbidden', ['header.SVC-APPKEY'])
      expect(nameless.headers.get('x-ratelimit-limit')).toBe(String(LIMITS_OF_TESTS.management_per_minute))
    }
    expectRefusal(await calls.call('PUT', path, { body }), 405, 'method_not_allowed')
  })

  it('campaigns that several workspaces create at once get different numbers', async () => {
    const workspaces = [server.workspace, await server.makeWorkspace(), await server.makeWorkspace()]
    await Promise.all(workspaces.flatMap((as) => [calls.make({}, as), calls.make({}, as)]))
    const rows = await server.database.query.selectFrom('campaigns').select('number').orderBy('number').execute()
    expect(rows.map(({ number }) => number)).toEqual(rows.map((_, index) => index + 1))
  })

  it(`a workspace can have at most ${CAMPAIGNS_MAX} campaigns`, async () => {
    const workspace = await server.makeWorkspace()
    const first = await calls.make({}, workspace)
    const { query } = server.database
    const { number, ...row } = await query
      .selectFrom('campaigns')
      .selectAll()
      .where('id', '=', first)
      .executeTakeFirstOrThrow()
    const rows = Array.from({ length: CAMPAIGNS_MAX - 2 }, (_, index) => {
      return { ...row, number: number + 1 + index, id: `${index}` }
    })
    await server.database.write(async (store) => {
      for (let start = 0; start < rows.length; start += 1_000) {
        await store.query
          .insertInto('campaigns')
          .values(rows.slice(start, start + 1_000))
          .execute()
      }
    })
    expect((await calls.create({}, workspace)).status).toBe(201)
    expectRefusal(await calls.create({}, workspace), 409, 'conflict')
    expect((await calls.create()).status).toBe(201)
  })

  it('the goals of all campaigns of a workspace total at most 16 MiB', async () => {
    const workspace = await server.makeWorkspace()
    const { database } = server
    const [small, big] = [
      goalWhere({ operator: 'is', value: 'x' }),
      goalWhere({ operator: 'is', value: 'x'.repeat(1_000) }),
    ]
    const id = await calls.make({ conversion_goals: small }, workspace)
    const other = await calls.make({}, workspace)
    const { goalsBytes } = await measureCampaigns(database, workspace.id)
    // Leaves room for about 900 bytes more; an emoji is one character of four bytes.
    const name = EMOJI.repeat(Math.floor((GOALS_BYTES_MAX - goalsBytes - 900) / 4))
    const filled = JSON.stringify([{ name, event: 'E', where: [], windowHours: 1 }])
    await database.write(async ({ query }) => {
      await query.updateTable('campaigns').set({ goals: filled }).where('id', '=', other).execute()
    })
    const refused = await calls.create({ conversion_goals: big }, workspace)
    expectRefusal(refused, 409, 'conflict')
    expect(JSON.stringify(refused.body)).toContain('16 MiB')
    expectRefusal(await calls.patch(id, { conversion_goals: big }, workspace), 409, 'conflict')
    expect((await calls.fetch(id, workspace)).recount).toBeNull()
    expect((await calls.patch(id, { conversion_goals: [] }, workspace)).status).toBe(200)
    expect((await calls.create({ conversion_goals: small }, workspace)).status).toBe(201)
  })

  it('goals that are no larger than before are accepted even in a workspace over the limit', async () => {
    const workspace = await server.makeWorkspace()
    const id = await calls.make({ conversion_goals: [goal({ name: 'A' })] }, workspace)
    const other = await calls.make({}, workspace)
    const filled = JSON.stringify([{ name: 'x'.repeat(GOALS_BYTES_MAX), event: 'E', where: [], windowHours: 1 }])
    await server.database.write(async ({ query }) => {
      await query.updateTable('campaigns').set({ goals: filled }).where('id', '=', other).execute()
    })
    const change = async (name: string) => {
      return (await calls.patch(id, { conversion_goals: [goal({ name })] }, workspace)).status
    }
    expect([await change('AB'), await change('B')]).toEqual([409, 200])
  })

  it('listing serves another workspace before the queued large pages of one workspace', async () => {
    const [many, other] = [await server.makeWorkspace(), await server.makeWorkspace()]
    const where = Array.from({ length: 20 }, () => ({ attribute: 'a', operator: 'is', value: 'x'.repeat(500) }))
    const large = Array.from({ length: 5 }, (_, index) => goal({ name: `Goal ${index}`, where }))
    for (let made = 0; made < 20; made++) await calls.create({ conversion_goals: large }, many)
    await calls.create({}, other)
    const list = (as: TestWorkspace) => server.call<{ data: object[] }>('GET', CAMPAIGNS_PATH, { tile: 'reports', as })
    const answers = await expectOthersFirst(server, {
      turn: `campaigns ${many.id}`,
      size: 30,
      send: () => list(many),
      askOther: async () => expect((await list(other)).body.data).toHaveLength(1),
    })
    expect(answers.map(({ body }) => body.data.length)).toEqual(answers.map(() => 20))
  })
})
