// The message as bytes: what a mail program reads is what was written, for any content, and signatures hold.
import { generateKeyPairSync } from 'node:crypto'
import * as fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import PostalMime from 'postal-mime'
import { describe, expect, it } from 'vitest'
import { DkimSigner } from '../../../src/delivery/content/mail/dkim.ts'
import { OpenedLetter } from '../../../src/delivery/content/opened-letter.ts'
import type { Letter, RenderJob } from '../../../src/delivery/content/render-job.ts'
import { renderMessage, renderParts } from '../../../src/delivery/content/render-message.ts'
import { jobOf, letterOf, SENDER } from '../../support/delivery/letters.ts'

function rawOf(letter: Letter, changes: Partial<RenderJob> = {}): Uint8Array {
  const result = renderMessage(new OpenedLetter(letter), jobOf(letter, changes))
  if (!result.isOk) throw new Error(result.problem)
  return result.raw
}

function linesOf(raw: Uint8Array): string[] {
  return Buffer.from(raw).toString().split('\r\n')
}

/** Text with what breaks mail programs: line ends, dots, long lines, spaces, encoded words, other alphabets. */
const difficult = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom(
        '\r\n',
        '\n',
        '\r',
        '.',
        '\n.\n',
        'From ',
        ' ',
        '\t',
        '=',
        '=?utf-8?Q?x?=',
        '👩‍👩‍👧',
        'é',
        '漢字',
        '"',
        '\\',
        ',',
      ),
      fc.constantFrom('x'.repeat(200), 'word '.repeat(40), 'ü'.repeat(90)),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''))

const lineEnds = (text: string) => text.replaceAll(/\r\n|\r/g, '\n')
const oneLine = (text: string) =>
  text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()

describe('a message', () => {
  it('reads as it was written, in lines of at most 76 ASCII characters', async () => {
    await fc.assert(
      fc.asyncProperty(difficult, difficult, difficult, async (body, subject, name) => {
        const letter = letterOf('<p>{{ body | raw }}</p>', {
          text: { subject: 'S {{ subject }}', senderName: 'N {{ name }}' },
        })
        const attributes = { body: `x${body}`, subject: `x${subject}`, name: `x${name}` }
        const raw = rawOf(letter, { attributes })
        const parsed = await PostalMime.parse(raw)
        const parts = renderParts(new OpenedLetter(letter), jobOf(letter, { attributes }))
        if (!parts.isOk) throw new Error(parts.problem)
        expect(parsed.subject).toBe(oneLine(`S x${subject}`))
        expect(parsed.from).toMatchObject({ address: 'news@shop.example', name: oneLine(`N x${name}`) })
        expect(lineEnds(parsed.html ?? '').trimEnd()).toBe(lineEnds(parts.html.toWellFormed()).trimEnd())
        expect(lineEnds(parsed.text ?? '').trimEnd()).toBe(lineEnds(parts.text.toWellFormed()).trimEnd())
        expect(parsed.headers.map(({ key }) => key)).toEqual(
          parts.headers.map(([key]) => key.toLowerCase()).concat('mime-version', 'content-type'),
        )
        expect(linesOf(raw).filter((line) => line.length > 76 || !/^[\t -~]*$/.test(line))).toEqual([])
      }),
      { numRuns: 150 },
    )
  })

  it('has the headers of an automatic message of a list', async () => {
    const raw = rawOf(letterOf('x', { sender: { ...SENDER, replyTo: 'help@shop.example' } }))
    const { headers } = await PostalMime.parse(raw)
    const values = Object.fromEntries(headers.map(({ key, value }) => [key, value]))
    expect(values).toMatchObject({
      to: 'ana@people.example',
      'reply-to': 'help@shop.example',
      date: 'Sun, 01 Mar 2026 12:00:00 +0000',
      'list-id': '<shop.shop.example>',
      'feedback-id': 'spring:shop:email:tidings',
      'auto-submitted': 'auto-generated',
      'x-auto-response-suppress': 'OOF, AutoReply',
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
    })
    expect(values['message-id']).toMatch(/^<[\w-]+@shop\.example>$/)
    expect(values['list-unsubscribe']).toMatch(/^<https:\/\/mail\.shop\.example\/u\/[\w-]+>$/)
  })

  it('names its token to Postmark, and to no other service', async () => {
    const headerThrough = async (smtpHost: string) => {
      const { headers } = await PostalMime.parse(rawOf(letterOf('x', { sender: { ...SENDER, smtpHost } })))
      const valueOf = (name: string) => headers.find(({ key }) => key === name)?.value
      return { metadata: valueOf('x-pm-metadata-tidings'), id: valueOf('message-id') }
    }
    const { metadata, id } = await headerThrough('smtp.postmarkapp.com')
    expect(id).toBe(`<${metadata}@shop.example>`)
    expect((await headerThrough('smtp.shop.example')).metadata).toBeUndefined()
  })

  it.each([
    ['a subject', { subject: 'x\r\nBcc: thief@evil.example\r\n\r\nbody' }],
    ['a sender name', { senderName: 'x\r\nBcc: thief@evil.example' }],
  ])('gets no header from %s', async (_case, text) => {
    const { headers } = await PostalMime.parse(rawOf(letterOf('x', { text })))
    expect(headers.map(({ key }) => key)).not.toContain('bcc')
  })

  it('carries attachments with names of any alphabet and length', async () => {
    const attachments = ['plan.pdf', 'Übersicht "neu".pdf', `${'長'.repeat(80)}.txt`].map((name, index) => ({
      name,
      type: 'application/pdf',
      content: Uint8Array.from({ length: 5_000 }, (_, at) => (at * 7 + index) % 256),
    }))
    const raw = rawOf(letterOf('<p>Hello</p>', { attachments }))
    const parsed = await PostalMime.parse(raw)
    expect(
      parsed.attachments.map(({ filename, mimeType, content }) => [
        filename,
        mimeType,
        Buffer.from(content as ArrayBuffer),
      ]),
    ).toEqual(attachments.map(({ name, type, content }) => [name, type, Buffer.from(content)]))
    expect(parsed.text).toContain('Hello')
    expect(linesOf(raw).filter((line) => line.length > 76)).toEqual([])
  })

  it('is text that a person can read', async () => {
    const html = `<html><head><title>T</title><style>p{}</style></head><body><div style="display:none">preview</div>
      <h1>Hello   you</h1><p>One<br>two <a href="https://a.example/x">words</a>.</p>
      <ul><li>first</li><li>second</li></ul><img alt="A picture" src="x"><pre> a\n  b</pre>&lt;end&gt;</body></html>`
    const letter = letterOf(html, { isTransactional: true, tracking: { opens: false, clicks: false } })
    const { text } = await PostalMime.parse(rawOf(letter))
    expect(lineEnds(text ?? '').trimEnd()).toBe(
      'Hello you\n\nOne\ntwo words <https://a.example/x>.\n\n- first\n- second\n\nA picture\n\n a\n  b\n\n<end>',
    )
  })
})

