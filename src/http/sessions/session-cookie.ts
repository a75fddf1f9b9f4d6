// The cookie that carries the token of a session. Scripts cannot read it, and other sites cannot send it.
import { SESSION_MS_MAX } from '../../core/accounts/session.ts'

/** Browsers accept it only over https, for this host alone; from a loopback address over http too. */
const SECURE_NAME = '__Host-tidings'
/** Where a browser would refuse the other one: over plain http. */
const PLAIN_NAME = 'tidings'
const ATTRIBUTES = `Path=/; HttpOnly; SameSite=Lax`

/** The value of Set-Cookie. `token`: null removes the cookie. */
export function toSetCookie(token: string | null, isSecure: boolean): string {
  const name = isSecure ? SECURE_NAME : PLAIN_NAME
  const age = token === null ? 0 : SESSION_MS_MAX / 1000
  return `${name}=${token ?? ''}; Max-Age=${age}; ${ATTRIBUTES}${isSecure ? '; Secure' : ''}`
}

/** The token in the header Cookie; undefined if there is none. */
export function readSessionCookie(header: string | undefined, isSecure: boolean): string | undefined {
  return readCookie(header, isSecure ? SECURE_NAME : PLAIN_NAME)
}

/** Whether a browser sent it that has or had a session, over whichever connection. */
export function hasSessionCookie(header: string | undefined): boolean {
  return [SECURE_NAME, PLAIN_NAME].some((name) => readCookie(header, name) !== undefined)
}

function readCookie(header: string | undefined, wanted: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name = '', value = ''] = pair.split('=', 2)
    if (name.trim() === wanted && value.trim() !== '') return value.trim()
  }
  return undefined
}
