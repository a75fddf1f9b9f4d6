// What becomes of a message when an SMTP server refuses it: every row of the table in `docs/api`, against a server that refuses.
import { expect, it } from 'vitest'
import { addPeople, changeMailing, type MailingServer } from '../../support/delivery/mailing.ts'
import {
  finishMailing,
  messagesOf,
  peopleOf,
  recipientsIn,
  sendMailing,
  startMailing,
  untilRun,
  useMailingBench,
} from '../../support/delivery/mailing-server.ts'
import { statsOf } from '../../support/delivery/mailing-stats.ts'
import { until } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const REPORTS = { tile: 'reports' } as const
const MINUTE_MS = 60_000

/** What the local part makes the sink do → what becomes of the message. */
const ROWS: readonly (readonly [local: string, state: string, reason: string | null, isSuppressed: boolean])[] = [
  ['reject-550-5.1.1', 'failed', 'hard_bounce', true],
  ['reject-550', 'failed', 'hard_bounce', true],
  ['reject-551', 'failed', 'hard_bounce', true],
  ['reject-553', 'failed', 'hard_bounce', true],
  ['ü', 'failed', 'hard_bounce', false],
  ['defer-450-4.2.1', 'deferred', null, false],
  ['reject-552-5.2.2', 'failed', 'soft_bounce', false],
  ['defer-450-4.4.1', 'deferred', null, false],
  ['defer-451-4.7.1', 'deferred', null, false],
  ['defer-450', 'deferred', null, false],
  ['defer-451', 'deferred', null, false],
  ['reject-550-5.4.4', 'failed', 'gave_up', false],
  ['defer-452', 'queued', null, false],
  ['defer-451-4.3.2', 'queued', null, false],
  ['defer-452-4.5.3', 'queued', null, false],
  ['reject-550-5.7.1', 'failed', 'blocked', false],
  ['reject-552-5.3.4', 'failed', 'message_refused', false],
  ['reject-550-5.6.1', 'failed', 'message_refused', false],
  ['reject-data-554', 'failed', 'message_refused', false],
  ['reject-data-554-5.7.1', 'failed', 'blocked', false],
  ['reject-data-552-5.3.4', 'failed', 'message_refused', false],
  ['drop-before-reply', 'in_doubt', null, false],
  ['drop-after-data', 'in_doubt', null, false],
]

