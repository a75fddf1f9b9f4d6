// List events and List event names through real HTTP, on every store.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signInAs } from '../../support/accounts/sign-in-as.ts'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type EventItem, type Query, type Tracking } from '../../support/calls/tracking.ts'

interface OwnedEvent extends EventItem {
  readonly customer_id: string | null
}

interface Page {
  readonly data: OwnedEvent[]
  readonly next_before: string | null
}

interface NamePage {
  readonly data: { readonly action: string }[]
  readonly next_after: string | null
}

interface TestAction {
  readonly action: string
  readonly [field: string]: unknown
}

const events = (customer_id: string, ...actions: TestAction[]) => ({ type: 'event', customer_id, actions })

function toQuery(query: Query): string {
  const fields = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  return new URLSearchParams(fields).toString()
}

describeEachStore('Events of a workspace (list_events)', (kind) => {
  let server: TestServer
  let as: TestWorkspace
  let tracking: Tracking

  beforeAll(async () => {
    server = await startServer(kind)
    as = await server.makeWorkspace({ identityResolution: ['crm'] }, 'listed')
    tracking = trackingOf(server, as)
    await tracking.apply(
      events('ann', { action: 'Product Viewed', platform: 'WEB' }, { action: 'Order Placed', platform: 'ios' }),
      events('ben', { action: 'Product Viewed', platform: 'Kiosk', user_time: '2026-01-02T00:00:00Z' }),
      events('ann', { action: 'Product Viewed', platform: 'WEB', user_time: '2026-01-01T00:00:00Z' }),
    )
  })
  afterAll(() => server.stop())

  const list = (query: Query = {}, workspace = as) => {
    return server.call<Page>('GET', `/v1/event/${workspace.id}/list?${toQuery(query)}`, { as: workspace })
  }
  const shown = ({ data }: Page) => data.map(({ customer_id, action, platform }) => [customer_id, action, platform])
  const listAll = async (query: Query, workspace = as) => {
    const all: OwnedEvent[] = []
    for (let before: string | undefined; ;) {
      const { status, body } = await list({ ...query, before }, workspace)
      expect(status).toBe(200)
      all.push(...body.data)
      if (body.next_before === null) return all
      before = body.next_before
    }
  }

  it('are those of all users, the last received first, with the customer id of each', async () => {
    expect(shown((await list()).body)).toEqual([
      ['ann', 'Product Viewed', 'WEB'],
      ['ben', 'Product Viewed', 'Kiosk'],
      ['ann', 'Order Placed', 'IOS'],
      ['ann', 'Product Viewed', 'WEB'],
    ])
    expect((await list()).body.next_before).toBeNull()
  })

  const filters: [query: Query, shown: (string | null)[][]][] = [
    [{ action: 'Order Placed' }, [['ann', 'Order Placed', 'IOS']]],
    [{ platform: 'IOS' }, [['ann', 'Order Placed', 'IOS']]],
    [{ platform: 'web', action: 'Order Placed' }, []],
    [{ platform: 'Kiosk' }, [['ben', 'Product Viewed', 'Kiosk']]],
    [{ action: 'Order' }, []],
    [{ customer_id: 'ben' }, [['ben', 'Product Viewed', 'Kiosk']]],
    [
      { customer_id: 'ann', action: 'Product Viewed' },
      [
        ['ann', 'Product Viewed', 'WEB'],
        ['ann', 'Product Viewed', 'WEB'],
      ],
    ],
    [{ customer_id: 'nobody' }, []],
  ]
  it.each(filters)('are filtered by %j', async (query, expected) => {
    const { status, body } = await list(query)
    expect({ status, shown: shown(body), next: body.next_before }).toEqual({ status: 200, shown: expected, next: null })
  })

  it('of one user come by their time', async () => {
    const { data } = (await list({ customer_id: 'ann', action: 'Product Viewed' })).body
    expect(data.map(({ time }) => time < '2026-01-02')).toEqual([false, true])
  })

  it('keep every digit of their numbers', async () => {
    const text =
      '{"type":"event","customer_id":"digits","actions":[{"action":"D","attributes":{"id":9007199254740993,"x":1.10}}]}'
    await tracking.fateOf(await tracking.events(text))
    const sent = await fetch(`${server.url}/v1/event/${as.id}/list?action=D`, {
      headers: { authorization: `Basic ${btoa(`${as.id}:${as.dataKey}`)}` },
    })
    expect(await sent.text()).toContain('"attributes":{"id":9007199254740993,"x":1.1')
  })

  it('come in pages that never overlap or skip, of all and of one user', async () => {
    const paged = await server.makeWorkspace()
    const many = trackingOf(server, paged)
    const actions = (from: number) => Array.from({ length: 9 }, (_, index) => ({ action: `e${from + index}` }))
    await many.apply(events('one', ...actions(0)), events('two', ...actions(9)), events('one', ...actions(18)))
    const whole = await listAll({}, paged)
    expect(whole.map(({ action }) => action)).toEqual(Array.from({ length: 27 }, (_, index) => `e${26 - index}`))
    for (const limit of [1, 4, 26, 27]) {
      expect(await listAll({ limit }, paged)).toEqual(whole)
      const own = await listAll({ limit, customer_id: 'one' }, paged)
      expect(own).toHaveLength(18)
      expect(new Set(own.map(({ event_id }) => event_id)).size).toBe(18)
    }
  })

  it('of a merged user have the customer id that stays, and are found by either', async () => {
    await tracking.apply(
      { type: 'customer', customer_id: 'old', user_identifiers: { crm: '7' } },
      events('new', { action: 'Merged' }),
      { type: 'customer', customer_id: 'new', user_identifiers: { crm: '7' } },
    )
    const { data } = (await list({ action: 'Merged' })).body
    const id = data[0]?.customer_id as string
    expect(['old', 'new']).toContain(id)
    for (const customer_id of ['old', 'new']) {
      expect(shown((await list({ customer_id })).body)).toEqual([[id, 'Merged', null]])
    }
  })

  it('are none of an erased person, and none of another workspace', async () => {
    const theirs = await server.makeWorkspace()
    await trackingOf(server, theirs).apply(events('gone', { action: 'A' }), events('here', { action: 'A' }))
    await server.call('DELETE', `/v1/customer/${theirs.id}?customer_id=gone`, { as: theirs })
    expect(shown((await list({}, theirs)).body)).toEqual([['here', 'A', null]])
    expect((await list({ customer_id: 'here' })).body.data).toEqual([])
  })

  it('refuse cursors of other lists, and a platform with a customer id, all at once', async () => {
    const of = (await list({ customer_id: 'ann', limit: 1 })).body.next_before as string
    expectRefusal(await list({ before: of }), 400, 'invalid_request', ['query.before'])
    const answer = await list({ customer_id: 'ann', platform: 'WEB', before: 'r1' })
    expectRefusal(answer, 400, 'invalid_request', ['query.before', 'query.platform'])
  })

  it('are for developers and the data key', async () => {
    const read = async (role: 'developer' | 'marketer' | 'analyst') => {
      return server.call('GET', `/v1/event/${as.id}/list`, { person: await signInAs(server, role) })
    }
    expect((await read('developer')).status).toBe(200)
    expectRefusal(await read('marketer'), 403, 'forbidden')
    expectRefusal(await read('analyst'), 403, 'forbidden')
    expectRefusal(await server.call('GET', `/v1/event/${as.id}/list`, { as, tile: 'reports' }), 403, 'forbidden')
  })
})

