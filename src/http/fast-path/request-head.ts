// Recognises the head of a simple request: HTTP/1.1, one of a few paths, each header once, a JSON body of a known length. Anything
// else is left to Node's parser from its first byte on. So it accepts less than that parser, and must never read a request
// differently.
import type { Attempt } from '../authentication.ts'

/** A path of an operation that has a fast path. */
export interface FastRoute<Target> {
  readonly method: string
  /** In Fastify's notation: `/v1/event/:Workspace_ID`. */
  readonly path: string
  readonly bodyBytesMax: number
  readonly target: Target
}

/** A head, except for the length of the body. */
export interface RequestHead<Target> {
  readonly target: Target
  readonly method: string
  readonly url: string
  readonly params: Readonly<Record<string, string>>
  /** By lower-case name, without `content-length`. */
  readonly headers: Readonly<Record<string, string>>
  readonly bodyBytesMax: number
  /** Its bytes before and behind the length of the body, with the empty line at the end. */
  readonly before: Buffer
  readonly behind: Buffer
  /** Parsed once for all requests with this head. */
  readonly cached: { attempt?: Attempt | undefined }
}

/** The beginning of a request: its head, where its body begins, and where that ends. */
export interface RequestStart<Target> {
  readonly head: RequestHead<Target>
  readonly bodyStart: number
  readonly end: number
}

/** Usual are 300 bytes and ten headers. Node accepts more of both. */
const HEAD_BYTES_MAX = 4 * 1024
const HEADERS_MAX = 50
const HEAD_END = Buffer.from('\r\n\r\n')
/** Without escapes and empty parts, which routers treat differently. Parts are as short as Fastify's parameters. */
const SIMPLE_URL = /^(?:\/[\w.~-]{1,1024})+$/
const REQUEST_LINE = /^([A-Z]+) ([!-~]+) HTTP\/1\.1$/
/** A name as in RFC 9110; a value of visible ASCII, spaces and tabs. */
const HEADER_LINE = /^([!#$%&'*+.^_`|~\w-]+):([\t\x20-\x7e]*)$/
const JSON_TYPE = /^application\/json(?: ?; ?charset=utf-8)?$/i
const LENGTH_DIGITS_MAX = 7
const LENGTH = /^\d{1,7}$/
const LENGTH_LINE = /^content-length:[\t ]*\d{1,7}[\t ]*$/im
/** Headers that change how a request is read, or what happens to its connection; and cookies, which may be those of a session. */
const SPECIAL = ['transfer-encoding', 'content-encoding', 'expect', 'upgrade', 'proxy-connection', 'cookie'] as const

/** Splits the paths once. */
export class RequestHeads<Target> {
  readonly #routes: readonly CompiledRoute<Target>[]

  constructor(routes: readonly FastRoute<Target>[]) {
    this.#routes = routes.map(compile)
  }

  /**
   * The request that `bytes` begin with; undefined if its head is incomplete or not simple. Clients repeat the same head, except
   * for the length of the body, so one like `last` is not parsed again.
   */
  read(bytes: Buffer, last?: RequestHead<Target>): RequestStart<Target> | undefined {
    return (last && startLike(last, bytes)) ?? this.#readStart(bytes)
  }

  #readStart(bytes: Buffer): RequestStart<Target> | undefined {
    const headEnd = bytes.indexOf(HEAD_END)
    if (headEnd < 0 || headEnd > HEAD_BYTES_MAX) return undefined
    const head = this.#readHead(bytes.toString('latin1', 0, headEnd))
    return head && startLike(head, bytes)
  }

  #readHead(text: string): RequestHead<Target> | undefined {
    const lines = text.split('\r\n', HEADERS_MAX + 2)
    if (lines.length > HEADERS_MAX + 1) return undefined
    const [, method = '', url = ''] = REQUEST_LINE.exec(lines[0] as string) ?? []
    const found = SIMPLE_URL.test(url) ? this.#find(method, url) : undefined
    const all = found && readHeaders(lines)
    const line = all && isSimple(all) && LENGTH_LINE.exec(text)
    if (!line) return undefined
    const { 'content-length': digits = '', ...headers } = all
    const lengthAt = line.index + line[0].indexOf(digits)
    const before = Buffer.from(text.slice(0, lengthAt), 'latin1')
    const behind = Buffer.concat([Buffer.from(text.slice(lengthAt + digits.length), 'latin1'), HEAD_END])
    const { params, target, bodyBytesMax } = found
    return { target, method, url, params, headers, bodyBytesMax, before, behind, cached: {} }
  }

  #find(method: string, url: string) {
    const parts = url.split('/')
    for (const route of this.#routes) {
      const params = route.method === method ? match(route.parts, parts) : undefined
      if (params) return { ...route, params }
    }
    return undefined
  }
}

/** The request that `bytes` begin with, if its head differs from the given one at most in the length of the body. */
function startLike<Target>(head: RequestHead<Target>, bytes: Buffer): RequestStart<Target> | undefined {
  const { before, behind, bodyBytesMax } = head
  if (!isAt(bytes, 0, before)) return undefined
  let length = 0
  let at = before.length
  for (; isDigit(bytes[at]); at++) length = length * 10 + (bytes[at] as number) - DIGIT_0
  const digits = at - before.length
  if (digits === 0 || digits > LENGTH_DIGITS_MAX || length > bodyBytesMax) return undefined
  if (!isAt(bytes, at, behind)) return undefined
  const bodyStart = at + behind.length
  return { head, bodyStart, end: bodyStart + length }
}

const DIGIT_0 = 0x30
const DIGIT_9 = 0x39

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= DIGIT_0 && byte <= DIGIT_9
}

/** Compares bytes: V8 compares strings character by character. */
function isAt(bytes: Buffer, at: number, part: Buffer): boolean {
  const end = at + part.length
  return end <= bytes.length && bytes.compare(part, 0, part.length, at, end) === 0
}

interface CompiledRoute<Target> extends FastRoute<Target> {
  readonly parts: readonly string[]
}

function compile<Target>(route: FastRoute<Target>): CompiledRoute<Target> {
  return { ...route, parts: route.path.split('/') }
}

/** The named parts of a path, if it matches. */
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

/** All headers; undefined if one is repeated or malformed. */
function readHeaders(lines: readonly string[]): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (let index = 1; index < lines.length; index++) {
    const line = HEADER_LINE.exec(lines[index] as string)
    if (!line) return undefined
    const name = (line[1] as string).toLowerCase()
    // Also true for members of every object, such as `constructor`; no client sends those.
    if (name in headers) return undefined
    headers[name] = (line[2] as string).trim()
  }
  return headers
}

function isSimple(headers: Readonly<Record<string, string>>): boolean {
  const { connection = 'keep-alive', host, 'content-type': type = '', 'content-length': length = '' } = headers
  if (host === undefined || !JSON_TYPE.test(type) || !LENGTH.test(length)) return false
  return connection.toLowerCase() === 'keep-alive' && !SPECIAL.some((name) => name in headers)
}
