// The public routes behind the links in messages ("Links, opens, unsubscribing"): clicks, pictures, unsubscribing, preferences, and
// the message in a browser. They take no key: the token in the path says whose message it is.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { makeToken, type TokenPurpose } from '../../actions/links/link-token.ts'
import { isPersonalTarget, toLocation } from '../../core/links/link-target.ts'
import { changeByLink } from '../../core/users/change-by-link.ts'
import { runOnceApplied } from '../../operations/applied-entries.ts'
import type { Parts } from '../../operations/operation.ts'
import { findOwnTarget } from '../../store/delivery/linked-messages.ts'
import { findCategories } from '../../store/workspaces/workspaces.ts'
import { NOTHING_HERE } from '../answers/error-answer.ts'
import { tooMuchUnsent, type UnsentAnswers } from '../answers/unsent-answers.ts'
import type { ReceivedBodies } from '../requests/received-bodies.ts'
import { readBody } from '../requests/request-body.ts'
import type { WorkspaceRegistry } from '../workspace-registry.ts'
import { decideByLink, findLinkPerson } from './decide-by-link.ts'
import { LinkReader, type OpenedLink } from './link-reader.ts'
import type { RenderMessage } from './message-view.ts'
import { MISSING_PAGE } from './pages/missing-page.ts'
import { PAGE_HEADERS } from './pages/page.ts'
import { PREFERENCE_FORM_BYTES_MAX, readPreferenceForm, renderPreferences } from './pages/preference-page.ts'
import { renderUnsubscribe, renderUnsubscribed } from './pages/unsubscribe-page.ts'
import { recordHit } from './record-hit.ts'

export interface LinkOptions {
  readonly parts: Parts
  readonly registry: WorkspaceRegistry
  /** Absent: messages cannot be shown in a browser. */
  readonly renderMessage?: RenderMessage | undefined
}

/** The options, and what counts the bodies and answers of all requests. */
interface LinkServer extends LinkOptions {
  readonly bodies: ReceivedBodies
  readonly unsent: UnsentAnswers
}

const READ = ['GET', 'HEAD'] as const
const READ_AND_CHANGE = [...READ, 'POST'] as const

/** The paths with the methods that each takes. */
export const LINK_PATHS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['/c/:token', READ],
  ['/o/:token', READ],
  ['/u/:token', READ_AND_CHANGE],
  ['/p/:token', READ_AND_CHANGE],
  ['/v/:token', READ],
])

/** Of every answer: no cache keeps it, no search engine lists it, and the token is not sent on as the referrer. */
const PRIVATE_HEADERS = {
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const

/** A transparent picture of one pixel. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

export function addLinkRoutes(app: FastifyInstance, server: LinkServer): void {
  const links = new LinkReader(server.parts.database, server.registry)
  // In a scope of its own, because these routes take other bodies than operations do.
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // Reads nothing: the routes do.
    scope.addContentTypeParser('*', (_request: FastifyRequest, _payload: unknown, done: (error: null) => void) =>
      done(null),
    )
    scope.addHook('onRequest', (_request, reply, done) => {
      reply.headers(PRIVATE_HEADERS)
      done()
    })
    const context: LinkContext = { ...server, links }
    const read = (path: string, answer: Answer) =>
      scope.route({ method: [...READ], url: path, handler: answerWith(answer, context) })
    const change = (path: string, answer: Answer) => scope.post(path, answerWith(answer, context))
    read('/c/:token', followLink)
    read('/o/:token', showPixel)
    read('/u/:token', showUnsubscribe)
    change('/u/:token', unsubscribe)
    read('/p/:token', showPreferences)
    change('/p/:token', changePreferences)
    read('/v/:token', showMessage)
  })
}

interface LinkContext extends LinkServer {
  readonly links: LinkReader
}

/** A request with its token, and where its answer goes. */
interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly token: string
}

type Answer = (exchange: Exchange, context: LinkContext) => Promise<unknown>

function answerWith(answer: Answer, context: LinkContext) {
  return (request: FastifyRequest, reply: FastifyReply) =>
    answer({ request, reply, token: (request.params as { readonly token: string }).token }, context)
}

async function followLink({ request, reply, token }: Exchange, { links, parts }: LinkContext): Promise<FastifyReply> {
  const opened = await links.open(token, 'click')
  const location = opened && (await findLocation(opened, parts))
  if (!location) return sendMissing(reply)
  await recordHit(request, opened, { kind: 'click', ...parts })
  return reply.code(302).header('location', location).send()
}

/** Where a link leads; undefined if nowhere on the web. */
async function findLocation(opened: OpenedLink, parts: Parts): Promise<string | undefined> {
  const url = opened.run.links.get(opened.link)
  const target = url !== undefined && isPersonalTarget(url) ? await findPersonalTarget(opened, parts) : url
  return target === undefined ? undefined : toLocation(target)
}

/** The pipeline stores it with the attempt to send the message, perhaps after a quick reader clicks. */
async function findPersonalTarget(
  { run, message, link }: OpenedLink,
  { database, appliedEntries }: Parts,
): Promise<string | undefined> {
  const key = { run: run.number, number: message }
  const find = async () => {
    const target = await findOwnTarget(database, key, link)
    if (target === undefined) throw NOTHING_HERE
    return target
  }
  return runOnceApplied({ appliedEntries }, find).catch((error: unknown) => {
    if (error === NOTHING_HERE) return undefined
    throw error
  })
}

