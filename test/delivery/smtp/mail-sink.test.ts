// The mail sink: what it records, how addresses make it behave, and its page.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SmtpFailure } from '../../../src/delivery/smtp/smtp-failure.ts'
import { openSmtpSession, type SmtpSession } from '../../../src/delivery/smtp/smtp-session.ts'
import { startMailPage } from '../../support/mail-sink/mail-page.ts'
import { startMailSink, type MailSink, type MailSinkOptions } from '../../support/mail-sink/mail-sink.ts'
import { headerOf, readMail } from '../../support/mail-sink/read-mail.ts'
import { RecordedMails, readRecordedMails } from '../../support/mail-sink/recorded-mails.ts'

const RAW = [
  'From: Anna <a@from.test>',
  'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= =?utf-8?b?IOKCrA==?=',
  'Content-Type: multipart/alternative; boundary="b1"',
  '',
  '--b1',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  'Gr=C3=BC=',
  '=C3=9Fe',
  '--b1',
  'Content-Type: text/html; charset=utf-8',
  'Content-Transfer-Encoding: base64',
  '',
  Buffer.from('<p>Grüße</p><script>alert(1)</script>').toString('base64'),
  '--b1--',
  '',
].join('\r\n')

let sink: MailSink
let session: SmtpSession

async function start(options: MailSinkOptions = {}): Promise<void> {
  sink = await startMailSink(options)
  session = await openSmtpSession({ host: sink.host, port: sink.port, security: 'none', clientName: 'client.test' })
}

beforeEach(() => start())
afterEach(async () => {
  session.destroy()
  await sink.stop()
})

/** The reply, or that of the failure. */
async function sendTo(to: string, from = 'a@from.test'): Promise<string> {
  try {
    const mail = { from, to, raw: Buffer.from(RAW), usesUtf8: false }
    const { stage, code } = await session.send(mail, { beforeEnd: () => Promise.resolve() })
    return `${stage} ${code}`
  } catch (error) {
    if (error instanceof SmtpFailure) return `${error.reply.stage} ${error.reply.code} ${error.reply.enhancedCode}`
    throw error
  }
}

describe('an address makes the sink', () => {
  it.each([
    ['b', 'sent 250', 1],
    ['reject-550-5.1.1', 'rcpt 550 5.1.1', 0],
    ['reject-550+person7', 'rcpt 550 null', 0],
    ['defer-450-4.2.1', 'rcpt 450 4.2.1', 0],
    ['reject-data-554-5.7.1', 'sent 554 5.7.1', 0],
    ['drop-at-rcpt', 'rcpt null null', 0],
    ['drop-at-data', 'data null null', 0],
    ['drop-before-reply', 'sent null null', 0],
    ['drop-after-data', 'sent null null', 1],
    ['slow-20', 'sent 250', 1],
  ])('%s: %s', async (local, reply, recorded) => {
    session.destroy()
    await sink.stop()
    await start({ server: { hidePIPELINING: true } })
    expect(await sendTo(`${local}@to.test`)).toBe(reply)
    expect(sink.mails.count).toBe(recorded)
  })

  it.each([
    ['reject-550-5.7.1', 'mail 550 5.7.1'],
    ['drop-at-mail', 'mail null null'],
  ])('answer MAIL FROM: %s', async (local, reply) => {
    expect(await sendTo('b@to.test', `${local}@from.test`)).toBe(reply)
  })

  it('defer it once', async () => {
    const replies = [await sendTo('defer-once-450-4.2.1@to.test'), await sendTo('defer-once-450-4.2.1@to.test')]
    expect(replies).toEqual(['rcpt 450 4.2.1', 'sent 250'])
  })
})

