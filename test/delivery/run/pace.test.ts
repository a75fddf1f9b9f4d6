// When messages of a campaign are sent: the daily quota, its start, pauses and the end by somebody's hand.
import { expect, it } from 'vitest'
import { PREFERENCES_PATH } from '../../support/calls/preference-calls.ts'
import {
  addMailing,
  addPeople,
  addSender,
  changeMailing,
  readRun,
  type MailingServer,
} from '../../support/delivery/mailing.ts'
import {
  finishMailing,
  messagesOf,
  peopleOf,
  reasonsIn,
  recipientsIn,
  startMailing,
  untilRun,
  useMailingBench,
} from '../../support/delivery/mailing-server.ts'
import { statsOf } from '../../support/delivery/mailing-stats.ts'
import { startMailSink } from '../../support/mail-sink/mail-sink.ts'
import { until } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const REPORTS = { tile: 'reports' } as const
const HOUR_MS = 3_600_000
/** Messages a second. */
const RATE = 10
/** Longer than claimed messages wait for a connection. */
const SLOW_REPLY_MS = 2_500

// Each test has a workspace and a sender of its own, and waits most of its time: they run side by side.
describeEachStore('the pace of a campaign', (kind) => {
  const bench = useMailingBench(kind)

  const readCampaign = async (server: MailingServer, campaign: string) => {
    type Body = {
      state: string
      waiting?: { reason: string; reply?: string }
      paused?: { reason: string; reply?: string }
    }
    return (await server.call<Body>('GET', `/core-services/v1/campaigns/${campaign}`, REPORTS)).body
  }
  const untilState = (server: MailingServer, campaign: string, state: string) =>
    until(`the campaign is ${state}`, async () => {
      const shown = await readCampaign(server, campaign)
      return shown.state === state && shown
    })

  const optOut = async (server: MailingServer, customer_id: string) => {
    const body = { user_preferences: { customer_id, opt_in_status: 'OPTED_OUT' } }
    expect((await server.call('PUT', PREFERENCES_PATH, { body })).status).toBe(200)
  }

  it.concurrent('waits for the next day when the daily quota is used, and goes on when there is more', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(
      server,
      peopleOf(12, 'quota.example').map((person, at) => ({ ...person, ...(at > 1 && { nick: 'x' }) })),
    )
    const limits = { per_second: 100, per_day: 5 }
    const sender_id = await addSender(server, bench.sink, { limits })
    // Those who are not sent to use none of the quota.
    const template = { email_content: '<p>{{ nick }}</p>' }
    const campaign = await startMailing(server, bench.sink, { template, delivery: { sender_id } })
    const { waiting } = await untilState(server, campaign, 'waiting')
    expect(waiting?.reason).toContain('day')
    const run = await untilRun(server, campaign, 'five are sent', ({ states }) => states['sent'] === 5)
    expect(run.states).toMatchObject({ queued: 5, removed: 2, sending: 0 })
    expect(recipientsIn(bench.sink, 'quota.example')).toHaveLength(5)
    const body = { limits: { ...limits, per_day: 1_000 } }
    const changed = await server.call('PATCH', `/core-services/v1/senders/${sender_id}`, { ...REPORTS, body })
    expect(changed).toMatchObject({ status: 200 })
    expect((await finishMailing(server, campaign)).run.states).toMatchObject({ sent: 10, removed: 2 })
  })

  it.concurrent(
    'waits while the server takes no connection: nobody loses by it, and who opts out meanwhile gets nothing',
    async () => {
      const server = await bench.makeWorkspace()
      await addPeople(server, peopleOf(6, 'down.example'))
      let isDown = true
      const closed = { reply: '421 4.3.2 Closed for now' }
      const sink = await startMailSink({ rule: ({ stage }) => (isDown && stage === 'connect' ? closed : undefined) })
      const campaign = await startMailing(server, sink)
      const { waiting } = await untilState(server, campaign, 'waiting')
      expect(waiting?.reply).toBe('421 4.3.2 Closed for now')
      const run = await untilRun(server, campaign, 'nobody is on a connection', ({ states }) => states['sending'] === 0)
      expect(run.states).toMatchObject({ queued: 6, sent: 0, failed: 0, deferred: 0, removed: 0 })
      await optOut(server, 'p0003')
      isDown = false
      const finished = await finishMailing(server, campaign)
      expect(finished.run.states).toMatchObject({ sent: 5, removed: 1 })
      expect(reasonsIn(finished.messages)).toEqual({ p0003: 'user_removed_due_to_opt_out' })
      expect(recipientsIn(sink, 'down.example')).toHaveLength(5)
      await sink.stop()
    },
  )

  it.concurrent('looks again at people who wait behind a server that takes its time', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(5, 'behind.example'))
    let isHeld = false
    const sink = await startMailSink({
      rule({ stage }) {
        if (stage !== 'message' || isHeld) return undefined
        isHeld = true
        return { afterMs: SLOW_REPLY_MS }
      },
    })
    const campaign = await startMailing(server, sink, { sender: { limits: { connections: 1, per_second: 1_000 } } })
    await until('the first is on its connection', () => isHeld)
    await optOut(server, 'p0004')
    const { messages } = await finishMailing(server, campaign)
    expect(reasonsIn(messages)).toEqual({ p0004: 'user_removed_due_to_opt_out' })
    expect(recipientsIn(sink, 'behind.example')).toHaveLength(4)
    await sink.stop()
  })

  it.concurrent('pauses when the server refuses the password, and goes on with the right one', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(6, 'password.example'))
    const sink = await startMailSink({ credentials: { username: 'shop', password: 'right' } })
    const smtp = (password: string) => ({
      smtp: { host: sink.host, port: sink.port, security: 'none', username: 'shop', password },
    })
    const sender_id = await addSender(server, sink, smtp('wrong'))
    const campaign = await startMailing(server, sink, { delivery: { sender_id } })
    const { paused } = await untilState(server, campaign, 'paused')
    expect(paused?.reply).toMatch(/^535 /)
    const run = await untilRun(server, campaign, 'all are queued', ({ states }) => states['queued'] === 6)
    expect(run.states).toMatchObject({ sent: 0, failed: 0, deferred: 0 })
    const changed = await server.call('PATCH', `/core-services/v1/senders/${sender_id}`, {
      ...REPORTS,
      body: smtp('right'),
    })
    expect(changed).toMatchObject({ status: 200 })
    await changeMailing(server, campaign, 'resume')
    expect((await finishMailing(server, campaign)).run.states).toMatchObject({ sent: 6 })
    expect(recipientsIn(sink, 'password.example')).toHaveLength(6)
    await sink.stop()
  })

  it.concurrent('keeps its rate over a pause and a resume', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(40, 'rate.example'))
    const campaign = await startMailing(server, bench.sink, {
      sender: { limits: { connections: 1, per_second: RATE } },
    })
    await untilRun(server, campaign, 'some were sent', ({ states }) => (states['sent'] ?? 0) > 5)
    await changeMailing(server, campaign, 'pause')
    await changeMailing(server, campaign, 'resume')
    await finishMailing(server, campaign)
    const own = bench.sink.mails.list().filter(({ to }) => to[0]?.endsWith('@rate.example'))
    const times = own.map(({ at }) => at)
    expect(times).toHaveLength(40)
    // The sink takes a message some time after it began, but on one connection before the next begins. So those that it takes within
    // some seconds after another one all began within them.
    for (const seconds of [1, 2, 3]) {
      const begunAfter = times.map((from, index) => {
        return times.slice(index + 1).filter((at) => at < from + 1_000 * seconds).length
      })
      expect(Math.max(...begunAfter)).toBeLessThan(RATE * seconds + 1)
    }
  })

  it.concurrent('stops claiming at a pause, and goes on at a resume', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(40, 'pause.example'))
    const campaign = await startMailing(server, bench.sink, { sender: { limits: { per_second: 3 } } })
    await untilRun(server, campaign, 'the first was sent', ({ states }) => (states['sent'] ?? 0) > 0)
    await changeMailing(server, campaign, 'pause')
    await changeMailing(server, campaign, 'pause')
    const paused = await untilRun(server, campaign, 'nobody is being sent to', ({ states }) => states['sending'] === 0)
    expect(paused.states['queued']).toBeGreaterThan(0)
    expect(await readCampaign(server, campaign)).toMatchObject({ state: 'paused' })
    await changeMailing(server, campaign, 'resume')
    expect((await finishMailing(server, campaign)).run.states).toMatchObject({ sent: 40 })
    expect(recipientsIn(bench.sink, 'pause.example')).toHaveLength(40)
  })

  it.concurrent('is held by a pause that comes at once, before the audience is frozen', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(10, 'early.example'))
    const campaign = await startMailing(server, bench.sink)
    await changeMailing(server, campaign, 'pause')
    await changeMailing(server, campaign, 'resume')
    expect((await finishMailing(server, campaign)).run.states).toMatchObject({ sent: 10 })
    expect(recipientsIn(bench.sink, 'early.example')).toHaveLength(10)
  })

  it.concurrent('ends at a cancellation: the rest is removed, and statistics tell why', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(40, 'cancel.example'))
    const campaign = await startMailing(server, bench.sink, { sender: { limits: { per_second: 1 } } })
    await untilRun(server, campaign, 'the first was sent', ({ states }) => (states['sent'] ?? 0) > 0)
    await changeMailing(server, campaign, 'cancel')
    await changeMailing(server, campaign, 'cancel')
    const run = await untilRun(server, campaign, 'nobody is left', ({ states }) => {
      return states['queued'] === 0 && states['sending'] === 0
    })
    const messages = await messagesOf(server, campaign)
    const { sent = 0, removed = 0 } = run.states
    expect(run).toMatchObject({ state: 'cancelled', audience: 40 })
    expect(sent + removed).toBe(40)
    expect(removed).toBeGreaterThan(0)
    expect(Object.values(reasonsIn(messages))).toEqual(
      Array.from({ length: removed }, () => 'user_removed_due_to_cancelled'),
    )
    expect(recipientsIn(bench.sink, 'cancel.example')).toHaveLength(sent)
    expect((await statsOf(server, campaign, run)).all).toMatchObject({
      delivery_funnel: { reachable_users_in_segment: 40, sent, pending: 0 },
      failure_breakdown: { user_removed_due_to_cancelled: removed },
    })
  })

  it.concurrent('begins at its time, and a cancellation before it leaves nothing to send', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(3, 'later.example'))
    const inMs = (ms: number) => ({ delivery: { start_at: new Date(Date.now() + ms).toISOString() } })
    const [soon, later] = [
      await addMailing(server, bench.sink, inMs(4_000)),
      await addMailing(server, bench.sink, inMs(HOUR_MS)),
    ]
    for (const campaign of [soon, later]) {
      await changeMailing(server, campaign, 'start')
      expect(await readCampaign(server, campaign)).toMatchObject({ state: 'scheduled' })
    }
    await changeMailing(server, later, 'cancel')
    expect(await readCampaign(server, later)).toMatchObject({ state: 'cancelled' })
    expect((await finishMailing(server, soon)).run.states).toMatchObject({ sent: 3 })
    expect(await readRun(server, later)).toBeUndefined()
  })

  it.concurrent('waits for a person when it could not begin within the grace', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(2, 'overdue.example'))
    const start_at = new Date(Date.now() + HOUR_MS).toISOString()
    const campaign = await addMailing(server, bench.sink, { delivery: { start_at, grace_hours: 1 } })
    await changeMailing(server, campaign, 'start')
    await bench.server.database.write(async ({ query }) => {
      const ofWorkspace = query.updateTable('deliveries').where('workspace_id', '=', server.workspace.id)
      await ofWorkspace.set({ start_at: Date.now() - 2 * HOUR_MS }).execute()
    })
    await untilState(server, campaign, 'overdue')
    expect(recipientsIn(bench.sink, 'overdue.example')).toEqual([])
    await changeMailing(server, campaign, 'resume')
    expect((await finishMailing(server, campaign)).run.states).toMatchObject({ sent: 2 })
  })
})
