// Starting, pausing, resuming and cancelling campaigns through real HTTP, on every store.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { DeliveryState, Halt } from '../../../src/core/delivery/delivery.ts'
import { changeDeliveryState, pauseDelivery } from '../../../src/store/delivery/deliveries.ts'
import { saveWaiting, takeSenderLease } from '../../../src/store/senders/sender-leases.ts'
import { CAMPAIGNS_PATH } from '../../support/calls/campaign-calls.ts'
import { deliveryCallsOf, type DeliveryCalls, type Verb } from '../../support/delivery/delivery-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOON = Date.parse('2026-05-10T12:00:00Z')
const LATER = '2026-05-11T12:00:00.000Z'
const BUSY: Halt = { since: NOON, reason: 'The server takes no mail.', reply: '421 busy' }

describeEachStore('States of campaigns (start_campaign, pause_campaign, resume_campaign, cancel_campaign)', (kind) => {
  let server: TestServer
  let calls: DeliveryCalls

  beforeAll(async () => {
    server = await startServer(kind, {}, { withPipeline: false, withDelivery: false })
    calls = deliveryCallsOf(server)
  })
  beforeEach(() => server.setClock(NOON))
  afterAll(() => server.stop())

  const started = async (fields = {}) => {
    const id = await calls.makeDelivered(fields)
    expect((await calls.put(id, 'start')).status).toBe(204)
    return id
  }
  const change = async (id: string, to: DeliveryState) => {
    const { campaign } = await calls.storedOf(id)
    expect(await server.database.write((store) => changeDeliveryState(store, campaign, { to }))).toBe(true)
    return id
  }
  const waiting = async () => {
    const sender = await calls.addSender()
    const id = await started({ sender_id: sender.id })
    await server.database.write(async (store) => {
      const wish = { sender: sender.number, holder: 'test', keptMs: 1_000, isAlone: true }
      const lease = await takeSenderLease(store, wish)
      if (lease) await saveWaiting(store, lease, BUSY)
    })
    return id
  }
  const paused = async () => {
    const id = await started()
    await calls.put(id, 'pause')
    return id
  }

  /** How to bring a campaign into each state. */
  const inState = {
    draft: () => calls.makeDelivered(),
    scheduled: () => started({ start_at: LATER }),
    overdue: async () => change(await started({ start_at: LATER }), 'overdue'),
    running: () => started(),
    waiting,
    paused,
    finished: async () => change(await started(), 'finished'),
    cancelled: async () => change(await calls.makeDelivered(), 'cancelled'),
  }
  type State = keyof typeof inState

  const table: [from: State, verb: Verb, to: State | 409][] = [
    ['draft', 'start', 'running'],
    ['draft', 'pause', 409],
    ['draft', 'resume', 409],
    ['draft', 'cancel', 'cancelled'],
    ['scheduled', 'start', 'scheduled'],
    ['scheduled', 'pause', 409],
    ['scheduled', 'resume', 409],
    ['scheduled', 'cancel', 'cancelled'],
    ['overdue', 'start', 409],
    ['overdue', 'pause', 409],
    ['overdue', 'resume', 'running'],
    ['overdue', 'cancel', 'cancelled'],
    ['running', 'start', 'running'],
    ['running', 'pause', 'paused'],
    ['running', 'resume', 'running'],
    ['running', 'cancel', 'cancelled'],
    ['waiting', 'start', 'waiting'],
    ['waiting', 'pause', 'paused'],
    ['waiting', 'resume', 'waiting'],
    ['waiting', 'cancel', 'cancelled'],
    ['paused', 'start', 409],
    ['paused', 'pause', 'paused'],
    ['paused', 'resume', 'running'],
    ['paused', 'cancel', 'cancelled'],
    ['finished', 'start', 409],
    ['finished', 'pause', 409],
    ['finished', 'resume', 409],
    ['finished', 'cancel', 409],
    ['cancelled', 'start', 409],
    ['cancelled', 'pause', 409],
    ['cancelled', 'resume', 409],
    ['cancelled', 'cancel', 'cancelled'],
  ]
  it.each(table)('%s: %s → %s', async (from, verb, to) => {
    const id = await inState[from]()
    expect(await calls.stateOf(id)).toBe(from)
    const answer = await calls.put(id, verb)
    const isRefused = to === 409
    expect(answer.status).toBe(isRefused ? 409 : 204)
    expect(JSON.stringify(answer.body)).toContain(isRefused ? `The campaign is ${from}.` : '""')
    expect(await calls.stateOf(id)).toBe(to === 409 ? from : to)
  })

  it('a scheduled campaign shows when it starts', async () => {
    const id = await inState.scheduled()
    expect(await calls.fetch(id)).toMatchObject({ state: 'scheduled', starts_at: LATER })
    expect(await calls.storedOf(id)).toMatchObject({ startAt: Date.parse(LATER) })
  })

  it('a pause shows since when and why, and the first reason stays', async () => {
    const id = await started()
    const { campaign } = await calls.storedOf(id)
    const refused = { since: NOON - 1_000, reason: 'The server refused the password.', reply: '535 no' }
    await server.database.write((store) => pauseDelivery(store, campaign, refused))
    expect((await calls.put(id, 'pause')).status).toBe(204)
    const since = new Date(NOON - 1_000).toISOString()
    expect(await calls.fetch(id)).toMatchObject({ state: 'paused', paused: { ...refused, since } })
    await calls.put(id, 'resume')
    await calls.put(id, 'pause')
    const paused = { since: new Date(NOON).toISOString(), reason: 'Somebody paused the campaign.' }
    expect((await calls.fetch(id)).paused).toEqual(paused)
  })

  it('a wait shows since when and the reply, also beside a pause', async () => {
    const id = await waiting()
    const shown = { ...BUSY, since: new Date(NOON).toISOString() }
    expect(await calls.fetch(id)).toMatchObject({ state: 'waiting', waiting: shown })
    await calls.put(id, 'pause')
    expect(await calls.fetch(id)).toMatchObject({ state: 'paused', waiting: shown })
  })

  it('the delivery of a campaign beyond draft cannot change, but its name and goals can', async () => {
    const id = await started()
    const { delivery } = await calls.fetch(id)
    const answer = await calls.patch(id, { delivery })
    expectRefusal(answer, 409, 'conflict')
    expect(JSON.stringify(answer.body)).toContain('The campaign is running.')
    const goal = { name: 'Order', event: 'Order Placed', where: [], window_hours: 36 }
    const changed = await calls.patch(id, { name: 'Other', conversion_goals: [goal] })
    expect(changed.body).toMatchObject({ name: 'Other', conversion_goals: [goal], state: 'running' })
  })

  it.each(['scheduled', 'overdue', 'running', 'paused'] as const)(
    'a %s campaign is neither archived nor deleted',
    async (state) => {
      const id = await inState[state]()
      expectRefusal(await calls.archive(id), 409, 'conflict')
      expectRefusal(await calls.delete(id), 409, 'conflict')
    },
  )

  it('a campaign that was started cannot be deleted, but archived when it is over', async () => {
    const id = await change(await started(), 'finished')
    expectRefusal(await calls.delete(id), 409, 'conflict')
    expect((await calls.archive(id)).status).toBe(204)
  })

  it('a template that a campaign sends cannot be deleted until the campaign is over, nor can those of its group', async () => {
    const parent = await calls.addTemplate()
    const child = await calls.addTemplate({ group_id: parent, locale: 'pt' })
    const id = await started({ variations: [{ name: 'A', share: 100, external_template_id: parent }] })
    const remove = () => server.call('DELETE', `/v1.0/custom-templates/email/${child}`)
    expectRefusal(await remove(), 409, 'conflict')
    await change(id, 'finished')
    expect((await remove()).status).toBe(204)
  })

  it('a campaign without delivery is 409, an unknown one and one of another workspace 404', async () => {
    const other = await server.makeWorkspace()
    const own = await calls.makeDelivered()
    for (const verb of ['start', 'pause', 'resume', 'cancel'] as const) {
      expectRefusal(await calls.put(await calls.make(), verb), 409, 'conflict')
      expectRefusal(await calls.put('unknown', verb), 404, 'not_found')
      expectRefusal(await calls.put(own, verb, other), 404, 'not_found')
      const dataKey = await server.call('PUT', `${CAMPAIGNS_PATH}/${own}/${verb}`)
      expectRefusal(dataKey, 403, 'forbidden')
    }
  })

  it('of many starts at once, one starts the campaign', async () => {
    const id = await calls.makeDelivered()
    const answers = await Promise.all(Array.from({ length: 5 }, () => calls.put(id, 'start')))
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204, 204])
  })
})
