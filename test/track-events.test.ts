// Track Events through real HTTP, on every store: one case per rule of the document and of its decisions.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeEachStore } from './stores.ts'
import { expectRefusal, startServer, type TestServer } from './server.ts'

const action = { action: 'Order Placed', attributes: { amount: 49.9 } }
const event = { type: 'event', customer_id: 'c1', actions: [action] }

describeEachStore('Track Events', (kind) => {
  let server: TestServer

  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())

  const track = (body: unknown, headers: Record<string, string | undefined> = {}) => {
    return server.call<{ status: string; message: string; request_id: string }>('POST', '/v1/event/main', {
      body,
      headers,
    })
  }

  it('answers 200 with status, message and request id', async () => {
    const answer = await track(event)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      status: 'success',
      message: expect.stringContaining('accepted and will be processed soon') as string,
      request_id: answer.headers.get('x-request-id'),
    })
  })

  const refusals: [rule: string, body: unknown, fields: string[]][] = [
    ['a type other than event', { ...event, type: 'Event' }, ['type']],
    ['a missing type', { customer_id: 'c1', actions: [action] }, ['type']],
    ['no actions', { ...event, actions: [] }, ['actions']],
    [
      'an action name with the reserved prefix',
      { ...event, actions: [action, { action: 'svc_x' }] },
      ['actions[1].action'],
    ],
    [
      'every fault at once',
      { type: 'x', actions: [{ attributes: { svc_a: 1 }, user_time: 'soon' }] },
      ['actions[0].action', 'actions[0].attributes.svc_a', 'actions[0].user_time', 'customer_id', 'type'],
    ],
  ]
  it.each(refusals)('refuses %s', async (_rule, body, fields) => {
    expectRefusal(await track(body), 400, 'invalid_request', fields)
  })
})