describe('what a sink records', () => {
  it('is the last messages in memory, with their numbers', () => {
    const mails = new RecordedMails({ keptMax: 3 })
    for (let at = 1; at <= 5; at++) mails.add({ connection: 1, at, from: '', to: [], raw: Buffer.alloc(0) })
    expect(mails.count).toBe(5)
    expect(mails.list().map(({ number }) => number)).toEqual([3, 4, 5])
    expect(mails.find(2)).toBeUndefined()
    expect(mails.find(4)?.at).toBe(4)
  })

  it('can be read by another process from a file, when the sender has the reply', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mail-sink-'))
    const file = join(folder, 'mails')
    session.destroy()
    await sink.stop()
    await start({ file })
    await sendTo('b@to.test')
    expect(readRecordedMails(file)).toEqual(sink.mails.list())
    rmSync(folder, { recursive: true })
  })

  it('counts connections at once', async () => {
    const others = await Promise.all(
      [1, 2].map(() =>
        openSmtpSession({ host: sink.host, port: sink.port, security: 'none', clientName: 'client.test' }),
      ),
    )
    await Promise.all(others.map((each) => each.quit()))
    expect(sink.connections).toMatchObject({ most: 3, total: 3 })
  })
})

describe('the page of a sink', () => {
  it('lists the newest first, and shows a message without running it', async () => {
    await sendTo('first@to.test')
    await sendTo('second@to.test')
    const page = await startMailPage(sink.mails, 0)
    const get = async (path: string) => {
      const response = await fetch(`${page.url}${path}`)
      return {
        status: response.status,
        policy: response.headers.get('content-security-policy'),
        text: await response.text(),
      }
    }
    const list = (await get('/')).text
    expect(list.indexOf('second@to.test')).toBeLessThan(list.indexOf('first@to.test'))
    expect(list).toContain('Grüße €')
    const shown = (await get('/mails/1')).text
    expect(shown).toContain('<iframe sandbox="allow-popups allow-popups-to-escape-sandbox" src="/mails/1/html"')
    expect(shown).not.toContain('<script')
    expect((await get('/mails/1/html')).policy).toMatch(
      /^sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'/,
    )
    expect((await get('/mails/1/raw')).text).toBe(RAW)
    expect((await get('/mails/3')).status).toBe(404)
    await page.stop()
  })

  it.each([
    ['See https://a.test/?b=1&c=2.', 'See <a href="https://a.test/?b=1&amp;c=2" REST>https://a.test/?b=1&amp;c=2</a>.'],
    ['(http://a.test/)<b>', '(<a href="http://a.test/" REST>http://a.test/</a>)&lt;b&gt;'],
    ['http://a.test/"onclick="', '<a href="http://a.test/" REST>http://a.test/</a>&quot;onclick=&quot;'],
    ['javascript:alert(1) data:,a', 'javascript:alert(1) data:,a'],
  ])('shows the text %s with links that open tabs', async (text, html) => {
    const { number } = sink.mails.add({ connection: 1, at: 0, from: '', to: [], raw: Buffer.from(`\r\n\r\n${text}`) })
    const page = await startMailPage(sink.mails, 0)
    const shown = await (await fetch(`${page.url}/mails/${number}`)).text()
    expect(shown).toContain(`<pre>${html.replace('REST', 'target="_blank" rel="noopener"')}</pre>`)
    await page.stop()
  })

  it('decodes the parts of a message', () => {
    const { html, text, attachments } = readMail(Buffer.from(RAW))
    expect(text?.trim()).toBe('Grüße')
    expect(html).toBe('<p>Grüße</p><script>alert(1)</script>')
    expect(attachments).toEqual([])
  })

  it.each([
    ['a space before a soft line break', 'what is =\r\nnew', 'what is new'],
    ['a tab before a soft line break', 'what is\t=\nnew', 'what is\tnew'],
    ['no white space at the end of a line', 'what is \t\r\nnew \t', 'what is\r\nnew'],
    ['no white space behind a soft line break', 'what is = \t\r\nnew', 'what is new'],
    ['encoded white space at the end of a line', 'what is=20\r\nnew=09', 'what is \r\nnew\t'],
  ])('keeps %s of a quoted-printable text', (_what, body, text) => {
    const head = 'Subject: =?utf-8?q?new_?= =?utf-8?q?spring?=\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n'
    const mail = readMail(Buffer.from(head + body))
    expect(mail.text).toBe(text)
    expect(headerOf(mail, 'subject')).toBe('new spring')
  })
})
