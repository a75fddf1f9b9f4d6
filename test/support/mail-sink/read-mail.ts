// Reads a message as far as a person wants to see it: decoded headers, the HTML and the text. For the page of the sink, and for tests
// that look at what was sent; it forgives what mail programs forgive, and is no judge of whether a message is well formed.

export interface ReadMail {
  /** In order, with names as they were sent; values are unfolded and decoded. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly html: string | undefined
  readonly text: string | undefined
  /** File names of the parts that are neither. */
  readonly attachments: readonly string[]
}

/** Multiparts within multiparts. */
const DEPTH_MAX = 10

export function readMail(raw: Buffer): ReadMail {
  const mail = { html: undefined as string | undefined, text: undefined as string | undefined }
  const attachments: string[] = []
  const read = (source: string, depth: number) => {
    const { headers, body } = splitPart(source)
    const type = findHeader(headers, 'content-type') ?? 'text/plain'
    const boundary = parameterOf(type, 'boundary')
    if (/^multipart\//i.test(type) && boundary !== undefined && depth < DEPTH_MAX) {
      for (const part of partsOf(body, boundary)) read(part, depth + 1)
      return
    }
    const disposition = findHeader(headers, 'content-disposition') ?? ''
    const decode = () => decodeBody(body, findHeader(headers, 'content-transfer-encoding')).toString('utf8')
    if (/^attachment/i.test(disposition)) attachments.push(parameterOf(disposition, 'filename') ?? 'unnamed')
    else if (/^text\/html/i.test(type)) mail.html ??= decode()
    else if (/^text\/plain/i.test(type)) mail.text ??= decode()
    else attachments.push(parameterOf(disposition, 'filename') ?? parameterOf(type, 'name') ?? 'unnamed')
  }
  const source = raw.toString('latin1')
  read(source, 0)
  const headers = splitPart(source).headers.map(([name, value]) => [name, decodeWords(value)] as const)
  return { ...mail, headers, attachments }
}

/** The decoded value of a header; undefined if the message has none. */
export function headerOf({ headers }: Pick<ReadMail, 'headers'>, name: string): string | undefined {
  return findHeader(headers, name.toLowerCase())
}

type Headers = ReadMail['headers']

/** Texts hold a byte in each character until they are decoded. */
function splitPart(source: string): { headers: Headers; body: string } {
  const end = /\r?\n\r?\n/.exec(source)
  const head = end ? source.slice(0, end.index) : source
  const lines = head.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)
  const headers = lines.flatMap((line) => {
    const colon = line.indexOf(':')
    return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1).trim()] as const] : []
  })
  return { headers, body: end ? source.slice(end.index + end[0].length) : '' }
}

function findHeader(headers: Headers, lowerCased: string): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === lowerCased)?.[1]
}

function parameterOf(value: string, name: string): string | undefined {
  const match = new RegExp(`;\\s*${name}\\*?\\d?\\*?=(?:"([^"]*)"|([^;\\s]+))`, 'i').exec(value)
  return match?.[1] ?? match?.[2]
}

function partsOf(body: string, boundary: string): string[] {
  const [, ...parts] = `\r\n${body}`.split(`\n--${boundary}`)
  return parts.filter((part) => !part.startsWith('--')).map((part) => part.replace(/^[^\n]*\n/, ''))
}

function decodeBody(body: string, encoding = '7bit'): Buffer {
  if (/^base64$/i.test(encoding)) return Buffer.from(body, 'base64')
  return Buffer.from(/^quoted-printable$/i.test(encoding) ? decodeQuotedPrintable(body) : body, 'latin1')
}

/** White space at the end of a line was added on the way; before the `=` of a soft line break it is part of the text. */
function decodeQuotedPrintable(text: string): string {
  return text
    .replaceAll(/[ \t]+$/gm, '')
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([\dA-F]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

const WORD = /=\?utf-8\?([bq])\?([^?]*)\?=/gi

/** Encoded words (RFC 2047) in UTF-8; white space between two of them is no part of the text. */
function decodeWords(value: string): string {
  const joined = value.replaceAll(/\?=\s+=\?/g, '?==?')
  const bytes = joined.replaceAll(WORD, (_all, encoding: string, text: string) =>
    encoding.toLowerCase() === 'b'
      ? Buffer.from(text, 'base64').toString('latin1')
      : decodeQuotedPrintable(text.replaceAll('_', '=20')),
  )
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
