// A template that loops costs its own message, and nothing of the server: the program ends its thread and goes on.
import { expect, it } from 'vitest'
import { environmentOf, startServing } from '../support/program.ts'
import { addMailing, addPeople } from '../support/delivery/mailing.ts'
import { startMailSink } from '../support/mail-sink/mail-sink.ts'
import { callsTo } from '../support/server.ts'
import { makeLocation } from '../support/stores.ts'

/** Sorts a long list again and again within one output, where Liquid's own time limit does not look. */
const SLOW = `{% assign a = "${'x,'.repeat(2_000)}" | split: "," %}{{ a ${'| concat: a '.repeat(7)}${'| sort | reverse '.repeat(20_000)}| size }}`

it('a template that loops does not end the server', { timeout: 120_000 }, async () => {
  const location = await makeLocation('sqlite')
  const sink = await startMailSink()
  const running = await startServing({ ...environmentOf(location), PUBLIC_URL: 'http://127.0.0.1:8080' })
  const { url, first_workspace: made } = running.started
  if (!made) throw new Error('the program made no workspace')
  const id = made.workspace_id
  const workspace = { id, dataKey: made.data_key, reportsKey: made.reports_key }
  const call = callsTo(() => url, workspace)
  const server = { call, workspace }
  await addPeople(server, [{ customer_id: 'ada', email: 'ada@example.com' }])
  const campaign = await addMailing(server, sink, { template: { email_content: SLOW } })
  const preview = () =>
    call<object>('POST', `/core-services/v1/campaigns/${campaign}/preview`, {
      tile: 'reports',
      body: { customer_id: 'ada' },
    })
  for (let time = 0; time < 2; time++) {
    expect(await preview()).toMatchObject({
      status: 200,
      body: { would_send: false, problem: 'Rendering the message took longer than 1 second.' },
    })
  }
  expect((await running.stop()).status).toBe(0)
  await sink.stop()
  await location.remove()
})
