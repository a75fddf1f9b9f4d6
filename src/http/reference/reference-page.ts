// The page on which to read and try every operation. It must load nothing from elsewhere: the assets come from the package of
// Swagger UI and from `reference-page/`, and a header tells the browser to refuse everything else.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { acceptsCoding } from '../answers/accepts-coding.ts'

const PAGE = './reference-page/page.html'

/** The files of the page: path → file and its media type. */
const ASSETS: Readonly<Record<string, readonly [file: string, mediaType: string]>> = {
  '/docs/page.css': ['./reference-page/page.css', 'text/css; charset=utf-8'],
  '/docs/start.js': ['./reference-page/start.js', 'text/javascript; charset=utf-8'],
  '/docs/icon.svg': ['./reference-page/icon.svg', 'image/svg+xml'],
  '/docs/swagger-ui.css': ['swagger-ui-dist/swagger-ui.css', 'text/css; charset=utf-8'],
  '/docs/swagger-ui-bundle.js': ['swagger-ui-dist/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
}

const ADDRESS = '/docs'
/** The path as people also write it. The relative links of the page would lead nowhere from there. */
const WITH_SLASH = '/docs/'

/** All paths besides `/docs` itself. */
export const REFERENCE_PATHS = [WITH_SLASH, ...Object.keys(ASSETS)]

/** Nothing from elsewhere, no script or style inside the page; Swagger UI's icons are `data:` images. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function addReferencePage(app: FastifyInstance): void {
  const servePage = serveFile(PAGE, 'text/html; charset=utf-8')
  app.get(ADDRESS, { exposeHeadRoute: true }, (request, reply) => {
    const hasSlash = request.url.split('?', 1)[0]?.endsWith('/') ?? false
    return hasSlash ? reply.redirect('../docs') : servePage(request, reply)
  })
  for (const [path, [file, mediaType]] of Object.entries(ASSETS)) {
    app.get(path, { exposeHeadRoute: true }, serveFile(file, mediaType))
  }
}

interface LoadedFile {
  readonly content: Buffer
  readonly compressed: Buffer
  /** Identifies the content, compressed or not, so it is a weak one. */
  readonly tag: string
}

/** Reads and compresses the file at the first request, then caches it. Browsers ask every time whether it has changed. */
function serveFile(file: string, mediaType: string) {
  const path = createRequire(import.meta.url).resolve(file)
  let loading: Promise<LoadedFile> | undefined
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    // After a failure, for example because too many files are open, the next request reads it again.
    loading ??= load(path).catch((error: unknown) => {
      loading = undefined
      throw error
    })
    const { content, compressed, tag } = await loading
    reply.headers({
      'cache-control': 'no-cache',
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      etag: tag,
      vary: 'accept-encoding',
    })
    if (request.headers['if-none-match']?.includes(tag)) return reply.code(304).send()
    reply.header('content-type', mediaType)
    if (!acceptsCoding(request, 'gzip')) return reply.send(content)
    return reply.header('content-encoding', 'gzip').send(compressed)
  }
}

async function load(path: string): Promise<LoadedFile> {
  const content = await readFile(path)
  const compressed = await promisify(gzip)(content)
  return { content, compressed, tag: `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"` }
}
