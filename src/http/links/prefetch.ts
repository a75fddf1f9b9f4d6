// Recognizes requests that a program made before a person asked for the page, by the headers that say so.
import type { IncomingHttpHeaders } from 'node:http'

const HEADERS = ['purpose', 'sec-purpose', 'x-purpose', 'x-moz'] as const
const PREFETCH = /prefetch|prerender|preview/i

export function isPrefetch(headers: IncomingHttpHeaders): boolean {
  return HEADERS.some((name) => PREFETCH.test(String(headers[name] ?? '')))
}
