// The routes of the dashboard: its page at every address below `/dashboard`, so that a reload shows the same again, the files it
// loads, and the frame for mails. What the page shows comes from operations.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { acceptsCoding } from '../answers/accepts-coding.ts'
import { NOTHING_HERE } from '../answers/error-answer.ts'
import type { DashboardFile, DashboardFiles } from './dashboard-files.ts'
import { addMailFrame, type MailFrameOptions } from './mail-frame.ts'
import { UNBUILT_PAGE, UNBUILT_PAGE_HEADERS } from './unbuilt-page.ts'

export interface DashboardOptions extends Pick<MailFrameOptions, 'isSignedIn'> {
  /** Resolves with undefined if the dashboard is not built. */
  readonly findFiles: () => Promise<DashboardFiles | undefined>
}

const PAGE = '/dashboard'
const BELOW = '/dashboard/*'
const MAIL = '/dashboard/mail'
const ASSETS = 'assets/'
const READ = ['GET', 'HEAD'] as const

/** The paths with the methods that each takes. */
export const DASHBOARD_PATHS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  [PAGE, READ],
  [BELOW, READ],
  [MAIL, ['POST']],
])

/** Nothing from elsewhere, no script or style inside the page, no text that becomes a script. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')
/**
 * Frames show mails and nothing else of this server: a link in a mail opens in its frame, and could be one that counts a click. A second
 * policy, because the first cannot join `'self'` with a path; a browser allows what both allow.
 */
const FRAMES_POLICY = `frame-src *:*${MAIL}`

const HEADERS = {
  'content-security-policy': `${CONTENT_SECURITY_POLICY}, ${FRAMES_POLICY}`,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const

/** The name of an asset changes with its content. */
const FOR_A_YEAR = 'public, max-age=31536000, immutable'

export function addDashboardRoutes(
  app: FastifyInstance,
  options: DashboardOptions & Omit<MailFrameOptions, 'path'>,
): void {
  const servePage = async (_request: FastifyRequest, reply: FastifyReply) => {
    const files = await options.findFiles()
    if (!files) return reply.code(503).headers(UNBUILT_PAGE_HEADERS).send(UNBUILT_PAGE)
    return sendFile(reply, files.page, 'no-store')
  }
  app.get(PAGE, { exposeHeadRoute: true }, servePage)
  app.get(BELOW, { exposeHeadRoute: true }, async (request, reply) => {
    const { '*': below } = request.params as { readonly '*': string }
    if (!below.startsWith(ASSETS)) return servePage(request, reply)
    const file = (await options.findFiles())?.assets.get(below)
    if (!file) throw NOTHING_HERE
    return sendFile(reply, file, FOR_A_YEAR)
  })
  addMailFrame(app, { ...options, path: MAIL })
}

/** All answers with a file share its memory. */
function sendFile(reply: FastifyReply, file: DashboardFile, cacheControl: string): FastifyReply {
  const [coding, content] = file.variants.find(([name]) => acceptsCoding(reply.request, name)) ?? [null, file.content]
  if (coding !== null) reply.header('content-encoding', coding)
  return reply
    .headers({ ...HEADERS, 'cache-control': cacheControl, vary: 'accept-encoding', 'content-type': file.type })
    .send(content)
}
