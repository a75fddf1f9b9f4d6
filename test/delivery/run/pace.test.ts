// When messages of a campaign are sent: the daily quota, its start, pauses and the end by somebody's hand.
import { expect, it } from 'vitest'
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

describeEachStore('the pace of a campaign', (kind) => {
  const bench = useMailingBench(kind)

  const readCampaign = async (server: MailingServer, campaign: string) => {
    type Body = { state: string; waiting?: { reason: string; reply?: string }; paused?: { reason: string } }
    return (await server.call<Body>('GET', `/core-services/v1/campaigns/${campaign}`, REPORTS)).body
  }
  const untilState = (server: MailingServer, campaign: string, state: string) =>
    until(`the campaign is ${state}`, async () => {
      const shown = await readCampaign(server, campaign)
      return shown.state === state && shown
    })

  it('waits for the next day when the daily quota is used, and goes on when there is more', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(12, 'quota.example'))
    const limits = { per_second: 100, per_day: 5 }
    const sender_id = await addSender(server, bench.sink, { limits })
    const campaign = await startMailing(server, bench.sink, { delivery: { sender_id } })
    const { waiting } = await untilState(server, campaign, 'waiting')
    expect(waiting?.reason).toContain('day')
    const run = await untilRun(server, campaign, 'five are sent', ({ states }) => states['sent'] === 5)
    expect(run.states).toMatchObject({ queued: 7, sending: 0 })
    expect(recipientsIn(bench.sink, 'quota.example')).toHaveLength(5)
    const body = { limits: { ...limits, per_day: 1_000 } }
    const changed = await server.call('PATCH', `/core-services/v1/senders/${sender_id}`, { ...REPORTS, body })
    expect(changed).toMatchObject({ status: 200 })
    expect((await finishMailing(server, campaign)).run.states).toMatchObject({ sent: 12 })
  })

  it('waits while the server takes no connection, and nobody loses by it', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(6, 'down.example'))
    const down = await startMailSink()
    await down.stop()
    const campaign = await startMailing(server, down)
    const { waiting } = await untilState(server, campaign, 'waiting')
    expect(waiting?.reply).toBeTruthy()
    const run = await readRun(server, campaign)
    expect(run?.states).toMatchObject({ sent: 0, failed: 0, deferred: 0, removed: 0 })
    const up = await startMailSink({ port: down.port })
    const finished = await finishMailing(server, campaign)
    expect(finished.run.states).toMatchObject({ sent: 6 })
    expect(recipientsIn(up, 'down.example')).toHaveLength(6)
    await up.stop()
  })

  it('stops claiming at a pause, and goes on at a resume', async () => {
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

  it('is held by a pause that comes at once, before the audience is frozen', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(10, 'early.example'))
    const campaign = await startMailing(server, bench.sink)
    await changeMailing(server, campaign, 'pause')
    await changeMailing(server, campaign, 'resume')
    expect((await finishMailing(server, campaign)).run.states).toMatchObject({ sent: 10 })
    expect(recipientsIn(bench.sink, 'early.example')).toHaveLength(10)
  })

  it('ends at a cancellation: the rest is removed, and statistics tell why', async () => {
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

  it('begins at its time, and a cancellation before it leaves nothing to send', async () => {
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

  it('waits for a person when it could not begin within the grace', async () => {
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
