// A plain request with its answer, as the door sees them.
import { STATUS_CODES, type IncomingMessage } from 'node:http'
import proxyAddr from '@fastify/proxy-addr'
import type { Attempt, Caller } from '../authentication.ts'
import type { Exchange } from '../exchange.ts'
import { callerAddress } from '../requests/caller-address.ts'
import { newRequestId } from '../requests/request-id.ts'
import type { PlainHead } from './plain-head.ts'

/** Tells of an address of a connection, or one in X-Forwarded-For, whether it is that of a trusted proxy. */
export type TrustedProxy = (address: string, distance: number) => boolean

/** Undefined where no proxy is trusted. */
export function trustIn(proxies: readonly string[]): TrustedProxy | undefined {
  return proxies.length > 0 ? proxyAddr.compile([...proxies]) : undefined
}

/** `address`: the one at the other end of the connection. */
export class PlainExchange implements Exchange {
  readonly #head: PlainHead<unknown>
  readonly #address: string
  readonly #trusted: TrustedProxy | undefined
  readonly requestId = newRequestId()
  readonly method: string
  readonly url: string
  readonly headers: Exchange['headers']
  readonly params: unknown
  readonly query: unknown = {}
  caller: Caller | undefined = undefined
  receivedAt = 0
  /** Of the answer: the names, and for each the line. */
  readonly #names: string[] = []
  readonly #lines: string[] = []

  constructor(head: PlainHead<unknown>, address: string, trusted: TrustedProxy | undefined) {
    this.#head = head
    this.#address = address
    this.#trusted = trusted
    this.method = head.method
    this.url = head.url
    this.headers = head.headers
    this.params = head.params
    this.setHeader('x-request-id', this.requestId)
  }

  /** The same for all requests with the same head. */
  get attempt(): Attempt | undefined {
    return this.#head.known.attempt
  }

  set attempt(attempt: Attempt | undefined) {
    this.#head.known.attempt = attempt
  }

  callerAddress(): string {
    const { headers } = this
    const ip = this.#address
    if (!this.#trusted) return callerAddress({ ip })
    // Nothing else of a request is looked at.
    const ips = proxyAddr.all({ headers, socket: { remoteAddress: ip } } as IncomingMessage, this.#trusted)
    return callerAddress({ ip: ips.at(-1) ?? ip, ips })
  }

  setHeader(name: string, value: string | number): void {
    const line = `${name}: ${value}\r\n`
    const place = this.#names.indexOf(name)
    if (place >= 0) this.#lines[place] = line
    else {
      this.#names.push(name)
      this.#lines.push(line)
    }
  }

  /** The answer as it crosses the network; `added` are the headers that all answers have. */
  toAnswer(status: number, text: string, added: string): EncodedText {
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
    for (const line of this.#lines) head += line
    const bytes = Buffer.byteLength(text)
    const answer = `${head}content-length: ${bytes}\r\n${added}\r\n${text}`
    return { text: answer, encoding: bytes === text.length ? 'latin1' : 'utf8' }
  }
}

/** A text with the encoding in which it is sent: that of plain ASCII is the fastest. */
export interface EncodedText {
  readonly text: string
  readonly encoding: 'latin1' | 'utf8'
}

/** The headers that all answers have, which are written out once a second. */
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
