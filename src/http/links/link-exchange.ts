// What the answers of the public routes share: the request with its token, what they work with, and how they send a page.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Parts } from '../../operations/operation.ts'
import { tooMuchUnsent, type UnsentAnswers } from '../answers/unsent-answers.ts'
import type { ReceivedBodies } from '../requests/received-bodies.ts'
import { readBody } from '../requests/request-body.ts'
import type { WorkspaceRegistry } from '../workspace-registry.ts'
import type { LinkReader } from './link-reader.ts'
import type { RenderMessage } from './message-view.ts'
import { MISSING_PAGE } from './pages/missing-page.ts'
import { PAGE_HEADERS } from './pages/page.ts'
import { PREFERENCE_FORM_BYTES_MAX } from './pages/preference-page.ts'

export interface LinkOptions {
  readonly parts: Parts
  readonly registry: WorkspaceRegistry
  /** Absent: messages cannot be shown in a browser. */
  readonly renderMessage?: RenderMessage | undefined
}

/** The options, and what counts the bodies and answers of all requests. */
export interface LinkServer extends LinkOptions {
  readonly bodies: ReceivedBodies
  readonly unsent: UnsentAnswers
}

export interface LinkContext extends LinkServer {
  readonly links: LinkReader
}

/** A request with its token, and where its answer goes. */
export interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly token: string
}

export type LinkAnswer = (exchange: Exchange, context: LinkContext) => Promise<unknown>

export async function readForm({ raw }: FastifyRequest, { bodies }: LinkContext): Promise<URLSearchParams> {
  const bytes = await readBody(raw, { sender: '', bytesMax: PREFERENCE_FORM_BYTES_MAX, bodies })
  return new URLSearchParams(Buffer.from(bytes).toString('utf8'))
}

export function sendPage(
  reply: FastifyReply,
  html: string,
  { unsent, policy = PAGE_HEADERS['content-security-policy'] }: LinkContext & { readonly policy?: string },
): FastifyReply {
  const bytes = Buffer.byteLength(html)
  if (reply.request.method === 'POST') unsent.add(reply.raw, bytes)
  else if (!unsent.addIfFits(reply.raw, bytes)) throw tooMuchUnsent()
  return reply.headers({ ...PAGE_HEADERS, 'content-security-policy': policy }).send(html)
}

export function sendMissing(reply: FastifyReply): FastifyReply {
  return reply.code(404).headers(PAGE_HEADERS).send(MISSING_PAGE)
}
