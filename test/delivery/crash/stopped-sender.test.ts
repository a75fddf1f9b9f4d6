// Stops a server in order while it sends a campaign: messages on connections end, nothing is in doubt, and the next start goes on.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectAccounted, expectCounted, lookAtRun, numberedPeople } from '../../support/delivery/mailing-accounts.ts'
import { makeMailingProcesses, type MailingProcesses } from '../../support/delivery/mailing-processes.ts'
import { addMailing, addPeople, changeMailing, untilFinished } from '../../support/delivery/mailing.ts'
import { startMailSink, type MailSink } from '../../support/mail-sink/mail-sink.ts'
import type { SinkRule } from '../../support/mail-sink/sink-rules.ts'
import { until } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const PEOPLE = 60
const CONNECTIONS = 3
/** Longer than everything else may take that a stop waits for (8 s, and 3 s for a balancer). */
const REPLY_MS = 14_000

describeEachStore('a server that is stopped while it sends', (kind) => {
  let processes: MailingProcesses
  let sink: MailSink
  let isSlow = false
  /** Messages that the sink has and has not answered. */
  let open = 0

  beforeAll(async () => {
    const rule: SinkRule = ({ stage }) => {
      if (stage === 'message') open++
      if (stage === 'recorded') open--
      return stage === 'message' && isSlow ? { afterMs: REPLY_MS } : undefined
    }
    sink = await startMailSink({ rule })
    processes = await makeMailingProcesses(kind)
  })
  afterAll(async () => {
    await processes.remove()
    await sink.stop()
  })

  it('waits for replies that take long, leaves nothing in doubt, and goes on at the next start', async () => {
    const first = await processes.start()
    await addPeople(processes, numberedPeople(PEOPLE))
    const limits = { per_second: 1_000, connections: CONNECTIONS }
    const campaign = await addMailing(processes, sink, { sender: { limits } })
    isSlow = true
    await changeMailing(processes, campaign, 'start')
    await until('a message is on every connection', () => open === CONNECTIONS)
    const stopped = first.stop('SIGTERM')
    expect(await stopped).toMatchObject({ status: 0 })
    expect({ open, taken: sink.mails.count }).toEqual({ open: 0, taken: CONNECTIONS })
    isSlow = false
    await processes.start()
    // No lease has to run out first, and the pipeline may be behind for a moment.
    await untilFinished(processes, campaign)
    expect(await lookAtRun(processes, campaign, PEOPLE)).toMatchObject({ states: { sent: PEOPLE, in_doubt: 0 } })
    await expectAccounted(processes, campaign, { sink, people: PEOPLE })
    await expectCounted(processes, campaign, { attempted: PEOPLE, sent: PEOPLE, failed: 0 })
  })
})
