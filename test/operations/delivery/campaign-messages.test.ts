// Runs and messages of campaigns, and decisions about those in doubt, through real HTTP, on every store.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Delivery } from '../../../src/core/delivery/delivery.ts'
import { MESSAGE_STATES } from '../../../src/core/delivery/message-state.ts'
import { CUSTOMER_ID } from '../../../src/core/users/user.ts'
import { addAttempts } from '../../../src/store/delivery/messages.ts'
import { findUser } from '../../../src/store/users/users.ts'
import { CAMPAIGNS_PATH } from '../../support/calls/campaign-calls.ts'
import { MESSAGE_EVENTS, reportCallsOf, reportOf, type ReportCalls } from '../../support/calls/report-calls.ts'
import { SENDERS_PATH } from '../../support/calls/sender-calls.ts'
import { TEMPLATES } from '../../support/calls/template-calls.ts'
import { trackingOf, type Tracking } from '../../support/calls/tracking.ts'
import { deliveryCallsOf, type DeliveryCalls } from '../../support/delivery/delivery-calls.ts'
import { fillRun, type FilledMessage, type FilledRun } from '../../support/delivery/filled-run.ts'
import { expectRefusal, startServer, until, type Answer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOON = Date.parse('2026-05-10T12:00:00Z')
const REPLY = { code: 450, enhancedCode: '4.2.1', text: 'later', host: 'mx.shop.example' }

interface Item {
  readonly message_id: string
  readonly customer_id: string
  readonly state: string
  readonly [member: string]: unknown
}
interface Page {
  readonly data: readonly Item[]
  readonly next_before: string | null
}
interface Runs {
  readonly data: readonly { readonly states: Readonly<Record<string, number>>; readonly [member: string]: unknown }[]
}

describeEachStore(
  'Messages of campaigns (list_runs, list_campaign_messages, list_messages, decide_in_doubt)',
  (kind) => {
    let server: TestServer
    let calls: DeliveryCalls
    let reports: ReportCalls
    let tracking: Tracking
    let people: { readonly customerId: string; readonly userId: number }[]

    beforeAll(async () => {
      server = await startServer(kind, {}, { withDelivery: false })
      server.setClock(NOON)
      calls = deliveryCallsOf(server)
      reports = reportCallsOf(server)
      tracking = trackingOf(server)
      const ids = Array.from({ length: 12 }, (_, index) => `p${index}`)
      await tracking.apply(...ids.map((customer_id) => ({ type: 'customer', customer_id, attributes: {} })))
      people = await Promise.all(
        ids.map(async (value) => {
          const user = await findUser(server.database, server.workspace.id, { name: CUSTOMER_ID, value })
          return { customerId: value, userId: user?.id ?? 0 }
        }),
      )
    })
    afterAll(async () => {
      await reports.close()
      await server.stop()
    })

    const person = (index: number, message: Omit<FilledMessage, 'customerId' | 'userId'>): FilledMessage => ({
      ...(people[index] as (typeof people)[0]),
      ...message,
    })
    const sent = (index: number, sentAt: number) => person(index, { state: 'sent', sentAt })
    const doubtful = (count: number) =>
      Array.from({ length: count }, (_, index) => person(index, { state: 'in_doubt' }))

    /** A started campaign with a run. */
    const filled = async (messages: readonly FilledMessage[], fields: Partial<FilledRun> = {}) => {
      const id = await calls.makeDelivered()
      await calls.put(id, 'start')
      const { campaign } = await calls.storedOf(id)
      const run = await fillRun(server.database, { campaign, at: NOON - 30_000, phase: 'sending', messages, ...fields })
      return { id, run }
    }
    const runsOf = async (id: string) => (await calls.call<Runs>('GET', `${CAMPAIGNS_PATH}/${id}/runs`)).body.data
    const list = (id: string, query = '') => calls.call<Page>('GET', `${CAMPAIGNS_PATH}/${id}/messages${query}`)
    const numbersOf = (answer: Answer<Page>) => answer.body.data.map(({ message_id: id }) => Number(id.split('-')[1]))
    const statesOf = async (id: string) => (await list(id)).body.data.map(({ state }) => state)
    /** While the pipeline is seconds behind, the answer is 503: the client asks again, and the repeat changes nothing more. */
    const decide = (id: string, body: object) =>
      until('an answer but 503', async () => {
        const answer = await calls.call('POST', `${CAMPAIGNS_PATH}/${id}/in-doubt`, { body })
        if (answer.status !== 503) return answer
        expectRefusal(answer, 503, 'unavailable')
        expect(answer.headers.get('retry-after')).toBe('1')
        return undefined
      })

    it('messages are not sent again after their sender or a template was deleted, and can be given up', async () => {
      const deletions = {
        sender: ({ senderId }: Delivery) => calls.call('DELETE', `${SENDERS_PATH}/${senderId}`),
        template: ({ variations: [variation] }: Delivery) =>
          server.call('DELETE', `${TEMPLATES}/${variation?.externalTemplateId}`),
      }
      for (const [what, remove] of Object.entries(deletions)) {
        const { id, run } = await filled(doubtful(1), { phase: 'finished' })
        expect((await remove((await calls.storedOf(id)).settings)).status).toBe(204)
        const refused = await decide(id, { action: 'send_again' })
        expectRefusal(refused, 409, 'conflict')
        expect(JSON.stringify(refused.body)).toContain(what)
        expect([await calls.stateOf(id), await statesOf(id)]).toEqual(['finished', ['in_doubt']])
        expect((await decide(id, { action: 'give_up', message_ids: [`${run}-1`] })).status).toBe(204)
        expect(await statesOf(id)).toEqual(['failed'])
      }
    })

    it('a campaign that has not begun has no run and no message', async () => {
      const id = await calls.makeDelivered()
      expect(await runsOf(id)).toEqual([])
      expect((await list(id)).body).toEqual({ data: [], next_before: null })
      expect((await decide(id, { action: 'give_up' })).status).toBe(204)
    })

    it('the states of a run add up to its audience', async () => {
      const { id } = await filled(MESSAGE_STATES.map((state, index) => person(index, { state })))
      const [run] = await runsOf(id)
      expect(run).toMatchObject({ run: 1, state: 'running', audience: 8, without_address: 1, finished_at: null })
      expect(run?.states).toEqual(Object.fromEntries(MESSAGE_STATES.map((state) => [state, 1])))
    })

    it('a run shows its rate over the last minute, and when it will be over', async () => {
      const messages = [
        sent(0, NOON - 20_000),
        sent(1, NOON - 10_000),
        sent(2, NOON - 1),
        person(3, { state: 'queued' }),
      ]
      const { id } = await filled(messages)
      expect((await runsOf(id))[0]).toMatchObject({ rate: 0.1, eta: new Date(NOON + 10_000).toISOString() })
    })

    it('before anybody was sent to, the end is reckoned by the rate of the sender; a paused run has none', async () => {
      const { id } = await filled(Array.from({ length: 7 }, (_, index) => person(index, { state: 'queued' })))
      expect((await runsOf(id))[0]).toMatchObject({ rate: 0, eta: new Date(NOON + 500).toISOString() })
      await calls.put(id, 'pause')
      const [run] = await runsOf(id)
      expect(run).toMatchObject({
        state: 'paused',
        rate: 0,
        eta: null,
        paused: { reason: expect.any(String) as string },
      })
    })

    it('a message shows its attempts, when it is tried again, and what the person did', async () => {
      const { id, run } = await filled([
        person(0, { state: 'deferred', nextAt: NOON + 60_000, locale: 'pt' }),
        sent(1, NOON - 1),
      ])
      const attempt = { run, message: 1, at: NOON - 5, ...REPLY }
      await server.database.write((store) => addAttempts(store, [attempt]))
      const hit = { customer_id: 'p1', device_id: 'p1', message_id: `${run}-2` }
      const events = ['impression', 'impression', 'click'].map((kind, index) => {
        return { ...MESSAGE_EVENTS.item, ...hit, kind, time: NOON - 1_000 * (index + 1) }
      })
      await tracking.fateOf(await reports.send(MESSAGE_EVENTS, id, reportOf(MESSAGE_EVENTS, ...events)))
      const basis = { campaign_id: id, run: 1, group: 'target', reason: null, variation: 'A', coupons: {} }
      expect((await list(id)).body.data).toEqual([
        {
          ...basis,
          message_id: `${run}-2`,
          customer_id: 'p1',
          state: 'sent',
          locale: null,
          attempts: [],
          sent_at: new Date(NOON - 1).toISOString(),
          impressions: 2,
          clicks: 1,
        },
        {
          ...basis,
          message_id: `${run}-1`,
          customer_id: 'p0',
          state: 'deferred',
          locale: 'pt',
          attempts: [
            {
              at: new Date(NOON - 5).toISOString(),
              code: 450,
              enhanced_code: '4.2.1',
              text: 'later',
              host: REPLY.host,
            },
          ],
          sent_at: null,
          next_at: new Date(NOON + 60_000).toISOString(),
          impressions: 0,
          clicks: 0,
        },
      ])
    })

    it('finds messages by state, reason and person', async () => {
      const { id } = await filled([
        person(0, { state: 'failed', reason: 'hard_bounce' }),
        person(1, { state: 'failed', reason: 'gave_up' }),
        person(2, { state: 'removed', reason: 'user_removed_due_to_opt_out' }),
        sent(3, NOON),
      ])
      const found = async (query: string) => numbersOf(await list(id, query))
      expect(await found('?state=failed')).toEqual([2, 1])
      expect(await found('?reason=gave_up')).toEqual([2])
      expect(await found('?state=failed&reason=hard_bounce')).toEqual([1])
      expect(await found('?state=sent&reason=hard_bounce')).toEqual([])
      expect(await found('?customer_id=p2')).toEqual([3])
      expect(await found('?customer_id=p2&state=sent')).toEqual([])
      expect(await found('?customer_id=nobody')).toEqual([])
      expectRefusal(await list(id, '?state=lost'), 400, 'invalid_request', ['query.state'])
      expectRefusal(await list(id, '?before=x'), 400, 'invalid_request', ['query.before'])
    })

    it.each(['', 'state=deferred&'])('pages of messages neither overlap nor skip (%s)', async (filter) => {
      const { id } = await filled(people.map((_, index) => person(index, { state: 'deferred', nextAt: index % 3 })))
      const numbers: number[] = []
      for (let query = `?${filter}limit=5`; query !== '';) {
        const answer = await list(id, query)
        numbers.push(...numbersOf(answer))
        const { next_before: next } = answer.body
        query = next === null ? '' : `?${filter}limit=5&before=${next}`
      }
      expect(numbers).toHaveLength(12)
      expect(new Set(numbers).size).toBe(12)
    })

    it('the messages of a person across campaigns, the newest first, also in pages', async () => {
      const [first, second] = [await filled([sent(11, NOON)]), await filled([sent(11, NOON)])]
      const get = (query: string) => calls.call<Page>('GET', `/core-services/v1/messages${query}`)
      const ids = async (query: string) => (await get(query)).body.data.map((item) => item['campaign_id'])
      expect((await ids('?customer_id=p11')).slice(0, 2)).toEqual([second.id, first.id])
      const { body } = await get('?customer_id=p11&limit=1')
      // So a client can merge them with what else happened to the person.
      const [stored] = await server.database.query
        .selectFrom('runs')
        .select('evaluated_at')
        .where('number', '=', second.run)
        .execute()
      const evaluated_at = new Date(stored?.evaluated_at ?? 0).toISOString()
      const found = await calls.call<{ name: string }>('GET', `${CAMPAIGNS_PATH}/${second.id}`)
      expect(body.data[0]).toMatchObject({ campaign_name: found.body.name, evaluated_at })
      expect(await ids(`?customer_id=p11&limit=1&before=${body.next_before}`)).toEqual([first.id])
      expect(await ids('?customer_id=nobody')).toEqual([])
      expectRefusal(await get(''), 400, 'invalid_request', ['query.customer_id'])
    })

    it('sending again queues those in doubt and lets a finished campaign run again; a repeat changes nothing', async () => {
      const { id, run } = await filled([...doubtful(3), sent(3, NOON)], { phase: 'finished' })
      expect(await calls.stateOf(id)).toBe('finished')
      const some = { action: 'send_again', message_ids: [`${run}-1`, `${run}-4`] }
      for (let repeat = 0; repeat < 2; repeat++) {
        expect((await decide(id, some)).status).toBe(204)
        expect(await statesOf(id)).toEqual(['sent', 'in_doubt', 'in_doubt', 'queued'])
      }
      expect(await runsOf(id)).toMatchObject([{ state: 'running', finished_at: null }])
      await decide(id, { action: 'send_again' })
      expect(await statesOf(id)).toEqual(['sent', 'queued', 'queued', 'queued'])
    })

    it('a campaign whose messages in doubt are sent again stays paused', async () => {
      const { id } = await filled(doubtful(1))
      await calls.put(id, 'pause')
      await decide(id, { action: 'send_again' })
      expect(await calls.stateOf(id)).toBe('paused')
    })

    it('giving up ends those in doubt as failed, and leaves the state of the campaign', async () => {
      const { id, run } = await filled([...doubtful(2), sent(3, NOON)], { phase: 'finished' })
      expect((await decide(id, { action: 'give_up', message_ids: [`${run}-2`] })).status).toBe(204)
      expect((await list(id)).body.data).toMatchObject([
        { state: 'sent' },
        { state: 'failed', reason: 'in_doubt' },
        { state: 'in_doubt' },
      ])
      await decide(id, { action: 'give_up' })
      expect(await statesOf(id)).toEqual(['sent', 'failed', 'failed'])
      expect(await calls.stateOf(id)).toBe('finished')
    })

    it('those of a cancelled campaign cannot be sent again, but given up', async () => {
      const { id } = await filled(doubtful(1))
      await calls.put(id, 'cancel')
      expectRefusal(await decide(id, { action: 'send_again' }), 409, 'conflict')
      expect((await decide(id, { action: 'give_up' })).status).toBe(204)
      expect(await statesOf(id)).toEqual(['failed'])
    })

    it('refuses ids of messages of other campaigns, all at once', async () => {
      const [{ id, run }, other] = [await filled(doubtful(1)), await filled(doubtful(1))]
      const ids = [`${run}-1`, `${other.run}-1`, 'x']
      const answer = await decide(id, { action: 'give_up', message_ids: ids })
      expectRefusal(answer, 400, 'invalid_request', ['message_ids[1]', 'message_ids[2]'])
      expect(await statesOf(id)).toEqual(['in_doubt'])
    })
  },
)
