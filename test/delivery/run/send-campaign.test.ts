// A campaign from its start to its numbers: over HTTP, with the delivery thread, to a real SMTP server.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startMailSink, type MailSink } from '../../support/mail-sink/mail-sink.ts'
import { addMailing, addPeople, changeMailing, readMessages, untilFinished } from '../../support/delivery/mailing.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

describeEachStore('a campaign that Tidings sends', (kind) => {
  let server: TestServer
  let sink: MailSink

  beforeAll(async () => {
    sink = await startMailSink()
    const environment = { PUBLIC_URL: 'http://127.0.0.1:8080', SECRET_KEY: Buffer.alloc(32, 7).toString('base64') }
    server = await startServer(kind, environment)
  })
  afterAll(async () => {
    await server.stop()
    await sink.stop()
  })

  it('is sent to everybody once, and everybody is accounted for', async () => {
    const people = Array.from({ length: 50 }, (_, index) => ({
      customer_id: `customer-${index}`,
      email: `person${index}@example.com`,
      first_name: `Person ${index}`,
    }))
    await addPeople(server, [
      ...people,
      { customer_id: 'out', email: 'out@example.com', opt_in_status: 'OPTED_OUT' },
      { customer_id: 'gone', email: 'reject-550-5.1.1@example.com' },
      { customer_id: 'customer-05', email: 'PERSON5@example.com' },
    ])
    const campaign = await addMailing(server, sink)
    await changeMailing(server, campaign, 'start')
    const run = await untilFinished(server, campaign)
    expect(run).toMatchObject({ audience: 53, without_address: 0, states: { sent: 50, removed: 2, failed: 1 } })
    const recipients = sink.mails.list().flatMap(({ to }) => to)
    expect(recipients.toSorted()).toEqual(
      people.map(({ email }) => (email === 'person5@example.com' ? 'PERSON5@example.com' : email)).toSorted(),
    )
    const messages = await readMessages(server, campaign)
    expect(
      Object.fromEntries(messages.flatMap(({ customer_id, reason }) => (reason ? [[customer_id, reason]] : []))),
    ).toEqual({
      out: 'user_removed_due_to_opt_out',
      gone: 'hard_bounce',
      'customer-5': 'user_removed_due_to_duplicate',
    })
  })
})