describe('DKIM', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const ed25519 = generateKeyPairSync('ed25519')
  const keys = [
    ['RSA', 'rsa', rsa.privateKey, rsa.publicKey.export({ type: 'spki', format: 'der' })],
    // RFC 8463: the bare 32 bytes.
    ['Ed25519', 'ed25519', ed25519.privateKey, ed25519.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32)],
  ] as const

  async function verify(raw: Uint8Array, record: string, at = 's1._domainkey.shop.example') {
    const { results } = await dkimVerify(Buffer.from(raw), {
      resolver: (name: string) =>
        name === at ? Promise.resolve([[record]]) : Promise.reject(new Error(`unexpected name ${name}`)),
    })
    return results[0]
  }

  it.each(keys)('signs with %s what others verify, and a change shows', async (_name, type, privateKey, publicKey) => {
    const key = {
      domain: 'shop.example',
      selector: 's1',
      privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    }
    const record = `v=DKIM1; k=${type}; p=${publicKey.toString('base64')}`
    const letter = letterOf('<p>{{ a | raw }}</p>\n\n\n', {
      sender: { ...SENDER, dkim: key },
      text: { subject: 'Ünusual  {{ a }}' },
    })
    const raw = rawOf(letter, { attributes: { a: 'x \t y  \r\n\r\n . ' } })
    const result = await verify(raw, record)
    expect(result?.status.result).toBe('pass')
    expect(result?.signingHeaders?.keys.toLowerCase()).toMatch(/list-unsubscribe.*list-unsubscribe-post/s)
    const changed = Buffer.from(raw).toString('latin1').replace('One-Click', 'Two-Click')
    expect((await verify(Buffer.from(changed, 'latin1'), record))?.status.result).toBe('fail')
  })

  const label = 'a'.repeat(60)
  it.each<[string, domain: string, selector: string, longest: number]>([
    ['of 30 characters', 'news.shop.example', 'tidings-2026a', 76],
    ['of 31 characters', 'news.shop.example', 'tidings-2026ab', 76],
    ['that fill a line each', `${'d'.repeat(60)}.example`, `${'s'.repeat(60)}.tidings`, 76],
    ['as long as names may be', `${label}.${label}.${label}.example`, `${label}.s`, 998],
  ])('folds its lines for a domain and selector %s', async (_what, domain, selector, longest) => {
    for (const [, type, privateKey, publicKey] of keys) {
      const dkim = { domain, selector, privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) }
      const raw = rawOf(letterOf('<p>x</p>', { sender: { ...SENDER, dkim } }))
      const lengths = linesOf(raw).map((line) => line.length)
      expect(Math.max(...lengths)).toBeLessThanOrEqual(longest)
      expect(lengths.filter((length) => length > 76).length).toBeLessThanOrEqual(1)
      const record = `v=DKIM1; k=${type}; p=${publicKey.toString('base64')}`
      expect((await verify(raw, record, `${selector}._domainkey.${domain}`))?.status.result).toBe('pass')
    }
  })

  it('refuses a key of another type', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
    expect(() => new DkimSigner({ domain: 'a.example', selector: 's', privateKey: pem })).toThrow('not RSA or Ed25519')
  })
})