describeEachStore('Names of events (list_event_names)', (kind) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(kind)
    const names = ['Order Placed', 'Product Viewed', 'Order', 'order', 'Orden', 'Order Placed', 'Öffnen', 'Order🎉']
    await trackingOf(server).apply(events('ann', ...names.map((action) => ({ action }))))
    await trackingOf(server, await server.makeWorkspace()).apply(events('ann', { action: 'Theirs' }))
  })
  afterAll(() => server.stop())

  const names = async (query: Query = {}) => {
    const { status, body } = await server.call<NamePage>('GET', `/v1/event/main/names?${toQuery(query)}`)
    expect(status).toBe(200)
    return [body.data.map(({ action }) => action), body.next_after]
  }

  const pages: [query: Query, names: string[], nextAfter: string | null][] = [
    [{}, ['Orden', 'Order', 'Order Placed', 'Order🎉', 'Product Viewed', 'order', 'Öffnen'], null],
    [{ prefix: 'Order' }, ['Order', 'Order Placed', 'Order🎉'], null],
    [{ prefix: 'Order', limit: 2 }, ['Order', 'Order Placed'], 'Order Placed'],
    [{ prefix: 'Order', limit: 2, after: 'Order Placed' }, ['Order🎉'], null],
    [{ limit: 1, after: 'order' }, ['Öffnen'], null],
    [{ prefix: 'Ö' }, ['Öffnen'], null],
    [{ prefix: 'Their' }, [], null],
    [{ prefix: '%' }, [], null],
  ]
  it.each(pages)('are each listed once: %j', async (query, expected, nextAfter) => {
    expect(await names(query)).toEqual([expected, nextAfter])
  })

  it('are for marketers too, and not for analysts', async () => {
    const read = async (role: 'marketer' | 'analyst') => {
      return server.call('GET', '/v1/event/main/names', { person: await signInAs(server, role) })
    }
    expect((await read('marketer')).status).toBe(200)
    expectRefusal(await read('analyst'), 403, 'forbidden')
  })
})
