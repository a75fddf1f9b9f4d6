// What is personal in messages of a run: values that are missing, and coupons.
import { expect, it } from 'vitest'
import { addPeople, changeMailing, type MailingServer } from '../../support/delivery/mailing.ts'
import {
  finishMailing,
  messagesOf,
  peopleOf,
  reasonsIn,
  sendMailing,
  startMailing,
  untilRun,
  useMailingBench,
} from '../../support/delivery/mailing-server.ts'
import { statsOf } from '../../support/delivery/mailing-stats.ts'
import { LISTS_PATH } from '../../support/calls/coupon-calls.ts'
import { readMail } from '../../support/mail-sink/read-mail.ts'
import { until } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const REPORTS = { tile: 'reports' } as const
const WITH_CODE = {
  email_content: '<html><body><p>Take {{Coupons.CouponListName["spring"]}}</p></body></html>',
  subject: 'Code {{Coupons.CouponListName["spring"]}}',
}

describeEachStore('personal content of a run', (kind) => {
  const bench = useMailingBench(kind)

  const addCodes = async (server: MailingServer, list: string, codes: readonly string[]) => {
    const body = { coupons: codes }
    const answer = await server.call('POST', `${LISTS_PATH}/${list}/coupons`, { ...REPORTS, body })
    expect(answer.status).toBeLessThan(300)
  }
  const addList = async (server: MailingServer, codes: readonly string[]) => {
    const body = { name: 'Spring', label: 'spring', expires_at: '2199-12-31', created_by: 'anna' }
    const made = await server.call<{ _id: string }>('POST', LISTS_PATH, { ...REPORTS, body })
    expect(made.status).toBe(201)
    const { _id: id } = made.body
    await addCodes(server, id, codes)
    return id
  }
  const countsOf = async (server: MailingServer, list: string) => {
    const { body } = await server.call<Record<string, number>>('GET', `${LISTS_PATH}/${list}`, REPORTS)
    const { total_coupons: total = 0, available_coupons: available = 0 } = body
    const { held_coupons: held = 0, issued_coupons: issued = 0 } = body
    expect(available + held + issued).toBe(total)
    return { available, held, issued }
  }

  it('that is missing removes the person, and the message tells what was missing', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, [
      { customer_id: 'ann', email: 'ann@values.example', city: 'Rome' },
      { customer_id: 'bob', email: 'bob@values.example', city: '' },
      { customer_id: 'cleo', email: 'cleo@values.example' },
    ])
    const template = { email_content: '<html><body><p>{{ city }}</p></body></html>' }
    const { messages, run, campaign } = await sendMailing(server, bench.sink, { template })
    const reason = 'user_removed_due_to_personalization_failed'
    expect(reasonsIn(messages)).toEqual({ bob: reason, cleo: reason })
    for (const id of ['bob', 'cleo']) expect(messages.get(id)?.attempts[0]?.text).toContain('city')
    expect((await statsOf(server, campaign, run)).all).toMatchObject({
      performance_stats: { attempted: 1, sent: 1 },
      failure_breakdown: { [reason]: 2 },
    })
  })

  it('gives each person one code, the same in the subject, the text and the HTML', async () => {
    const server = await bench.makeWorkspace()
    const codes = Array.from({ length: 8 }, (_, index) => `CODE-${index}`)
    const list = await addList(server, codes)
    await addPeople(server, [
      ...peopleOf(5, 'codes.example'),
      { customer_id: 'gone', email: 'reject-550-5.1.1@codes.example' },
      { customer_id: 'doubt', email: 'drop-after-data@doubt-codes.example' },
    ])
    const { messages, run } = await sendMailing(server, bench.sink, { template: WITH_CODE })
    expect(run.states).toMatchObject({ sent: 5, failed: 1, in_doubt: 1 })
    const mails = bench.sink.mails.list().filter(({ to }) => to[0]?.endsWith('codes.example'))
    const sent = mails.map(({ raw }) => {
      const { headers, html, text } = readMail(raw)
      const subject = headers.find(([name]) => name === 'Subject')?.[1] ?? ''
      const code = subject.replace('Code ', '')
      expect(html).toContain(`Take ${code}<`)
      expect(text).toContain(`Take ${code}`)
      return code
    })
    expect(new Set(sent).size).toBe(6)
    expect(codes).toEqual(expect.arrayContaining(sent))
    expect(sent).toContain(messages.get('p0000')?.coupons['spring'])
    expect(messages.get('gone')?.coupons).toEqual({})
    expect(await countsOf(server, list)).toEqual({ available: 2, held: 0, issued: 6 })
  })

  it('removes people for whom no code is left, where the campaign skips them', async () => {
    const server = await bench.makeWorkspace()
    const list = await addList(server, ['ONE', 'TWO'])
    await addPeople(server, peopleOf(5, 'skip.example'))
    const { run, messages, campaign } = await sendMailing(server, bench.sink, { template: WITH_CODE })
    expect(run.states).toMatchObject({ sent: 2, removed: 3 })
    const reason = 'user_removed_due_to_coupon_missing'
    expect(Object.values(reasonsIn(messages))).toEqual([reason, reason, reason])
    expect(await countsOf(server, list)).toEqual({ available: 0, held: 0, issued: 2 })
    expect((await statsOf(server, campaign, run)).all.failure_breakdown).toMatchObject({ [reason]: 3 })
  })

  it('pauses when no code is left, where the campaign says so, and goes on after a refill', async () => {
    const server = await bench.makeWorkspace()
    const list = await addList(server, ['ONE', 'TWO'])
    await addPeople(server, peopleOf(5, 'refill.example'))
    const delivery = { coupons_when_empty: 'pause' }
    const campaign = await startMailing(server, bench.sink, { template: WITH_CODE, delivery })
    await until('the campaign is paused', async () => {
      const { body } = await server.call<{ state: string }>('GET', `/core-services/v1/campaigns/${campaign}`, REPORTS)
      return body.state === 'paused'
    })
    const run = await untilRun(server, campaign, 'nobody is being sent to', ({ states }) => states['sending'] === 0)
    expect(run.states).toMatchObject({ sent: 2, queued: 3, removed: 0 })
    await addCodes(server, list, ['THREE', 'FOUR', 'FIVE'])
    await changeMailing(server, campaign, 'resume')
    expect((await finishMailing(server, campaign)).run.states).toMatchObject({ sent: 5 })
    const codes = [...(await messagesOf(server, campaign)).values()].map(({ coupons }) => coupons['spring'])
    expect(new Set(codes)).toEqual(new Set(['FIVE', 'FOUR', 'ONE', 'THREE', 'TWO']))
    expect(await countsOf(server, list)).toEqual({ available: 0, held: 0, issued: 5 })
  })
})
