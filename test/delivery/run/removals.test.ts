// Why people of an audience get nothing: the reasons in their order, when the audience is frozen.
import { expect, it } from 'vitest'
import { addPeople, addSender, type MailingServer } from '../../support/delivery/mailing.ts'
import {
  finishMailing,
  peopleOf,
  reasonsIn,
  recipientsIn,
  sendMailing,
  startMailing,
  useMailingBench,
} from '../../support/delivery/mailing-server.ts'
import { statsOf } from '../../support/delivery/mailing-stats.ts'
import { PREFERENCES_PATH } from '../../support/calls/preference-calls.ts'
import { describeEachStore } from '../../support/stores.ts'

const REPORTS = { tile: 'reports' } as const
const REMOVED = 'user_removed_due_to'

describeEachStore('removals from an audience', (kind) => {
  const bench = useMailingBench(kind)

  const suppress = async (server: MailingServer, email: string, reason: string) => {
    const body = { email, reason }
    const answer = await server.call('POST', '/core-services/v1/suppressions', { ...REPORTS, body })
    expect(answer).toMatchObject({ status: 201 })
  }
  const prefer = async (server: MailingServer, preferences: object) => {
    const answer = await server.call('PUT', PREFERENCES_PATH, { body: { user_preferences: preferences } })
    expect(answer).toMatchObject({ status: 200 })
  }

  it('have the first reason that holds, and statistics count it', async () => {
    const server = await bench.makeWorkspace({ frequencyCaps: [{ count: 1, days: 1 }] })
    const domain = 'order.example'
    await addPeople(server, [{ customer_id: 'capped', email: `capped@${domain}` }])
    await sendMailing(server, bench.sink)
    await addPeople(server, [
      { customer_id: 'bounced', email: `bounced@${domain}`, opt_in_status: 'OPTED_OUT' },
      { customer_id: 'complained', email: `complained@${domain}`, opt_in_status: 'OPTED_OUT' },
      { customer_id: 'by-hand', email: `by-hand@${domain}` },
      { customer_id: 'soft', email: `soft@${domain}` },
      { customer_id: 'out', email: `capped@${domain}`, opt_in_status: 'OPTED_OUT' },
      { customer_id: 'capped', email: `capped@${domain}` },
      { customer_id: 'a10', email: `same@${domain}` },
      { customer_id: 'a9', email: `SAME@${domain}` },
      { customer_id: 'a1', email: `same@${domain}`, opt_in_status: 'OPTED_OUT' },
      { customer_id: 'nowhere' },
    ])
    await suppress(server, `bounced@${domain}`, 'hard_bounce')
    await suppress(server, `complained@${domain}`, 'complaint')
    await suppress(server, `by-hand@${domain}`, 'manual')
    await suppress(server, `soft@${domain}`, 'soft_bounce')
    const delivery = { audience: { include: [{ created: { after: '1971-01-01T00:00:00Z' } }] } }
    const { messages, run, campaign } = await sendMailing(server, bench.sink, { delivery })
    expect(run).toMatchObject({ audience: 9, without_address: 1, states: { removed: 8, sent: 1 } })
    expect(reasonsIn(messages)).toEqual({
      bounced: `${REMOVED}_hard_bounce`,
      complained: `${REMOVED}_complaint`,
      'by-hand': `${REMOVED}_hard_bounce`,
      soft: `${REMOVED}_hard_bounce`,
      out: `${REMOVED}_opt_out`,
      capped: `${REMOVED}_frequency_capping`,
      a9: `${REMOVED}_duplicate`,
      a1: `${REMOVED}_opt_out`,
    })
    expect(messages.get('a10')?.state).toBe('sent')
    expect(messages.has('nowhere')).toBe(false)
    expect((await statsOf(server, campaign, run)).all).toMatchObject({
      performance_stats: { attempted: 1, sent: 1 },
      delivery_funnel: {
        reachable_users_in_segment: 9,
        segment_after_uninstall: 3,
        after_fc: 2,
        users_after_dup: 1,
        sent: 1,
        pending: 0,
      },
      failure_breakdown: {
        user_removed_due_to_hard_bounce: 3,
        user_removed_due_to_complaint: 1,
        user_removed_due_to_opt_out: 2,
        user_removed_due_to_frequency_capping: 1,
        user_removed_due_to_duplicate: 1,
      },
    })
  })

  const STATUSES = ['OPTED_IN', 'DOUBLE_OPTED_IN', 'OPT_IN_PENDING', 'OPTED_OUT', undefined] as const
  const consents: [consent: string, sent: string[]][] = [
    ['opted_in', ['DOUBLE_OPTED_IN', 'OPTED_IN']],
    ['double_opted_in', ['DOUBLE_OPTED_IN']],
    ['not_opted_out', ['DOUBLE_OPTED_IN', 'OPTED_IN', 'OPT_IN_PENDING', 'never']],
    ['transactional', ['DOUBLE_OPTED_IN', 'OPTED_IN', 'OPTED_OUT', 'OPT_IN_PENDING', 'never']],
  ]
  it.each(consents)('follow the consent %s', async (consent, sent) => {
    const server = await bench.makeWorkspace()
    await addPeople(
      server,
      STATUSES.map((status) => ({
        customer_id: status ?? 'never',
        email: `${status ?? 'never'}@consent.example`,
        opt_in_status: status ?? null,
      })),
    )
    const { messages } = await sendMailing(server, bench.sink, { delivery: { consent } })
    const reached = [...messages.values()].filter(({ state }) => state === 'sent').map((message) => message.customer_id)
    expect(reached.toSorted()).toEqual(sent)
    expect(new Set(Object.values(reasonsIn(messages)))).toEqual(
      new Set(sent.length === STATUSES.length ? [] : [`${REMOVED}_opt_out`]),
    )
  })

  const categories: [consent: string, sent: string[]][] = [
    ['opted_in', ['yes']],
    ['not_opted_out', ['unasked', 'yes']],
  ]
  it.each(categories)('follow the category under the consent %s', async (consent, sent) => {
    const server = await bench.makeWorkspace({ categories: ['News'] })
    await addPeople(
      server,
      ['yes', 'no', 'unasked'].map((customer_id) => ({ customer_id, email: `${customer_id}@category.example` })),
    )
    await prefer(server, { customer_id: 'yes', categories: { News: true } })
    await prefer(server, { customer_id: 'no', categories: { News: false } })
    const { messages } = await sendMailing(server, bench.sink, { delivery: { consent, category: 'News' } })
    const reached = [...messages.values()].filter(({ state }) => state === 'sent').map((message) => message.customer_id)
    expect(reached.toSorted()).toEqual(sent)
  })

  it.each(['one sender', 'two senders'])(
    'by frequency caps let nobody have two campaigns that start in one second, with %s',
    async (which) => {
      const server = await bench.makeWorkspace({ frequencyCaps: [{ count: 1, days: 1 }] })
      const domain = which === 'one sender' ? 'caps1.example' : 'caps2.example'
      await addPeople(server, peopleOf(150, domain))
      const first = await addSender(server, bench.sink)
      const second = which === 'one sender' ? first : await addSender(server, bench.sink)
      const ids = await Promise.all(
        [first, second].map((sender_id) => startMailing(server, bench.sink, { delivery: { sender_id } })),
      )
      const runs = await Promise.all(ids.map((id) => finishMailing(server, id)))
      const expected = peopleOf(150, domain).map(({ email }) => email)
      expect(recipientsIn(bench.sink, domain)).toHaveLength(expected.length)
      expect(new Set(recipientsIn(bench.sink, domain))).toEqual(new Set(expected))
      const sent = runs.map(({ run }) => run.states['sent'] ?? 0)
      expect(sent.reduce((sum, count) => sum + count, 0)).toBe(150)
      const reasons = runs.flatMap(({ messages }) => Object.values(reasonsIn(messages)))
      expect(reasons).toEqual(Array.from({ length: 150 }, () => `${REMOVED}_frequency_capping`))
    },
  )

  it('by frequency caps neither hold nor count a campaign that is not capped', async () => {
    const server = await bench.makeWorkspace({ frequencyCaps: [{ count: 1, days: 1 }] })
    await addPeople(server, peopleOf(3, 'uncapped.example'))
    const free = { delivery: { capped: false } }
    for (const mailing of [free, {}, free]) {
      expect((await sendMailing(server, bench.sink, mailing)).run.states).toMatchObject({ sent: 3, removed: 0 })
    }
    expect((await sendMailing(server, bench.sink)).run.states).toMatchObject({ sent: 0, removed: 3 })
  })
})
