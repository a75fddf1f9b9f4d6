// A request on the fast path as the lifecycle sees it, and its answer as text. It must answer as Fastify would.
import { STATUS_CODES, type IncomingMessage } from 'node:http'
import proxyAddr from '@fastify/proxy-addr'
import type { Attempt, Caller } from '../authentication.ts'
import type { RequestContext } from '../request-context.ts'
import { callerAddress } from '../requests/caller-address.ts'
import { newRequestId } from '../requests/request-id.ts'
import type { RequestHead } from './request-head.ts'

/** Whether an address, of a connection or in X-Forwarded-For, is that of a trusted proxy. */
export type TrustedProxy = (address: string, distance: number) => boolean

/** Undefined if no proxy is trusted. */
export function trustIn(proxies: readonly string[]): TrustedProxy | undefined {
  return proxies.length > 0 ? proxyAddr.compile([...proxies]) : undefined
}

/** The connection of a request. */
export interface RequestConnection {
  /** Of the other end. */
  readonly address: string
  readonly socket: { readonly writable: boolean }
}

export class FastContext implements RequestContext {
  readonly #head: RequestHead<unknown>
  readonly #connection: RequestConnection
  readonly #trusted: TrustedProxy | undefined
  readonly requestId = newRequestId()
  readonly method: string
  readonly url: string
  readonly headers: RequestContext['headers']
  readonly params: unknown
  readonly query: unknown = {}
  /** Sessions never take the fast path. */
  readonly isSecure = false
  caller: Caller | undefined = undefined
  receivedAt = 0
  /** The headers of the answer: the names, and the line of each. */
  readonly #names: string[] = []
  readonly #lines: string[] = []

  constructor(head: RequestHead<unknown>, connection: RequestConnection, trusted: TrustedProxy | undefined) {
    this.#head = head
    this.#connection = connection
    this.#trusted = trusted
    this.method = head.method
    this.url = head.url
    this.headers = head.headers
    this.params = head.params
    this.setHeader('x-request-id', this.requestId)
  }

  /** Shared by all requests with the same head. */
  get attempt(): Attempt | undefined {
    return this.#head.cached.attempt
  }

  set attempt(attempt: Attempt | undefined) {
    this.#head.cached.attempt = attempt
  }

  /** Only requests that send each header once take the fast path. */
  headerValues(name: string): readonly string[] {
    const value = this.#head.headers[name]
    return value === undefined ? [] : [value]
  }

  get isEnded(): boolean {
    return !this.#connection.socket.writable
  }

  callerAddress(): string {
    const { headers } = this
    const ip = this.#connection.address
    if (!this.#trusted) return callerAddress({ ip })
    // `proxyAddr` reads nothing else of a request.
    const ips = proxyAddr.all({ headers, socket: { remoteAddress: ip } } as IncomingMessage, this.#trusted)
    return callerAddress({ ip: ips.at(-1) ?? ip, ips })
  }

  setHeader(name: string, value: string | number): void {
    const line = `${name}: ${value}\r\n`
    const index = this.#names.indexOf(name)
    if (index >= 0) this.#lines[index] = line
    else {
      this.#names.push(name)
      this.#lines.push(line)
    }
  }

  /** The answer as sent; `added` are the headers of all answers. */
  toAnswer(status: number, text: string, added: string): EncodedText {
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
    for (const line of this.#lines) head += line
    const bytes = Buffer.byteLength(text)
    const answer = `${head}content-length: ${bytes}\r\n${added}\r\n${text}`
    return { text: answer, encoding: bytes === text.length ? 'latin1' : 'utf8' }
  }
}

/** A text with the encoding in which it is sent. `latin1` is the fastest, and correct for ASCII. */
export interface EncodedText {
  readonly text: string
  readonly encoding: 'latin1' | 'utf8'
}

/** The headers of all answers, formatted once a second. */
export class AddedHeaders {
  readonly #keepAliveSeconds: number
  #second = 0
  #text = ''

  constructor(keepAliveTimeoutMs: number) {
    this.#keepAliveSeconds = Math.floor(keepAliveTimeoutMs / 1000)
  }

  get text(): string {
    const second = Math.floor(Date.now() / 1000)
    if (second !== this.#second) {
      this.#second = second
      const date = new Date(second * 1000).toUTCString()
      this.#text = `Date: ${date}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${this.#keepAliveSeconds}\r\n`
    }
    return this.#text
  }
}