describeEachStore('failures of messages', (kind) => {
  const bench = useMailingBench(kind, { server: { hideSMTPUTF8: true } })

  const isSuppressed = async (server: MailingServer, email: string) => {
    const path = `/core-services/v1/suppressions?email=${encodeURIComponent(email)}`
    const { body } = await server.call<{ data: unknown[] }>('GET', path, REPORTS)
    return body.data.length > 0
  }
  const stateOf = async (server: MailingServer, campaign: string) => {
    type Body = { state: string; paused?: { reply?: string }; waiting?: { reply?: string } }
    return (await server.call<Body>('GET', `/core-services/v1/campaigns/${campaign}`, REPORTS)).body
  }
  /** Changes what time alone would change. */
  const age = async (server: MailingServer, changes: { next_at: number; first_tried_at?: number }) => {
    await bench.server.database.write(async ({ query }) => {
      const runs = query.selectFrom('runs').select('number').where('workspace_id', '=', server.workspace.id)
      const deferred = query.updateTable('messages').set(changes).where('state', '=', 'deferred')
      await deferred.where('run', 'in', runs).execute()
    })
  }

  it('belong to whom the reply says, and everybody else is sent to', async () => {
    const server = await bench.makeWorkspace()
    const people = ROWS.map(([local], index) => ({
      customer_id: `row-${index}`,
      email: `${local}@row${index}.example`,
    }))
    await addPeople(server, [...people, ...peopleOf(20, 'fine.example')])
    const startedAt = Date.now()
    const campaign = await startMailing(server, bench.sink)
    const open = { deferred: 5, queued: 3, in_doubt: 2, sending: 0 }
    const isDone = ({ states }: { states: Readonly<Record<string, number>> }) =>
      Object.entries(open).every(([state, count]) => states[state] === count)
    const run = await untilRun(server, campaign, 'everybody was tried', isDone)
    expect(run.states).toMatchObject({ sent: 20, failed: 13, removed: 0 })
    const messages = await messagesOf(server, campaign)
    for (const [index, [local, state, reason, suppressed]] of ROWS.entries()) {
      const message = messages.get(`row-${index}`)
      expect({ local, state: message?.state, reason: message?.reason }).toEqual({ local, state, reason })
      expect({ local, suppressed: await isSuppressed(server, people[index]?.email ?? '') }).toEqual({
        local,
        suppressed,
      })
      const [, code, enhanced = null] = /(\d{3})(?:-([\d.]+))?$/.exec(local) ?? []
      if (code === undefined) continue
      const attempt = { code: Number(code), enhanced_code: enhanced, host: bench.sink.host }
      expect({ local, attempt: message?.attempts[0] }).toMatchObject({ local, attempt })
      if (state !== 'deferred') continue
      const wait = Date.parse(message?.next_at ?? '') - startedAt
      expect(wait).toBeGreaterThan(4 * MINUTE_MS)
      expect(wait).toBeLessThan(7 * MINUTE_MS)
    }
    expect(recipientsIn(bench.sink, 'fine.example')).toHaveLength(20)
    const stats = await statsOf(server, campaign, run)
    expect(stats.all).toMatchObject({
      delivery_funnel: { reachable_users_in_segment: 43, sent: 20, pending: 10 },
      failure_breakdown: { hard_bounce: 5, soft_bounce: 1, gave_up: 1, blocked: 2, message_refused: 4 },
    })
    await changeMailing(server, campaign, 'cancel')
    await untilRun(server, campaign, 'the rest is removed', ({ states }) => states['removed'] === 8)
  })

  it('for now are tried again, and fail when their time is up', async () => {
    const server = await bench.makeWorkspace()
    const domain = 'again.example'
    await addPeople(server, [
      { customer_id: 'once', email: `defer-once-450-4.2.1@${domain}` },
      { customer_id: 'full', email: `defer-450-4.2.2@${domain}` },
      { customer_id: 'busy', email: `defer-450-4.4.1@${domain}` },
    ])
    const campaign = await startMailing(server, bench.sink)
    const deferred = (count: number) => {
      const what = `${count} are deferred`
      return untilRun(server, campaign, what, ({ states }) => states['deferred'] === count && states['sending'] === 0)
    }
    await deferred(3)
    await age(server, { next_at: 1 })
    await until('the next try of all', async () => {
      const messages = await messagesOf(server, campaign)
      return messages.get('once')?.state === 'sent' && messages.get('full')?.attempts.length === 2
    })
    await deferred(2)
    await age(server, { next_at: 1, first_tried_at: Date.now() - 25 * 60 * MINUTE_MS })
    const { messages, run } = await finishMailing(server, campaign)
    expect(messages.get('full')).toMatchObject({ state: 'failed', reason: 'soft_bounce' })
    expect(messages.get('busy')).toMatchObject({ state: 'failed', reason: 'gave_up' })
    expect((await statsOf(server, campaign, run)).all).toMatchObject({
      performance_stats: { sent: 1, failed: 2 },
      delivery_funnel: { sent: 1, pending: 0 },
    })
  })

  it('of a domain that is full make its other people wait, without an attempt', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, [{ customer_id: 'first', email: 'defer-452-4.3.1@full.example' }])
    await addPeople(server, [...peopleOf(5, 'full.example'), { customer_id: 'other', email: 'other@roomy.example' }])
    const campaign = await startMailing(server, bench.sink, { sender: { limits: { connections: 1, per_second: 50 } } })
    await untilRun(
      server,
      campaign,
      'the other was sent',
      ({ states }) => states['sent'] === 1 && states['sending'] === 0,
    )
    const messages = await messagesOf(server, campaign)
    const queued = [...messages.values()].filter(({ state }) => state === 'queued')
    expect(queued.map(({ attempts }) => attempts.length).toSorted((left, right) => left - right)).toEqual([
      0, 0, 0, 0, 0, 1,
    ])
    expect(recipientsIn(bench.sink, 'full.example')).toEqual([])
    await changeMailing(server, campaign, 'cancel')
    await finishMailing(server, campaign)
  })

  it('of the sender itself pause the campaign with the reply, and nobody has failed', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(8, 'paused.example'))
    const sender = { from_email: 'reject-550-5.7.1@shop.example' }
    const campaign = await startMailing(server, bench.sink, { sender })
    const paused = await until('the campaign is paused', async () => {
      const shown = await stateOf(server, campaign)
      return shown.state === 'paused' && shown
    })
    expect(paused.paused?.reply).toContain('550')
    const run = await untilRun(server, campaign, 'all wait', ({ states }) => states['queued'] === 8)
    expect(run.states).toMatchObject({ failed: 0, sent: 0 })
  })

  it('by blocking pause the campaign after twenty in a row', async () => {
    const server = await bench.makeWorkspace()
    const people = Array.from({ length: 30 }, (_, index) => ({
      customer_id: `b${index}`,
      email: `reject-550-5.7.1+${index}@blocked.example`,
    }))
    await addPeople(server, people)
    const campaign = await startMailing(server, bench.sink, { sender: { limits: { connections: 1, per_second: 100 } } })
    await until('the campaign is paused', async () => (await stateOf(server, campaign)).state === 'paused')
    const run = await untilRun(server, campaign, 'the rest waits', ({ states }) => states['sending'] === 0)
    expect(run.states).toMatchObject({ failed: 20, queued: 10 })
    expect(await isSuppressed(server, people[0]?.email ?? '')).toBe(false)
  })

  it('of a full mailbox in five runs in a row suppress the address', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, [{ customer_id: 'full', email: 'reject-552-5.2.2@soft.example' }])
    const reasons: (string | null | undefined)[] = []
    for (let run = 1; run <= 6; run++) {
      const { messages } = await sendMailing(server, bench.sink)
      reasons.push(messages.get('full')?.reason)
    }
    expect(reasons).toEqual([...Array.from({ length: 5 }, () => 'soft_bounce'), 'user_removed_due_to_hard_bounce'])
  })

  it('in doubt are sent again, or given up, when somebody says so', async () => {
    const server = await bench.makeWorkspace()
    const domain = 'doubt.example'
    const people = [1, 2].map((index) => ({ customer_id: `d${index}`, email: `drop-after-data+${index}@${domain}` }))
    await addPeople(server, people)
    const { campaign, run, messages } = await sendMailing(server, bench.sink)
    expect(run).toMatchObject({ state: 'finished', states: { in_doubt: 2 } })
    /** On a machine so busy that the pipeline is seconds behind, the answer is 503: the client asks again. */
    const decide = (action: string, id: string) =>
      until('an answer but 503', async () => {
        const body = { action, message_ids: [messages.get(id)?.message_id] }
        const path = `/core-services/v1/campaigns/${campaign}/in-doubt`
        const { status } = await server.call('POST', path, { ...REPORTS, body })
        return status !== 503 && status
      })
    expect(await decide('send_again', 'd1')).toBeLessThan(300)
    const again = await finishMailing(server, campaign)
    expect(again.run.states).toMatchObject({ in_doubt: 2 })
    await until('it came again', () => recipientsIn(bench.sink, domain).length === 3)
    await finishMailing(server, campaign)
    for (const id of ['d1', 'd2']) expect(await decide('give_up', id)).toBeLessThan(300)
    const given = await finishMailing(server, campaign)
    expect(given.run.states).toMatchObject({ in_doubt: 0, failed: 2 })
    expect(given.messages.get('d2')).toMatchObject({ state: 'failed', reason: 'in_doubt' })
    expect((await statsOf(server, campaign, given.run)).all).toMatchObject({
      failure_breakdown: { in_doubt: 2 },
      delivery_funnel: { sent: 0, pending: 0 },
    })
  })
})
