// The page of `npm run mail-sink`: the messages that the sink keeps, newest first, and each with headers, HTML, text and source. Plain
// HTML without scripts. The HTML of a message is shown in a frame that can run nothing and belongs to no origin. Links of a message open
// in new tabs.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { headerOf, readMail } from './read-mail.ts'
import type { RecordedMail, RecordedMails } from './recorded-mails.ts'

const HOST = '127.0.0.1'
/** Messages on the list. */
const LISTED_MAX = 200
/** What the frame of a message may do: open links in tabs, which are not sandboxed themselves. */
const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'
/** Leaves out the punctuation after an address, which belongs to the sentence. */
const ADDRESS = /(https?:\/\/[^\s<>"]+(?<![.,;:!?)\]']))/i

interface MailPage {
  readonly url: string
  stop(): Promise<void>
}

/** Port 0 means any free one. */
export async function startMailPage(mails: RecordedMails, port: number): Promise<MailPage> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://page')
    const [, number, part] = /^\/mails\/([1-9]\d{0,9})(?:\/(html|raw))?$/.exec(pathname) ?? []
    const mail = number === undefined ? undefined : mails.find(Number(number))
    if (pathname === '/') answer(response, toList(mails))
    else if (!mail) answer(response, toPage('Not found', '<p>There is no such mail any more.</p>'), 404)
    else if (part === 'raw') answerRaw(response, mail)
    else if (part === 'html') answerFrame(response, mail)
    else answer(response, toMail(mail))
  })
  await once(server.listen(port, HOST), 'listening')
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function toList(mails: RecordedMails): string {
  const rows = mails.list().toReversed().slice(0, LISTED_MAX)
  const summary = `<p>${mails.count} accepted; the last ${rows.length} are listed.</p>`
  if (rows.length === 0) return toPage('Mails', '<p>No mail has arrived. Reload the page after sending one.</p>')
  const head = ['Arrived', 'To', 'From', 'Subject'].map((name) => `<th scope="col">${name}</th>`).join('')
  return toPage(
    'Mails',
    `${summary}<table><thead><tr>${head}</tr></thead><tbody>${rows.map(toRow).join('')}</tbody></table>`,
  )
}

function toRow({ number, at, to, from, raw }: RecordedMail): string {
  const subject = headerOf(readMail(raw), 'subject') || '(no subject)'
  const cells = [new Date(at).toISOString(), to.join(', '), from].map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')
  return `<tr>${cells}<td><a href="/mails/${number}">${escapeHtml(subject)}</a></td></tr>`
}

function toMail(mail: RecordedMail): string {
  const { number, from, to, raw } = mail
  const read = readMail(raw)
  const { headers, html, text, attachments } = read
  const envelope = [
    ['Envelope from', from],
    ['Envelope to', to.join(', ')],
  ] as const
  const rows = [...envelope, ...headers]
    .map(([name, value]) => `<tr><th scope="row">${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`)
    .join('')
  const frame = `<iframe sandbox="${SANDBOX}" src="/mails/${number}/html" title="The HTML of the mail"></iframe>`
  const names = attachments.map((name) => `<li>${escapeHtml(name)}</li>`).join('')
  return toPage(
    headerOf(read, 'subject') || '(no subject)',
    `<p><a href="/">All mails</a> · <a href="/mails/${number}/raw">Source</a></p>
<h2>HTML</h2>${html === undefined ? '<p>None.</p>' : frame}
<h2>Text</h2>${text === undefined ? '<p>None.</p>' : `<pre>${toLinkedText(text)}</pre>`}
<h2>Attachments</h2>${names === '' ? '<p>None.</p>' : `<ul>${names}</ul>`}
<h2>Headers</h2><table><tbody>${rows}</tbody></table>`,
  )
}

/** Text as HTML in which addresses of the web are links. */
function toLinkedText(text: string): string {
  // `split` with a group: every second piece is an address.
  const pieces = text.split(ADDRESS).map(escapeHtml)
  const toLink = (address: string) => `<a href="${address}" target="_blank" rel="noopener">${address}</a>`
  return pieces.map((piece, index) => (index % 2 === 0 ? piece : toLink(piece))).join('')
}

function answer(response: ServerResponse, html: string, status = 200): void {
  const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'"
  respond(response, { status, type: 'text/html; charset=utf-8', policy }, html)
}

function answerRaw(response: ServerResponse, { raw }: RecordedMail): void {
  respond(response, { status: 200, type: 'text/plain; charset=utf-8', policy: "default-src 'none'" }, raw)
}

/** Pictures are loaded, so that a template looks as it does to people; scripts, forms and frames are not run. */
function answerFrame(response: ServerResponse, { raw }: RecordedMail): void {
  const policy = `sandbox ${SANDBOX}; default-src 'none'; img-src * data:; style-src 'unsafe-inline' *; font-src *`
  respond(response, { status: 200, type: 'text/html; charset=utf-8', policy }, openInTabs(readMail(raw).html ?? ''))
}

/** The tag comes after the doctype: Chromium lays out a page that begins with anything else in quirks mode. */
function openInTabs(html: string): string {
  return html.replace(/^(?:\s*<!doctype[^>]*>)?/i, '$&<base target="_blank">')
}

interface Head {
  readonly status: number
  readonly type: string
  readonly policy: string
}

function respond(response: ServerResponse, { status, type, policy }: Head, body: string | Buffer): void {
  response.writeHead(status, {
    'content-type': type,
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    // A tab that a link of a mail opens cannot reach the page, even if the link asks for it by `rel` or a name.
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': 'no-store',
  })
  response.end(body)
}

const STYLE = `body{font:1rem/1.5 system-ui,sans-serif;margin:1rem auto;max-width:70rem;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse;width:100%}th,td{text-align:start;vertical-align:top;padding:.25rem .5rem;border-bottom:1px solid #8888;overflow-wrap:anywhere}
iframe{width:100%;height:40rem;border:1px solid #8888;background:#fff}pre{white-space:pre-wrap;overflow-wrap:anywhere}`

function toPage(title: string, body: string): string {
  const escaped = escapeHtml(title)
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escaped}</title><style>${STYLE}</style></head>
<body><main><h1>${escaped}</h1>${body}</main></body></html>`
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
