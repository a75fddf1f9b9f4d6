// `sender add|list|check` and the settings that name a sender, as an operator calls them, beside no server, on every store.
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { SenderCheck } from '../../src/core/senders/sender-check.ts'
import type { SenderBody } from '../support/calls/sender-calls.ts'
import { makeDkimKey } from '../support/calls/sender-calls.ts'
import { startMailSink, type MailSink } from '../support/mail-sink/mail-sink.ts'
import { environmentOf, failureOf, runJson, type Environment } from '../support/program.ts'
import { describeEachStore, makeStore, type TestLocation } from '../support/stores.ts'

const PASSWORD = 'open sesame'

describeEachStore('The commands of senders', (kind) => {
  let location: TestLocation
  let environment: Environment
  let sink: MailSink

  beforeAll(async () => {
    location = await makeStore(kind)
    environment = {
      ...environmentOf(location),
      SECRET_KEY: randomBytes(32).toString('base64'),
      SMTP_PASSWORD: PASSWORD,
    }
    sink = await startMailSink({ credentials: { username: 'news', password: PASSWORD } })
    await runJson(['workspace', 'create', 'main'], environment)
  })
  afterAll(async () => {
    await sink.stop()
    await location.remove()
  })

  const add = (...options: string[]) => {
    const server = ['--host', '127.0.0.1', '--port', String(sink.port), '--security', 'none', '--username', 'news']
    const from = ['--name', 'News', '--from-email', 'news@example.com', '--from-name', 'The Shop']
    return runJson(['sender', 'add', 'main', ...from, ...server, ...options], environment)
  }

  it('add a sender with the password of SMTP_PASSWORD, list it and check it', async () => {
    const keyFile = join(location.dataDir, 'dkim.pem')
    writeFileSync(keyFile, makeDkimKey())
    const dkim = ['--dkim-domain', 'example.com', '--dkim-selector', 's1', '--dkim-key', keyFile]
    const added = await add(...dkim, '--per-second', '20')
    const sender = added.body as SenderBody
    expect(added.status).toBe(0)
    expect(sender).toMatchObject({ smtp: { has_password: true }, dkim: { has_private_key: true }, warnings: [] })
    expect(sender.limits).toMatchObject({ per_second: 20, connections: 4 })
    const { warnings: _, ...listed } = sender
    expect((await runJson(['sender', 'list', 'main'], environment)).body).toEqual({ senders: [listed] })
    const checked = await runJson(['sender', 'check', 'main', sender.sender_id], environment)
    const { checks } = checked.body as { checks: SenderCheck[] }
    expect(checks.slice(0, 2).map(({ check, result }) => [check, result])).toEqual([
      ['connection', 'ok'],
      ['authentication', 'ok'],
    ])
    expect(JSON.stringify([added, checked])).not.toContain(PASSWORD)
    const set = await runJson(['workspace', 'set', 'main', `alert_sender_id=${sender.sender_id}`], environment)
    expect(set.body).toMatchObject({ alert_sender_id: sender.sender_id })
  })

  it('name everything wrong with the options at once', async () => {
    const refused = failureOf(await add('--reply-to', 'nobody', '--per-day', '0', '--connections', 'many'))
    expect(refused).toMatchObject({ status: 1, fields: ['--per-day', '--connections', '--reply-to'] })
  })

  it('set keys of feedback without ever showing them', async () => {
    const set = await runJson(
      ['workspace', 'set', 'main', 'feedback.mailgun_key=key-123', 'frequency_caps=1/1d,3/7d'],
      environment,
    )
    expect(set.body).toMatchObject({
      feedback: { mailgun_key: 'set', ses_topic: 'not set' },
      frequency_caps: ['1/1d', '3/7d'],
    })
    expect(JSON.stringify(set)).not.toContain('key-123')
  })

  it('refuse a sender of alerts that the workspace does not have', async () => {
    const assignment = 'alert_sender_id=00000000-0000-7000-8000-000000000000'
    const refused = failureOf(await runJson(['workspace', 'set', 'main', assignment], environment))
    expect(refused).toMatchObject({ status: 1, fields: ['alert_sender_id'] })
  })
})
