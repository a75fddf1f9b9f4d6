// Several processes that send over one PostgreSQL: one at a time sends for a sender, and another goes on when it dies or is stopped for
// longer than its lease. Nobody is sent to twice, and nobody is left out.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { SENDER_LEASE_MS } from '../../../src/delivery/sender-lease.ts'
import { expectAccounted, expectVerified, lookAtRun, numberedPeople } from '../../support/delivery/mailing-accounts.ts'
import { makeMailingProcesses, type MailingProcesses } from '../../support/delivery/mailing-processes.ts'
import { addMailing, addPeople, addSender, changeMailing, untilFinished } from '../../support/delivery/mailing.ts'
import { startMailSink, type MailSink } from '../../support/mail-sink/mail-sink.ts'
import type { SinkRule } from '../../support/mail-sink/sink-rules.ts'
import type { ServingProgram } from '../../support/program.ts'
import { until } from '../../support/server.ts'
import { describeOnPostgres } from '../../support/stores.ts'

const PEOPLE = 400
const CONNECTIONS = 3
const LIMITS = { per_second: 60, connections: CONNECTIONS }

describeOnPostgres('several processes that send', () => {
  let processes: MailingProcesses
  let sink: MailSink
  /** Messages that the sink has and has not answered. */
  let open = 0
  let isSlow = false

  beforeAll(async () => {
    const rule: SinkRule = ({ stage }) => {
      if (stage === 'message') open++
      if (stage === 'recorded') open--
      return stage === 'message' && isSlow ? { afterMs: 1_000 } : undefined
    }
    sink = await startMailSink({ rule, keptMax: 2 * PEOPLE })
    processes = await makeMailingProcesses('postgres')
    await processes.start('http', 'pipeline')
    await addPeople(processes, numberedPeople(PEOPLE))
  })
  beforeEach(() => sink.mails.clear())
  afterAll(async () => {
    await processes.remove()
    await sink.stop()
  })

  async function begin(campaigns = 1): Promise<string[]> {
    const sender = await addSender(processes, sink, { limits: LIMITS })
    const made: string[] = []
    for (let index = 0; index < campaigns; index++) {
      made.push(await addMailing(processes, sink, { delivery: { sender_id: sender } }))
    }
    for (const campaign of made) await changeMailing(processes, campaign, 'start')
    return made
  }

  async function countDoubtful(campaign: string): Promise<number> {
    return (await lookAtRun(processes, campaign, PEOPLE)).states['in_doubt'] ?? 0
  }

  /** The processes, that first which sends for the only sender. */
  async function startTwo(): Promise<readonly [ServingProgram, ServingProgram]> {
    const sending = await processes.start('delivery')
    await until('it sends', () => sink.mails.count > 0)
    return [sending, await processes.start('delivery')]
  }

  it('go on when one is killed', async () => {
    const [campaign = ''] = await begin()
    const [sending, other] = await startTwo()
    await sending.stop('SIGKILL')
    const atDeath = sink.mails.count
    expect(atDeath).toBeLessThan(PEOPLE)
    await untilFinished(processes, campaign)
    const { inDoubt } = await expectAccounted(processes, campaign, { sink, people: PEOPLE })
    expect(inDoubt).toBeLessThanOrEqual(CONNECTIONS)
    expect(await other.stop('SIGTERM')).toMatchObject({ status: 0 })
  })

  it('go on at once when one is stopped in order', async () => {
    const [campaign = ''] = await begin()
    const [sending, other] = await startTwo()
    expect(await sending.stop('SIGTERM')).toMatchObject({ status: 0 })
    const atEnd = sink.mails.count
    const endedAt = performance.now()
    await until('the other sends', () => sink.mails.count > atEnd)
    expect(performance.now() - endedAt).toBeLessThan(SENDER_LEASE_MS / 2)
    await untilFinished(processes, campaign)
    expect(await expectAccounted(processes, campaign, { sink, people: PEOPLE })).toMatchObject({ inDoubt: 0 })
    await other.stop('SIGTERM')
  })

  it('send to nobody twice when one wakes up after its lease has ended', async () => {
    const [campaign = ''] = await begin()
    const [sending, other] = await startTwo()
    isSlow = true
    await until('a message is on every connection', () => open === CONNECTIONS)
    sending.child.kill('SIGSTOP')
    isSlow = false
    await until('the other has taken over', async () => (await countDoubtful(campaign)) > 0)
    const atTakeover = sink.mails.count
    await until('the other sends', () => sink.mails.count > atTakeover)
    sending.child.kill('SIGCONT')
    await untilFinished(processes, campaign)
    // The replies that the stopped process had not read end the doubt.
    await until('nobody is in doubt', async () => (await countDoubtful(campaign)) === 0)
    expect(await expectAccounted(processes, campaign, { sink, people: PEOPLE })).toMatchObject({ sent: PEOPLE })
    await Promise.all([sending.stop('SIGTERM'), other.stop('SIGTERM')])
    await expectVerified(processes.environment)
  })

  it('share the senders among four', async () => {
    const senders = [await begin(), await begin(), await begin(), await begin()].flat()
    const four = await Promise.all([0, 1, 2, 3].map(() => processes.start('delivery')))
    for (const campaign of senders) await untilFinished(processes, campaign)
    for (const campaign of senders) {
      expect(await lookAtRun(processes, campaign, PEOPLE)).toMatchObject({ states: { sent: PEOPLE, in_doubt: 0 } })
    }
    expect(sink.mails.count).toBe(senders.length * PEOPLE)
    for (const one of four) expect(await one.stop('SIGTERM')).toMatchObject({ status: 0 })
  })
})
