// A campaign of a workspace that encrypts emails: no address is stored in plain text, also where a server quotes it or a link holds it.
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addPeople } from '../../support/delivery/mailing.ts'
import { sendMailing, type MailingWorkspace } from '../../support/delivery/mailing-server.ts'
import { startMailSink, type MailSink } from '../../support/mail-sink/mail-sink.ts'
import { readMail } from '../../support/mail-sink/read-mail.ts'
import { LIMITS_OF_TESTS, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const BASE = 'http://127.0.0.1:8080'
const [TAKEN, REFUSED] = ['taken@secret.example', 'refused@secret.example']
const REPORTS = { tile: 'reports' } as const

describeEachStore('a campaign to encrypted addresses', (kind) => {
  let server: TestServer
  let sink: MailSink

  beforeAll(async () => {
    const unknown = { reply: `550 5.1.1 <${REFUSED}>: unknown here` }
    sink = await startMailSink({ rule: ({ stage, to }) => (stage === 'rcpt' && to === REFUSED ? unknown : undefined) })
    const PII_KEY = randomBytes(32).toString('base64')
    server = await startServer(kind, { PUBLIC_URL: BASE, PII_KEY, SECRET_KEY: randomBytes(32).toString('base64') })
  })
  afterAll(async () => {
    await server.stop()
    await sink.stop()
  })

  it('leaves none in plain text, and shows those that it needs', async () => {
    const workspace = await server.makeWorkspace({ emailProtection: 'encrypted', limits: LIMITS_OF_TESTS })
    const own: MailingWorkspace = {
      server,
      workspace,
      call: (method, path, options) => server.call(method, path, { as: workspace, ...options }),
      change: async () => {},
    }
    await addPeople(own, [
      { customer_id: 'taken', email: TAKEN },
      { customer_id: 'refused', email: REFUSED },
    ])
    const template = { email_content: '<a href="https://shop.example/?e={{ email }}">Yours</a>' }
    const { messages } = await sendMailing(own, sink, { template })
    expect(messages.get('refused')).toMatchObject({ state: 'failed', reason: 'hard_bounce' })
    expect(messages.get('refused')?.attempts).toMatchObject([{ code: 550, text: '<…>: unknown here' }])
    const shown = await own.call<{ data: unknown[] }>('GET', '/core-services/v1/suppressions', REPORTS)
    const evidence = '5.1.1 (Bad destination mailbox address): 550 5.1.1 <…>: unknown here'
    expect(shown.body.data).toMatchObject([{ email: REFUSED, reason: 'hard_bounce', evidence }])
    const [path] = /\/c\/[\w-]+/.exec(readMail(sink.mails.list()[0]?.raw as Buffer).html ?? '') ?? []
    const clicked = await fetch(server.url + path, { redirect: 'manual' })
    expect(clicked.headers.get('location')).toBe(`https://shop.example/?e=${TAKEN}`)
    const rows = await server.database.query.selectFrom('messages').select('targets').execute()
    expect(rows.filter(({ targets }) => targets !== null)).toHaveLength(2)
    expect(JSON.stringify(rows)).not.toContain('secret.example')
    const stored = readdirSync(server.dataDir).filter((name) => /\.db/.test(name))
    const found = stored.filter((name) => readFileSync(join(server.dataDir, name)).includes('@secret.example'))
    expect(found).toEqual([])
  })
})
