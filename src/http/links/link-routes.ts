// The public routes behind the links in messages ("Links, opens, unsubscribing"): clicks, pictures, unsubscribing, preferences, and
// the message in a browser. They take no key: the token in the path says whose message it is.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { followLink, showPixel } from './answer-hits.ts'
import { changePreferences, showMessage, showPreferences, showUnsubscribe, unsubscribe } from './answer-pages.ts'
import type { LinkAnswer, LinkContext, LinkServer } from './link-exchange.ts'
import { LinkReader } from './link-reader.ts'

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
    const read = (path: string, answer: LinkAnswer) =>
      scope.route({ method: [...READ], url: path, handler: answerWith(answer, context) })
    const change = (path: string, answer: LinkAnswer) => scope.post(path, answerWith(answer, context))
    read('/c/:token', followLink)
    read('/o/:token', showPixel)
    read('/u/:token', showUnsubscribe)
    change('/u/:token', unsubscribe)
    read('/p/:token', showPreferences)
    change('/p/:token', changePreferences)
    read('/v/:token', showMessage)
  })
}

function answerWith(answer: LinkAnswer, context: LinkContext) {
  return (request: FastifyRequest, reply: FastifyReply) =>
    answer({ request, reply, token: (request.params as { readonly token: string }).token }, context)
}
