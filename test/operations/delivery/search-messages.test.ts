// Finding messages of a campaign by a part of the customer id, by the whole address, and by the reasons of statistics, through real
// HTTP, on every store.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { toEmailKey } from '../../../src/actions/email-protection.ts'
import type { Group } from '../../../src/core/campaigns/facts.ts'
import { FAILURE_REASONS, REMOVAL_REASONS } from '../../../src/core/delivery/message-state.ts'
import { MESSAGES_EXAMINED_MAX } from '../../../src/operations/delivery/messages/search-messages.ts'
import { addMessages, type FrozenMessage } from '../../../src/store/delivery/messages.ts'
import { EmailVault } from '../../../src/store/users/email-vault.ts'
import { findWorkspace } from '../../../src/store/workspaces/workspaces.ts'
import { CAMPAIGNS_PATH } from '../../support/calls/campaign-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { deliveryCallsOf, type DeliveryCalls } from '../../support/delivery/delivery-calls.ts'
import { fillRun, type FilledMessage } from '../../support/delivery/filled-run.ts'
import {
  expectRefusal,
  LIMITS_OF_TESTS,
  startServer,
  type TestServer,
  type TestWorkspace,
} from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const PII_KEY = randomBytes(32).toString('base64')
const NOON = Date.parse('2026-05-10T12:00:00Z')
/** More than two requests examine. */
const MANY = 2 * MESSAGES_EXAMINED_MAX + 10
const AT_ONCE = 10_000
const ENDED = [
  ...REMOVAL_REASONS.map((reason) => ({ state: 'removed', reason }) as const),
  ...FAILURE_REASONS.map((reason) => ({ state: 'failed', reason }) as const),
]
const CONTROLS: [reason: string, group: Group][] = [
  ['user_removed_due_to_campaing_control_group', 'campaign_control'],
  ['user_removed_due_to_global_control_group', 'global_control'],
]

interface Page {
  readonly data: readonly { readonly message_id: string; readonly customer_id: string | null }[]
  readonly next_before: string | null
}

