// One request and its answer as the door sees them, however they cross the network: through Fastify (`routes.ts`), or the short
// way of plain requests (`shortcut/`).
import type { IncomingHttpHeaders } from 'node:http'
import type { Attempt, Caller } from './authentication.ts'

export interface Exchange {
  readonly requestId: string
  /** Path and query as they were sent. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** The named parts of the path. */
  readonly params: unknown
  readonly query: unknown
  /** What `headers.authorization` says, once it has been read. */
  attempt: Attempt | undefined
  /** Set by `admit`, before anything of the body is read. */
  caller: Caller | undefined
  receivedAt: number
  /** The caller's own address, as far as trusted proxies tell. */
  callerAddress(): string
  /** Sets a header of the answer, in place of what it was before. */
  setHeader(name: string, value: string | number): void
}

/**
 * A body as it came here: all of it, or a function that reads it up to a limit, or the stream of an upload. Undefined where
 * nothing was sent.
 */
export type SentBody =
  | { readonly bytes: Uint8Array }
  | { readonly read: (bytesMax: number) => Promise<Uint8Array> }
  | { readonly upload: AsyncIterable<Uint8Array> }
  | undefined
