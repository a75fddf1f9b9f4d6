// What may happen to a campaign while it is sent: it is paused and resumed, its sender gets other limits, its SMTP server is down for a
// while. Nobody is sent to twice, and nobody is left out.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectAccounted, expectCounted, lookAtRun, numberedPeople } from '../../support/delivery/mailing-accounts.ts'
import {
  addMailing,
  addPeople,
  addSender,
  changeMailing,
  readRun,
  untilFinished,
} from '../../support/delivery/mailing.ts'
import { startMailSink, type MailSink } from '../../support/mail-sink/mail-sink.ts'
import type { SinkRule } from '../../support/mail-sink/sink-rules.ts'
import { startServer, until, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const PEOPLE = 600
const REPORTS = { tile: 'reports' } as const
const DOWN = '421 4.3.2 Closed for the moment'

describeEachStore('a campaign under way', (kind) => {
  let server: TestServer
  let sink: MailSink
  let isDown = false

  beforeAll(async () => {
    const environment = { PUBLIC_URL: 'http://127.0.0.1:8080', SECRET_KEY: Buffer.alloc(32, 7).toString('base64') }
    server = await startServer(kind, environment)
    await addPeople(server, numberedPeople(PEOPLE))
    const rule: SinkRule = ({ stage }) => (isDown && stage === 'mail' ? { reply: DOWN } : undefined)
    sink = await startMailSink({ rule, keptMax: PEOPLE })
  })
  afterAll(async () => {
    await server.stop()
    await sink.stop()
  })

  async function begin(limits: Readonly<Record<string, number>>) {
    sink.mails.clear()
    const sender = await addSender(server, sink, { limits })
    const campaign = await addMailing(server, sink, { delivery: { sender_id: sender } })
    await changeMailing(server, campaign, 'start')
    await until('it sends', () => sink.mails.count > 0)
    return { sender, campaign }
  }

  async function expectAllSent(campaign: string) {
    await untilFinished(server, campaign)
    expect(await expectAccounted(server, campaign, { sink, people: PEOPLE })).toMatchObject({ sent: PEOPLE })
    await expectCounted(server, campaign, { sent: PEOPLE, failed: 0 })
  }

  it('sends to everybody once through pauses, and to nobody while it is paused', async () => {
    const { campaign } = await begin({ per_second: 150, connections: 4 })
    for (let round = 0; round < 3; round++) {
      await changeMailing(server, campaign, 'pause')
      const idle = await until('messages on connections have ended', async () => {
        const run = await lookAtRun(server, campaign, PEOPLE)
        return run.states['sending'] === 0 && run
      })
      expect(idle.state).toBe('paused')
      const taken = sink.mails.count
      expect(taken).toBe(idle.states['sent'])
      await changeMailing(server, campaign, 'resume')
      await until('it goes on', () => sink.mails.count > taken || taken === PEOPLE)
    }
    await expectAllSent(campaign)
  })

  it('sends to everybody once while the limits of its sender change', async () => {
    const { sender, campaign } = await begin({ per_second: 20, connections: 1, messages_per_connection: PEOPLE })
    const change = async (limits: Readonly<Record<string, number>>) => {
      const path = `/core-services/v1/senders/${sender}`
      const body = { limits: { messages_per_connection: PEOPLE, ...limits } }
      expect(await server.call('PATCH', path, { ...REPORTS, body })).toMatchObject({ status: 200 })
      const before = sink.mails.count
      await until('it goes on', () => sink.mails.count > before + 10)
      await lookAtRun(server, campaign, PEOPLE)
    }
    await change({ per_second: 150, connections: 5 })
    await change({ per_second: 40, connections: 2 })
    await until('connections beyond the limit have ended', () => sink.connections.current <= 2)
    await change({ per_second: 10_000, connections: 3 })
    await expectAllSent(campaign)
    expect(sink.connections.most).toBeLessThanOrEqual(5)
  })

  it('waits while the SMTP server takes no mail, then goes on', async () => {
    const { campaign } = await begin({ per_second: 150, connections: 4 })
    isDown = true
    const waiting = await until('it waits', async () => {
      const run = await readRun(server, campaign)
      return run?.state === 'waiting' && run
    })
    const since = expect.any(String) as string
    expect(waiting).toMatchObject({ waiting: { since, reason: 'The SMTP server does not take mail.' } })
    expect(waiting).toMatchObject({ waiting: { reply: expect.stringContaining('Closed for the moment') as string } })
    const taken = sink.mails.count
    expect(await lookAtRun(server, campaign, PEOPLE)).toMatchObject({ state: 'waiting', states: { failed: 0 } })
    expect(sink.mails.count).toBe(taken)
    isDown = false
    await expectAllSent(campaign)
  })
})
