// Whether what a browser sends to this server stays secret on the way, and whether a page of this server sent it.
import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../core/app-error.ts'

const LOOPBACK_HOST = /^(localhost|[\w-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i
/** Of requests that a page of the same origin made, or that a person typed. */
const OWN_SITES = ['same-origin', 'none']

/**
 * Whether the browser speaks https with this server or a proxy before it, or with a loopback address. `scheme`: of the connection, or as
 * trusted proxies report it. `publicUrl`: PUBLIC_URL, whose host may be behind a proxy that is not trusted.
 */
export function isSecureConnection(scheme: string, host: string | undefined, publicUrl: string | undefined): boolean {
  if (scheme === 'https' || LOOPBACK_HOST.test(host ?? '')) return true
  const known = publicUrl === undefined ? undefined : URL.parse(publicUrl)
  return known?.protocol === 'https:' && isHost(host, known)
}

/**
 * Refuses what a page of another site sends with the cookie of a person (cross-site request forgery). Browsers say it in Sec-Fetch-Site,
 * older ones in Origin; a program that is no browser sends neither. Throws AppError `forbidden`.
 */
export function refuseOtherSites(headers: IncomingHttpHeaders): void {
  const { origin, host, 'sec-fetch-site': site } = headers
  const isOwn = site === undefined ? origin === undefined || isHost(host, URL.parse(origin)) : OWN_SITES.includes(site)
  if (!isOwn) throw new AppError('forbidden', 'A page of another site sent this request.')
}

/** Whether the header Host names that of a URL. A proxy may add the port that goes without saying. */
function isHost(host: string | undefined, url: URL | null): boolean {
  return url !== null && URL.parse(`${url.protocol}//${host ?? ''}`)?.host === url.host
}
