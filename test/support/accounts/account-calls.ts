// What tests of people and sessions do again and again: sign in, read the cookie, ask who is signed in, use links.
import { expect } from 'vitest'
import type { Role } from '../../../src/core/accounts/role.ts'
import type { ErrorBody } from '../../../src/http/answers/error-answer.ts'
import type { Answer, CallOptions, TestServer } from '../server.ts'
import { PASSWORD_OF_PEOPLE } from './sign-in-as.ts'

export interface SessionBody {
  readonly session_id: string
  readonly is_secure: boolean
  readonly person: {
    readonly person_id: string
    readonly email: string
    readonly name: string
    readonly has_totp: boolean
    readonly created_at: string
  }
  readonly workspaces: readonly { readonly workspace_id: string; readonly role: Role; readonly suspended: boolean }[]
}

/** Of a success or a refusal: tests compare the status first. */
export type SessionAnswer = Answer<SessionBody & ErrorBody>

export interface ListedSession {
  readonly session_id: string
  readonly created_at: string
  readonly last_seen_at: string
  readonly expires_at: string
  readonly address: string
  readonly agent: string
  readonly is_current: boolean
}

export interface PeopleBody {
  readonly data: readonly {
    readonly person_id: string
    readonly email: string
    readonly name: string
    readonly role: Role
    readonly is_everywhere: boolean
    readonly has_totp: boolean
    readonly created_at: string
    readonly last_seen_at: string | null
  }[]
  readonly invitations: readonly { readonly email: string; readonly role: Role; readonly expires_at: string }[]
}

/** A new password that may be used. */
export const NEW_PASSWORD = 'another sentence of theirs'

/** Another address each time, which servers believe that trust 127.0.0.1: their limit of an address is not met. */
function anywhere(): { 'x-forwarded-for': string } {
  return { 'x-forwarded-for': `203.0.113.${addresses++ % 250}` }
}
let addresses = 0

interface SignInFields {
  readonly email: string
  readonly password?: string
  readonly code?: string | undefined
}

/** `password`: by default that of everybody in tests. */
export function signIn(
  server: Pick<TestServer, 'call'>,
  { email, password = PASSWORD_OF_PEOPLE, code }: SignInFields,
  headers: CallOptions['headers'] = {},
): Promise<SessionAnswer> {
  return server.call('POST', '/v1/sessions', {
    as: null,
    body: { email, password, code },
    headers: { ...anywhere(), ...headers },
  })
}

/** The cookie that an answer sets, as a browser sends it back. */
export function personOf({ status, headers }: Answer<unknown>): { cookie: string } {
  expect(status).toBe(200)
  const [cookie = ''] = (headers.get('set-cookie') ?? '').split(';')
  return { cookie }
}

/** The current session or, where nobody is signed in, the refusal of an operation that needs a person. */
export async function getSession(
  server: Pick<TestServer, 'call'>,
  person: { readonly cookie: string } | undefined,
  headers: CallOptions['headers'] = {},
): Promise<SessionAnswer> {
  const options = { as: null, person, headers }
  const answer = await server.call<{ session: SessionBody | null } & ErrorBody>('GET', '/v1/session', options)
  if (answer.status === 200 && answer.body.session === null) return server.call('GET', '/v1/sessions', options)
  return { ...answer, body: (answer.body.session ?? answer.body) as SessionBody & ErrorBody }
}

export async function listSessions(
  server: Pick<TestServer, 'call'>,
  person: { readonly cookie: string },
): Promise<readonly ListedSession[]> {
  const { body } = await server.call<{ data: ListedSession[] }>('GET', '/v1/sessions', { as: null, person })
  return body.data
}

/** The token of a link: what stands behind `#`. */
export function tokenOf(link: string): string {
  return link.split('#')[1] ?? ''
}

export function readLink(server: Pick<TestServer, 'call'>, token: string) {
  return server.call<Record<string, unknown>>('POST', '/v1/access-links/read', {
    as: null,
    body: { token },
    headers: anywhere(),
  })
}

export function acceptLink(
  server: Pick<TestServer, 'call'>,
  body: { readonly token: string; readonly [field: string]: unknown },
): Promise<SessionAnswer> {
  const sent = { password: NEW_PASSWORD, ...body }
  return server.call('POST', '/v1/access-links/accept', { as: null, body: sent, headers: anywhere() })
}
