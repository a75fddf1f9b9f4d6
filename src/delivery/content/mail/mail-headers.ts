// Writes the header lines of a message: addresses, encoded words and folding. No value can begin another line.
import { domainToASCII } from 'node:url'
import { buildHeaderParam } from 'nodemailer/lib/mime-funcs'

const CRLF = '\r\n'
/** RFC 2047 and RFC 5322. */
const LINE_LENGTH_MAX = 76
/** A word that is longer cannot be folded. */
const WORD_LENGTH_MAX = 60
/** Characters that a header line cannot contain; line ends among them. */
const CONTROLS = /[\p{Cc}\u2028\u2029]+/gu
const PLAIN = /^[ -~]*$/
const WORDS = / *[^ ]+/g
/** What a name may consist of without quotes. */
const ATOMS = /^[\w!#$%&'*+\-/=?^`{|}~ ]*$/
/** A local part that needs no quotes, or has them. */
const LOCAL_PART =
  /^(?:[\w!#$%&'*+\-/=?^`{|}~\u0080-\u{10ffff}]+(?:\.[\w!#$%&'*+\-/=?^`{|}~\u0080-\u{10ffff}]+)*|"(?:[^"\\]|\\.)*")$/u
const ASCII = /^\p{ASCII}*$/u
const WORD_BEGIN = '=?utf-8?B?'
const WORD_END = '?='

/** A header with its value as it stands in the message: encoded, perhaps folded. */
export type Header = readonly [name: string, value: string]

/** An address as servers and headers want it. */
export interface WireAddress {
  readonly address: string
  readonly domain: string
  /** Whether only SMTPUTF8 can carry it. */
  readonly usesUtf8: boolean
}

/** The domain becomes its ASCII form; a local part gets quotes where it needs them. */
export function toWireAddress(email: string): WireAddress {
  const trimmed = email.trim()
  const at = trimmed.lastIndexOf('@')
  const domain = toWireDomain(trimmed.slice(at + 1))
  const local = trimmed.slice(0, at)
  const quoted = LOCAL_PART.test(local) ? local : `"${local.replaceAll(/["\\]/g, String.raw`\$&`)}"`
  const address = `${quoted}@${domain}`
  return { address, domain, usesUtf8: !ASCII.test(address) }
}

export function toWireDomain(domain: string): string {
  return domainToASCII(domain) || domain.toLowerCase()
}

/** A text on one line: line breaks and other control characters become spaces. */
export function onOneLine(text: string): string {
  return text.toWellFormed().replaceAll(CONTROLS, ' ').trim()
}

/** The value of a header that is free text. */
export function encodeText(name: string, text: string): string {
  const line = onOneLine(text)
  const column = name.length + ': '.length
  return canStayPlain(line) ? fold(line, column) : encodeWords(line, column)
}

/** A mailbox: a name, and an address as `toWireAddress` makes it. */
export function encodeMailbox(header: string, name: string, address: string): string {
  const line = onOneLine(name)
  if (line === '') return address
  const column = header.length + ': '.length
  const encoded = canStayPlain(line) ? fold(quote(line), column) : encodeWords(line, column)
  const lastLine = encoded.slice(encoded.lastIndexOf('\n') + 1)
  const isLong = column + lastLine.length + address.length > LINE_LENGTH_MAX
  return `${encoded}${isLong ? CRLF : ''} <${address}>`
}

/** `attachment` with a file name in RFC 2231. */
export function encodeDisposition(fileName: string): string {
  const parameters = buildHeaderParam('filename', onOneLine(fileName))
  return ['attachment', ...parameters.map(({ key, value }) => `${key}=${value}`)].join(`;${CRLF} `)
}

/** A value whose first word is too long for the line of its name begins on the next one. */
export function writeHeaders(headers: readonly Header[]): string {
  return headers
    .map(([name, value]) => {
      const [firstLine = ''] = value.split(CRLF)
      const isLong = name.length + ': '.length + firstLine.length > LINE_LENGTH_MAX
      return `${name}:${isLong ? CRLF : ''} ${value}${CRLF}`
    })
    .join('')
}

/** Text that looks like an encoded word is encoded too, so that it arrives as it is. */
function canStayPlain(line: string): boolean {
  return PLAIN.test(line) && !line.includes('=?') && line.split(' ').every((word) => word.length <= WORD_LENGTH_MAX)
}

function quote(name: string): string {
  return ATOMS.test(name) ? name : `"${name.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}

/** Breaks lines before spaces, which stay. `column`: where the value begins. */
function fold(line: string, column: number): string {
  let folded = ''
  let length = column
  for (const [word] of line.matchAll(WORDS)) {
    if (length + word.length > LINE_LENGTH_MAX && folded !== '') {
      folded += CRLF
      length = 0
    }
    folded += word
    length += word.length
  }
  return folded
}

/** Encoded words of whole characters, one a line. */
function encodeWords(line: string, column: number): string {
  const words: string[] = []
  let room = roomFor(column)
  let word: Buffer[] = []
  let bytes = 0
  for (const character of line) {
    const encoded = Buffer.from(character)
    if (bytes + encoded.length > room) {
      words.push(toWord(word))
      room = roomFor(1)
      word = []
      bytes = 0
    }
    word.push(encoded)
    bytes += encoded.length
  }
  words.push(toWord(word))
  return words.join(`${CRLF} `)
}

/** How many bytes an encoded word holds that begins at this column. */
function roomFor(column: number): number {
  const characters = LINE_LENGTH_MAX - 1 - column - WORD_BEGIN.length - WORD_END.length
  return Math.floor(characters / 4) * 3
}

function toWord(bytes: readonly Buffer[]): string {
  return WORD_BEGIN + Buffer.concat(bytes).toString('base64') + WORD_END
}