describeEachStore('Searching the messages of a campaign (list_campaign_messages)', (kind) => {
  let server: TestServer
  let calls: DeliveryCalls

  beforeAll(async () => {
    server = await startServer(kind, { PII_KEY }, { withDelivery: false })
    calls = deliveryCallsOf(server)
  })
  afterAll(() => server.stop())

  let lastUser = 1_000_000
  const message = (customerId: string, fields: Partial<FilledMessage> = {}): FilledMessage => {
    return { customerId, userId: ++lastUser, state: 'sent', ...fields }
  }
  /** A started campaign with a run of these messages. */
  const filled = async (messages: readonly FilledMessage[], as: TestWorkspace = server.workspace) => {
    const id = await calls.makeDelivered({}, as)
    await calls.put(id, 'start', as)
    const { campaign } = await calls.storedOf(id, as)
    const run = await fillRun(server.database, { campaign, at: NOON, phase: 'sending', messages })
    return { id, run }
  }
  const list = (id: string, query: string, as: TestWorkspace = server.workspace) =>
    calls.call<Page>('GET', `${CAMPAIGNS_PATH}/${id}/messages?${query}`, { as })
  /** The customer ids of all pages. */
  const find = async (id: string, query: string, as?: TestWorkspace): Promise<(string | null)[]> => {
    const found: (string | null)[] = []
    for (let before = ''; ;) {
      const { status, body } = await list(id, query + before, as)
      expect(status).toBe(200)
      found.push(...body.data.map(({ customer_id: customer }) => customer))
      if (body.next_before === null) return found
      before = `&before=${body.next_before}`
    }
  }

  it('finds the customer ids that contain a text, in any case of ASCII letters, the newest first', async () => {
    const ids = ['Shop-1', 'SHOP-2', 'other', 'Ä_1', 'a%b', 'back\\slash']
    const { id } = await filled(ids.map((customerId) => message(customerId)))
    const searches: [text: string, found: string[]][] = [
      ['shop', ['SHOP-2', 'Shop-1']],
      ['P-1', ['Shop-1']],
      ['ä', []],
      ['Ä', ['Ä_1']],
      ['_', ['Ä_1']],
      ['%', ['a%b']],
      ['\\', ['back\\slash']],
      ['nobody', []],
    ]
    for (const [text, found] of searches) {
      expect([text, await find(id, `search=${encodeURIComponent(text)}`)]).toEqual([text, found])
    }
  })

  it.each([1, 2, 3, 100])('shows who has exactly the id or address first, in pages of %i', async (limit) => {
    const as = await server.makeWorkspace({ limits: LIMITS_OF_TESTS })
    await trackingOf(server, as).apply({ type: 'customer', customer_id: 'ann', attributes: {} })
    const { id: userId } = await server.database.query
      .selectFrom('users')
      .select('id')
      .where('workspace_id', '=', as.id)
      .executeTakeFirstOrThrow()
    const messages = [
      message('ann', { userId }),
      message('joanna'),
      message('bob', { emailKey: 'ann@shop.example' }),
      message('ann@shop.example-2'),
      message('carl', { emailKey: 'ann@shop.example' }),
      message('hanna'),
    ]
    const { id } = await filled(messages, as)
    const byId = ['ann', 'hanna', 'ann@shop.example-2', 'joanna']
    expect(await find(id, `search=ann&limit=${limit}`, as)).toEqual(byId)
    const byAddress = ['carl', 'bob', 'ann', 'ann@shop.example-2']
    expect(await find(id, `search=Ann%40Shop.example&limit=${limit}`, as)).toEqual(byAddress)
  })

  it('combines a text with a state and a reason', async () => {
    const messages = ENDED.map((ended, index) => message(`shop-${index}`, ended))
    const { id } = await filled([...messages, message('shop-sent'), message('other', ENDED[0])])
    expect(await find(id, 'search=SHOP&state=sent')).toEqual(['shop-sent'])
    expect(await find(id, `search=shop&reason=${REMOVAL_REASONS[0]}`)).toEqual(['shop-0'])
    expect(await find(id, `search=shop&state=sent&reason=${REMOVAL_REASONS[0]}`)).toEqual([])
    expect(await find(id, 'search=shop&state=failed')).toHaveLength(FAILURE_REASONS.length)
  })

  it('leads from each reason of statistics to the people behind it', async () => {
    const ended = ENDED.map((end) => message(end.reason, end))
    const controls = CONTROLS.map(([reason, group]) => message(reason, { state: 'control', group }))
    const { id } = await filled([...ended, ...controls, message('sent')])
    for (const { reason, state } of ENDED) {
      expect(await find(id, `reason=${reason}`)).toEqual([reason])
      expect(await find(id, `reason=${reason}&state=${state}`)).toEqual([reason])
    }
    for (const [reason] of CONTROLS) {
      expect(await find(id, `reason=${reason}`)).toEqual([reason])
      expect(await find(id, `reason=${reason}&state=control`)).toEqual([reason])
      expect(await find(id, `reason=${reason}&state=sent`)).toEqual([])
      expect(await find(id, `reason=${reason}&search=CONTROL`)).toEqual([reason])
      expect(await find(id, `reason=${reason}&customer_id=nobody`)).toEqual([])
    }
  })

  it('finds encrypted addresses only as a whole', async () => {
    const as = await server.makeWorkspace({ limits: LIMITS_OF_TESTS, emailProtection: 'encrypted' })
    const stored = await findWorkspace(server.database, as.id)
    if (!stored) throw new Error('there is no workspace')
    const vault = new EmailVault(Buffer.from(PII_KEY, 'base64'))
    const emailKey = toEmailKey(stored.workspace, 'ann@shop.example', vault)
    const { id } = await filled([message('one', { emailKey }), message('two')], as)
    expect(await find(id, 'search=ANN%40shop.example', as)).toEqual(['one'])
    expect(await find(id, 'search=ann%40shop', as)).toEqual([])
  })

  it('never finds an erased person', async () => {
    const { id } = await filled([message('', { userId: -1, emailKey: '' }), message('someone')])
    expect(await find(id, 'search=o')).toEqual(['someone'])
  })

  it('examines a bounded number of messages for a request, and leads on from there', async () => {
    const { id, run } = await filled([message('first-of-all')])
    const base = { run, emailKey: '', variation: null, locale: null, reason: null } as const
    for (let start = 2; start <= MANY; start += AT_ONCE) {
      const messages: FrozenMessage[] = Array.from({ length: Math.min(AT_ONCE, MANY - start + 1) }, (_, index) => {
        const number = start + index
        const group = number === 2 ? 'global_control' : 'campaign_control'
        return { ...base, number, userId: lastUser + number, customerId: `c${number}`, group, state: 'control' }
      })
      await server.database.write((store) => addMessages(store, messages))
    }
    const first = await list(id, 'search=first')
    expect(first.body).toMatchObject({ data: [], next_before: expect.any(String) as string })
    expect(await find(id, 'search=first')).toEqual(['first-of-all'])
    expect(await find(id, `reason=${CONTROLS[1]?.[0]}`)).toEqual(['c2'])
    expect(await find(id, 'search=C20001')).toEqual([
      ...Array.from({ length: 10 }, (_, index) => `c${200_019 - index}`).filter((one) => Number(one.slice(1)) <= MANY),
      'c20001',
    ])
  }, 120_000)

  it('a campaign without a run has nobody', async () => {
    const id = await calls.makeDelivered()
    expect(await find(id, 'search=a')).toEqual([])
  })

  it.each([
    ['search=a&customer_id=b', ['query.search']],
    ['search=', ['query.search']],
    ['search=a&before=m1-1-1', ['query.before']],
    ['before=s1-1', ['query.before']],
    [`reason=${CONTROLS[0]?.[0]}&before=m1-1-1`, ['query.before']],
    ['reason=unknown', ['query.reason']],
  ])('refuses %s', async (query, fields) => {
    const id = await calls.makeDelivered()
    expectRefusal(await list(id, query), 400, 'invalid_request', fields)
  })
})