/** Always answers with the picture: mail programs would show a missing one to the reader. */
async function showPixel({ request, reply, token }: Exchange, { links, parts }: LinkContext): Promise<FastifyReply> {
  const opened = await links.open(token, 'open').catch(() => undefined)
  if (opened) await recordHit(request, opened, { kind: 'open', ...parts })
  return reply.header('content-type', 'image/gif').send(PIXEL)
}

async function showUnsubscribe({ reply, token }: Exchange, context: LinkContext): Promise<FastifyReply> {
  const opened = await context.links.open(token, 'unsubscribe')
  if (!opened) return sendMissing(reply)
  const { language } = await findLinkPerson(context.parts.database, opened)
  return sendPage(reply, renderUnsubscribe({ language, ...pageOf(opened, context) }), context)
}

/**
 * Every POST with a genuine token unsubscribes, whatever its body holds: a mail service that words the body in another way asks for
 * the same (RFC 8058), and a person's wish must not fail for it.
 */
async function unsubscribe({ request, reply, token }: Exchange, context: LinkContext): Promise<FastifyReply> {
  const opened = await context.links.open(token, 'unsubscribe')
  if (!opened) return sendMissing(reply)
  await readForm(request, context)
  const { parts } = context
  const { language, customerId } = await findLinkPerson(parts.database, opened)
  const { category } = opened.run
  const wanted = category === null ? { status: 'OPTED_OUT' as const } : { categories: { [category]: false } }
  const decision = { action: 'unsubscribe', request: wanted } as const
  if (customerId !== undefined) await decideByLink(request, opened, { customerId, decision, parts })
  return sendPage(reply, renderUnsubscribed({ language, ...pageOf(opened, context) }), context)
}

/** The address is relative: a proxy may serve these routes under a path of its own. */
function pageOf({ run, message }: OpenedLink, { links }: LinkContext) {
  const key = links.linkKeyOf(run) ?? ''
  const purpose: TokenPurpose = 'preferences'
  return {
    category: run.category,
    preferencesUrl: `../p/${makeToken(key, { purpose, run: run.number, message, link: 0 })}`,
  }
}

async function showPreferences({ reply, token }: Exchange, context: LinkContext): Promise<FastifyReply> {
  const opened = await context.links.open(token, 'preferences')
  if (!opened) return sendMissing(reply)
  const { database } = context.parts
  const { language, preference } = await findLinkPerson(database, opened)
  const categories = [...(await findCategories(database, opened.run.workspaceId))]
  return sendPage(reply, renderPreferences({ language, categories, preference, isSaved: false }), context)
}

async function changePreferences({ request, reply, token }: Exchange, context: LinkContext): Promise<FastifyReply> {
  const opened = await context.links.open(token, 'preferences')
  if (!opened) return sendMissing(reply)
  const form = await readForm(request, context)
  const { parts } = context
  const categories = [...(await findCategories(parts.database, opened.run.workspaceId))]
  const decision = readPreferenceForm(form, categories)
  const { language, customerId, preference: before } = await findLinkPerson(parts.database, opened)
  if (!decision) {
    return sendPage(reply, renderPreferences({ language, categories, preference: before, isSaved: false }), context)
  }
  const decided = { activeCategories: new Set(categories), receivedAt: parts.receiptClock() }
  if (customerId !== undefined) await decideByLink(request, opened, { customerId, decision, parts })
  // Shows what the person chose, even if it is not applied yet.
  const preference = changeByLink(before, decision.request, decided)?.preference ?? before
  return sendPage(reply, renderPreferences({ language, categories, preference, isSaved: true }), context)
}

async function showMessage({ reply, token }: Exchange, context: LinkContext): Promise<FastifyReply> {
  const opened = await context.links.open(token, 'view')
  const view = opened && (await context.renderMessage?.(opened.run, opened.message))
  if (!view) return sendMissing(reply)
  return sendPage(reply, view.html, { ...context, policy: view.contentSecurityPolicy })
}

async function readForm({ raw }: FastifyRequest, { bodies }: LinkContext): Promise<URLSearchParams> {
  const bytes = await readBody(raw, { sender: '', bytesMax: PREFERENCE_FORM_BYTES_MAX, bodies })
  return new URLSearchParams(Buffer.from(bytes).toString('utf8'))
}

function sendPage(
  reply: FastifyReply,
  html: string,
  { unsent, policy = PAGE_HEADERS['content-security-policy'] }: LinkContext & { readonly policy?: string },
): FastifyReply {
  const bytes = Buffer.byteLength(html)
  if (reply.request.method === 'POST') unsent.add(reply.raw, bytes)
  else if (!unsent.addIfFits(reply.raw, bytes)) throw tooMuchUnsent()
  return reply.headers({ ...PAGE_HEADERS, 'content-security-policy': policy }).send(html)
}

function sendMissing(reply: FastifyReply): FastifyReply {
  return reply.code(404).headers(PAGE_HEADERS).send(MISSING_PAGE)
}
