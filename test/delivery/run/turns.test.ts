// What changes while a run is under way: consent, suppressions, addresses and people are looked at again when their turn comes.
import { expect, it } from 'vitest'
import { PREFERENCES_PATH } from '../../support/calls/preference-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { addPeople, addSender, changeMailing } from '../../support/delivery/mailing.ts'
import {
  finishMailing,
  peopleOf,
  reasonsIn,
  recipientsIn,
  startMailing,
  untilRun,
  useMailingBench,
  type MailingWorkspace,
} from '../../support/delivery/mailing-server.ts'
import { statsOf } from '../../support/delivery/mailing-stats.ts'
import { until } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const REPORTS = { tile: 'reports' } as const
/** So slow that those at the end of a run wait for seconds. */
const SLOW = { limits: { per_second: 2 } }
const FAST = { limits: { per_second: 1_000 } }

describeEachStore('a run under way', (kind) => {
  const bench = useMailingBench(kind)

  const changeSender = async (server: MailingWorkspace, sender: string, body: object) => {
    const answer = await server.call('PATCH', `/core-services/v1/senders/${sender}`, { ...REPORTS, body })
    expect(answer).toMatchObject({ status: 200 })
  }
  /** Starts a slow run of the first people, then of these, whose turns are last, and pauses it in the middle. */
  const startSlowly = async (server: MailingWorkspace, domain: string, last: readonly string[]) => {
    await addPeople(server, peopleOf(30, domain))
    for (const customer_id of last) await addPeople(server, [{ customer_id, email: `${customer_id}@${domain}` }])
    const sender_id = await addSender(server, bench.sink, SLOW)
    const campaign = await startMailing(server, bench.sink, { delivery: { sender_id } })
    await untilRun(server, campaign, 'the first was sent', ({ states }) => (states['sent'] ?? 0) > 0)
    await changeMailing(server, campaign, 'pause')
    await untilRun(server, campaign, 'nobody is being sent to', ({ states }) => states['sending'] === 0)
    const finish = async () => {
      await changeSender(server, sender_id, FAST)
      await changeMailing(server, campaign, 'resume')
      return finishMailing(server, campaign)
    }
    return { campaign, finish }
  }

  it('sends to nobody who opts out, is suppressed or is erased before the turn, and to the address of that moment', async () => {
    const server = await bench.makeWorkspace({ categories: ['News'] })
    const domain = 'turns.example'
    const { campaign, finish } = await startSlowly(server, domain, [
      'out',
      'complained',
      'moved',
      'moved-to-sent',
      'erased',
    ])
    const changes = await Promise.all([
      server.call('PUT', PREFERENCES_PATH, {
        body: { user_preferences: { customer_id: 'out', opt_in_status: 'OPTED_OUT' } },
      }),
      server.call('POST', '/core-services/v1/suppressions', {
        ...REPORTS,
        body: { email: `complained@${domain}`, reason: 'complaint' },
      }),
      until('the person is erased', async () => {
        const path = `/v1/customer/${server.workspace.id}?customer_id=erased`
        const answer = await server.call('DELETE', path)
        return answer.status !== 503 && answer
      }),
    ])
    expect(changes.map(({ status }) => status)).toEqual([200, 201, 200])
    const move = (customer_id: string, email: string) => ({ type: 'customer', customer_id, attributes: { email } })
    await trackingOf(bench.server, server.workspace).apply(
      move('moved', `new@${domain}`),
      move('moved-to-sent', `0@${domain}`),
    )
    const { messages, run } = await finish()
    expect(run).toMatchObject({ audience: 34, states: { sent: 31, removed: 3 } })
    expect(reasonsIn(messages)).toEqual({
      out: 'user_removed_due_to_opt_out',
      complained: 'user_removed_due_to_complaint',
      'moved-to-sent': 'user_removed_due_to_duplicate',
    })
    const expected = [...peopleOf(30, domain).map(({ email }) => email), `new@${domain}`]
    expect(recipientsIn(bench.sink, domain)).toHaveLength(expected.length)
    expect(new Set(recipientsIn(bench.sink, domain))).toEqual(new Set(expected))
    await statsOf(server, campaign, run)
  })

  it('has nobody twice who is merged meanwhile, and nobody who was created after the audience was frozen', async () => {
    const server = await bench.makeWorkspace({ identityResolution: ['crm'] })
    const domain = 'merges.example'
    const { campaign, finish } = await startSlowly(server, domain, ['x', 'y'])
    await addPeople(server, [{ customer_id: 'late', email: `late@${domain}` }])
    const known = (customer_id: string, crm: string) => {
      return { type: 'customer', customer_id, user_identifiers: { crm } }
    }
    await trackingOf(bench.server, server.workspace).apply(
      known('x', 'crm-1'),
      known('y', 'crm-1'),
      known('p0000', 'crm-2'),
      known('p0029', 'crm-2'),
    )
    const { messages, run } = await finish()
    expect(run).toMatchObject({ audience: 32, states: { sent: 30, removed: 2 } })
    const reasons = reasonsIn(messages)
    expect(new Set(Object.values(reasons))).toEqual(new Set(['user_removed_due_to_duplicate']))
    expect(reasons).toHaveProperty('p0029')
    const recipients = recipientsIn(bench.sink, domain)
    expect(recipients).toHaveLength(30)
    expect(new Set(recipients).size).toBe(30)
    expect(recipients).not.toContain(`late@${domain}`)
    await statsOf(server, campaign, run)
  })

  it('sends nothing while the workspace is suspended, and goes on afterwards', async () => {
    const server = await bench.makeWorkspace()
    const domain = 'suspended.example'
    await addPeople(server, peopleOf(24, domain))
    const sender_id = await addSender(server, bench.sink, SLOW)
    const campaign = await startMailing(server, bench.sink, { delivery: { sender_id } })
    await untilRun(server, campaign, 'the first was sent', ({ states }) => (states['sent'] ?? 0) > 0)
    await server.change({ suspended: true })
    const { query } = bench.server.database
    await until('nothing is on a connection', async () => {
      const sending = query
        .selectFrom('messages')
        .innerJoin('runs', 'runs.number', 'messages.run')
        .select('messages.number')
        .where('runs.workspace_id', '=', server.workspace.id)
        .where('messages.state', '=', 'sending')
      return (await sending.execute()).length === 0
    })
    const sent = recipientsIn(bench.sink, domain).length
    const quietUntil = Date.now() + 2_000
    await until('two seconds, in which four would be sent', () => Date.now() > quietUntil)
    expect(recipientsIn(bench.sink, domain)).toHaveLength(sent)
    expect(sent).toBeLessThan(24)
    await server.change({ suspended: false })
    await changeSender(server, sender_id, FAST)
    const { run } = await finishMailing(server, campaign)
    expect(run.states).toMatchObject({ sent: 24 })
    expect(recipientsIn(bench.sink, domain)).toHaveLength(24)
  })
})
