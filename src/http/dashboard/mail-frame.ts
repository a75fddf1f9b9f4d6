// The frame in which the dashboard shows a mail: answers the HTML of a form as a page of its own, from which no script, form, frame or
// request leaves. It stores nothing, and changes nothing in the HTML.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../core/app-error.ts'
import type { UnsentAnswers } from '../answers/unsent-answers.ts'
import type { ReceivedBodies } from '../requests/received-bodies.ts'
import { readBody } from '../requests/request-body.ts'

export interface MailFrameOptions {
  readonly path: string
  /** Whether a person who is signed in sent the request. */
  readonly isSignedIn: (request: FastifyRequest) => boolean | Promise<boolean>
  readonly bodies: ReceivedBodies
  readonly unsent: UnsentAnswers
}

/** The longest content of a template, rendered, as a form: encoded, a character of HTML may take three times as much. */
const FORM_BYTES_MAX = 4 * 1024 * 1024

const NOT_SIGNED_IN = new AppError('forbidden', 'Sign in to the dashboard to show an email.')
const FROM_ELSEWHERE = new AppError('forbidden', 'Only the dashboard of this server can show an email.')

/** A POST, because a mail is longer than an address may be: the fields are `html` and, to load its pictures, `images`. */
export function addMailFrame(app: FastifyInstance, { path, isSignedIn, bodies, unsent }: MailFrameOptions): void {
  // In a scope of its own, because this route takes another body than operations do.
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // Reads nothing: the route does, once it knows the caller.
    scope.addContentTypeParser('*', (_request: FastifyRequest, _payload: unknown, done: (error: null) => void) =>
      done(null),
    )
    scope.post(path, async (request, reply) => {
      if (!isFromSameOrigin(request)) throw FROM_ELSEWHERE
      if (!(await isSignedIn(request))) throw NOT_SIGNED_IN
      const bytes = await readBody(request.raw, { sender: '', bytesMax: FORM_BYTES_MAX, bodies })
      const form = new URLSearchParams(Buffer.from(bytes).toString('utf8'))
      return sendMail(reply, { html: form.get('html') ?? '', hasImages: form.has('images') }, unsent)
    })
  })
}

function sendMail(
  reply: FastifyReply,
  { html, hasImages }: { readonly html: string; readonly hasImages: boolean },
  unsent: UnsentAnswers,
): FastifyReply {
  const policy = [
    'sandbox',
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `img-src ${hasImages ? 'https: http: data:' : 'data:'}`,
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ]
  unsent.add(reply.raw, Buffer.byteLength(html))
  return reply
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': policy.join('; '),
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    .send(html)
}

/**
 * Browsers name the origin of a request; those that send Sec-Fetch-Site name it there. An `Origin: null` says nothing: the page sends no
 * referrer. The cookie of a session is not sent from elsewhere in any case.
 */
function isFromSameOrigin({ headers, host }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin } = headers
  return origin === undefined || origin === 'null' || URL.parse(origin)?.host === host
}
