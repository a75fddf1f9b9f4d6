// Recognises the head of a plain request: of HTTP/1.1, to one of a few paths, with each header once and a JSON body of a known
// length. It need not understand anything else, for whatever it does not recognise is left to Node's own parser from the first
// byte on. So it takes less than that parser does, never more: a request is read here as anybody else would read it, too.
import type { Attempt } from '../authentication.ts'

/** An address of an operation whose plain requests take the short way. */
export interface PlainPath<Target> {
  readonly method: string
  /** In Fastify's notation: `/v1/event/:Workspace_ID`. */
  readonly path: string
  /** The most bytes that a body may have. */
  readonly bodyBytesMax: number
  readonly target: Target
}

/** All of a head but the length of the body. */
export interface PlainHead<Target> {
  readonly target: Target
  readonly method: string
  readonly url: string
  readonly params: Readonly<Record<string, string>>
  /** By names in small letters, without `content-length`. */
  readonly headers: Readonly<Record<string, string>>
  readonly bodyBytesMax: number
  /** Its bytes before and behind the length of the body; the latter with the empty line that ends it. */
  readonly before: Buffer
  readonly behind: Buffer
  /** What the headers say, once it has been read out of them. */
  readonly known: { attempt?: Attempt | undefined }
}

/** The beginning of a request: its head, where its body begins, and where that ends. */
export interface PlainStart<Target> {
  readonly head: PlainHead<Target>
  readonly bodyStart: number
  readonly end: number
}

/** Most have some three hundred bytes, and ten headers. Node takes more of both. */
const HEAD_BYTES_MAX = 4 * 1024
const HEADERS_MAX = 50
const HEAD_END = Buffer.from('\r\n\r\n')
/** Without escapes and empty parts, about which routers differ. Parts that name something are as short as Fastify's. */
const SIMPLE_URL = /^(?:\/[\w.~-]{1,1024})+$/
const REQUEST_LINE = /^([A-Z]+) ([!-~]+) HTTP\/1\.1$/
/** A name as RFC 9110 has it; the value in visible ASCII, spaces and tabs. */
const HEADER_LINE = /^([!#$%&'*+.^_`|~\w-]+):([\t\x20-\x7e]*)$/
const JSON_TYPE = /^application\/json(?: ?; ?charset=utf-8)?$/i
const LENGTH_DIGITS_MAX = 7
const LENGTH = /^\d{1,7}$/
const LENGTH_LINE = /^content-length:[\t ]*\d{1,7}[\t ]*$/im
/** Headers that change how a request is read, or what becomes of its connection. */
const SPECIAL = ['transfer-encoding', 'content-encoding', 'expect', 'upgrade', 'proxy-connection'] as const

/** Compiles the paths once. */
export class PlainHeads<Target> {
  readonly #paths: readonly CompiledPath<Target>[]

  constructor(paths: readonly PlainPath<Target>[]) {
    this.#paths = paths.map(compile)
  }

  /**
   * The request that `bytes` begin with; undefined where its head is not whole, or not plain. Clients send the same head again and
   * again, but for the length of the body: one that is like `last` is not read anew.
   */
  read(bytes: Buffer, last?: PlainHead<Target>): PlainStart<Target> | undefined {
    return (last && startLike(last, bytes)) ?? this.#readStart(bytes)
  }

  #readStart(bytes: Buffer): PlainStart<Target> | undefined {
    const headEnd = bytes.indexOf(HEAD_END)
    if (headEnd < 0 || headEnd > HEAD_BYTES_MAX) return undefined
    const head = this.#readHead(bytes.toString('latin1', 0, headEnd))
    return head && startLike(head, bytes)
  }

  #readHead(text: string): PlainHead<Target> | undefined {
    const lines = text.split('\r\n', HEADERS_MAX + 2)
    if (lines.length > HEADERS_MAX + 1) return undefined
    const [, method = '', url = ''] = REQUEST_LINE.exec(lines[0] as string) ?? []
    const found = SIMPLE_URL.test(url) ? this.#find(method, url) : undefined
    const all = found && readHeaders(lines)
    const line = all && isPlain(all) && LENGTH_LINE.exec(text)
    if (!line) return undefined
    const { 'content-length': digits = '', ...headers } = all
    const lengthAt = line.index + line[0].indexOf(digits)
    const before = Buffer.from(text.slice(0, lengthAt), 'latin1')
    const behind = Buffer.concat([Buffer.from(text.slice(lengthAt + digits.length), 'latin1'), HEAD_END])
    const { path, params } = found
    const { target, bodyBytesMax } = path
    return { target, method, url, params, headers, bodyBytesMax, before, behind, known: {} }
  }

  #find(method: string, url: string) {
    const parts = url.split('/')
    for (const path of this.#paths) {
      const params = path.method === method ? match(path.parts, parts) : undefined
      if (params) return { path, params }
    }
    return undefined
  }
}

/** The request that `bytes` begin with, if its head is the given one in all but the length of the body. */
function startLike<Target>(head: PlainHead<Target>, bytes: Buffer): PlainStart<Target> | undefined {
  const { before, behind, bodyBytesMax } = head
  if (!isAt(bytes, 0, before)) return undefined
  let length = 0
  let place = before.length
  for (; isDigit(bytes[place]); place++) length = length * 10 + (bytes[place] as number) - DIGIT_0
  const digits = place - before.length
  if (digits === 0 || digits > LENGTH_DIGITS_MAX || length > bodyBytesMax) return undefined
  if (!isAt(bytes, place, behind)) return undefined
  const bodyStart = place + behind.length
  return { head, bodyStart, end: bodyStart + length }
}

const DIGIT_0 = 0x30
const DIGIT_9 = 0x39

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= DIGIT_0 && byte <= DIGIT_9
}

/** Compares bytes, because V8 compares the texts one character after the other. */
function isAt(bytes: Buffer, place: number, part: Buffer): boolean {
  const end = place + part.length
  return end <= bytes.length && bytes.compare(part, 0, part.length, place, end) === 0
}

interface CompiledPath<Target> extends PlainPath<Target> {
  readonly parts: readonly string[]
}

function compile<Target>(path: PlainPath<Target>): CompiledPath<Target> {
  return { ...path, parts: path.path.split('/') }
}

/** The named parts of a path, if it is the wanted one. */
function match(wanted: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
  if (wanted.length !== parts.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    const name = wanted[index] as string
    if (name.startsWith(':')) params[name.slice(1)] = part
    else if (name !== part) return undefined
  }
  return params
}

/** All headers; undefined where one is given twice, or is not as it should be. */
function readHeaders(lines: readonly string[]): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (let index = 1; index < lines.length; index++) {
    const line = HEADER_LINE.exec(lines[index] as string)
    if (!line) return undefined
    const name = (line[1] as string).toLowerCase()
    // Also true for what every object has, such as `constructor`: nobody sends that.
    if (name in headers) return undefined
    headers[name] = (line[2] as string).trim()
  }
  return headers
}

function isPlain(headers: Readonly<Record<string, string>>): boolean {
  const { connection = 'keep-alive', host, 'content-type': type = '', 'content-length': length = '' } = headers
  if (host === undefined || !JSON_TYPE.test(type) || !LENGTH.test(length)) return false
  return connection.toLowerCase() === 'keep-alive' && !SPECIAL.some((name) => name in headers)
}
