// One request and its response as the lifecycle sees them. There are two implementations: one over Fastify (`routes.ts`), one on
// the fast path (`fast-path/fast-context.ts`).
import type { IncomingHttpHeaders } from 'node:http'
import type { Attempt, Caller } from './authentication.ts'

export interface RequestContext {
  readonly requestId: string
  /** Path and query as they were sent. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Each value of a header as it was sent, by its lower-case name. */
  headerValues(name: string): readonly string[]
  /** The named parts of the path. */
  readonly params: unknown
  readonly query: unknown
  /** The parsed Authorization header; undefined until `admit` parses it. */
  attempt: Attempt | undefined
  /** Set by `admit`, before the body is read. */
  caller: Caller | undefined
  receivedAt: number
  /** Whether the connection has ended, so that nobody would get an answer. */
  readonly isEnded: boolean
  /** Whether what the browser sends stays secret on the way: https, or a loopback address. */
  readonly isSecure: boolean
  /** The caller's own address, as reported by trusted proxies. */
  callerAddress(): string
  /** Sets a header of the response, replacing its earlier value. */
  setHeader(name: string, value: string | number): void
}

/** The body of a request: all of it, a function that reads it up to a limit, or an upload's stream. Undefined: no body was sent. */
export type SentBody =
  | { readonly bytes: Uint8Array }
  | { readonly read: (bytesMax: number) => Promise<Uint8Array> }
  | { readonly upload: AsyncIterable<Uint8Array>; readonly type: string }
  | undefined
