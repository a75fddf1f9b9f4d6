// The role of a person in a workspace, the end of a session, and what an access link leads to.
import { describe, expect, it } from 'vitest'
import { ACCESS_LINK_KINDS, ACCESS_LINK_MS, accessLinkPath } from '../../../src/core/accounts/access-link.ts'
import { toActorName } from '../../../src/core/accounts/credential.ts'
import { personEmailProblem, personNameProblem, roleIn, type RoleGrant } from '../../../src/core/accounts/person.ts'
import { ROLES, toRole, type Role } from '../../../src/core/accounts/role.ts'
import { sessionEndsAt, SESSION_IDLE_MS, SESSION_MS_MAX } from '../../../src/core/accounts/session.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const grant = (workspaceId: string, role: Role): RoleGrant => ({ workspaceId, role })

const roles: [grants: readonly RoleGrant[], workspaceId: string, role: Role | undefined][] = [
  [[], 'main', undefined],
  [[grant('main', 'analyst')], 'main', 'analyst'],
  [[grant('main', 'analyst')], 'shop', undefined],
  [[grant('main', 'analyst')], 'MAIN', undefined],
  [[grant('main', 'analyst')], '*', undefined],
  [[grant('*', 'owner')], 'main', 'owner'],
  [[grant('*', 'owner')], '*', 'owner'],
  [[grant('*', 'owner'), grant('main', 'analyst')], 'main', 'analyst'],
  [[grant('main', 'analyst'), grant('*', 'owner')], 'main', 'analyst'],
  [[grant('*', 'owner'), grant('main', 'analyst')], 'shop', 'owner'],
]

describe('The role in a workspace', () => {
  it.each(roles)('of %j in %s is %s', (grants, workspaceId, role) => {
    expect(roleIn(grants, workspaceId)).toBe(role)
  })

  it('is one of four words, exactly', () => {
    expect(ROLES.map((role) => toRole(role))).toEqual(['owner', 'developer', 'marketer', 'analyst'])
    expect(['Owner', 'admin', ''].map((text) => toRole(text))).toEqual([undefined, undefined, undefined])
  })
})

describe('A session', () => {
  const ends: [createdAt: number, lastSeenAt: number, end: number][] = [
    [0, 0, 12 * HOUR_MS],
    [0, 5 * DAY_MS, 5 * DAY_MS + 12 * HOUR_MS],
    [0, 29.5 * DAY_MS, 30 * DAY_MS],
    [0, 30 * DAY_MS - 1, 30 * DAY_MS],
  ]
  it.each(ends)('that began at %i and was used at %i ends at %i', (createdAt, lastSeenAt, end) => {
    expect(sessionEndsAt({ createdAt, lastSeenAt })).toBe(end)
  })

  it('lasts 12 hours without a request, and 30 days at most', () => {
    expect([SESSION_IDLE_MS, SESSION_MS_MAX]).toEqual([12 * HOUR_MS, 30 * DAY_MS])
  })
})

describe('An access link', () => {
  it('works for 30 minutes, an invitation for seven days', () => {
    expect(ACCESS_LINK_MS).toEqual({ setup: 30 * MINUTE_MS, invitation: 7 * DAY_MS, reset: 30 * MINUTE_MS })
  })

  it('has its token in the fragment, which browsers send to no server', () => {
    const paths = ACCESS_LINK_KINDS.map((kind) => accessLinkPath(kind, 'TOKEN'))
    expect(paths).toEqual(['/dashboard/setup#TOKEN', '/dashboard/invitation#TOKEN', '/dashboard/reset#TOKEN'])
    expect(new URL(paths[0] as string, 'http://localhost').pathname).toBe('/dashboard/setup')
  })
})

describe('A person', () => {
  it.each([
    ['ada@example.com', undefined],
    [' ada@example.com ', undefined],
    ['ada@bücher.example', undefined],
    ['ada', 'must be an email address'],
    ['ada@example.com, grace@example.com', 'must be an email address'],
  ])('with the address %s: %s', (email, problem) => {
    expect(personEmailProblem(email)).toBe(problem)
  })

  it.each([
    ['Ada', undefined],
    ['  ', 'must not be empty'],
    ['x'.repeat(129), 'must have at most 128 characters'],
    ['A\u202eda', 'must not contain control, format, unassigned or private-use characters, such as U+202E'],
  ])('with the name %s: %s', (name, problem) => {
    expect(personNameProblem(name)).toBe(problem)
  })

  it('is named by the address in proofs, a key by its tile', () => {
    const person = { kind: 'person', personId: 'p', email: 'ada@example.com', sessionId: 's', role: 'owner' } as const
    expect(toActorName(person)).toBe('person:ada@example.com')
    expect(toActorName({ kind: 'key', tile: 'data' })).toBe('key:data')
    expect(() => toActorName({ kind: 'none' })).toThrow('no credential')
  })
})
