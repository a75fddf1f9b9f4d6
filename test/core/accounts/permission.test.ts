// Who has which permission (`docs/api/people.md`). The suite about roles over HTTP checks that the operations obey this table.
import { describe, expect, it } from 'vitest'
import { isSufficient, rolesOf, tilesOf, type Credential } from '../../../src/core/accounts/credential.ts'
import { PERMISSIONS, type Permission } from '../../../src/core/accounts/permission.ts'
import { ROLES, type Role } from '../../../src/core/accounts/role.ts'

const permissions = Object.keys(PERMISSIONS) as Permission[]
const having = (role: Role) => permissions.filter((permission) => rolesOf(permission).includes(role))
const personWith = (role: Role | undefined): Credential => {
  return { kind: 'person', personId: 'p', email: 'ada@example.com', sessionId: 's', role }
}

describe('Permissions', () => {
  it('are all an owner’s', () => {
    expect(having('owner')).toEqual(permissions)
  })

  it('of an analyst show no personal data, and change nothing', () => {
    expect(having('analyst').toSorted()).toEqual([
      'campaigns.read',
      'categories.read',
      'coupons.read',
      'templates.read',
      'workspace.read',
    ])
  })

  it.each<[Permission, readonly Role[]]>([
    ['templates.write', ['owner', 'marketer']],
    ['coupons.codes', ['owner', 'marketer']],
    ['campaigns.write', ['owner', 'marketer']],
    ['segments.write', ['owner', 'marketer']],
    ['campaigns.report', ['owner']],
    ['messages.read', ['owner', 'marketer']],
    ['senders.write', ['owner', 'developer']],
    ['users.write', ['owner', 'developer', 'marketer']],
    ['events.read', ['owner', 'developer']],
    ['events.names', ['owner', 'developer', 'marketer']],
    ['settings.write', ['owner', 'developer']],
    ['keys.write', ['owner', 'developer']],
    ['people.write', ['owner']],
    ['people.read', ['owner']],
    ['audit.read', ['owner']],
  ])('%s belongs to %j', (permission, roles) => {
    expect(ROLES.filter((role) => rolesOf(permission).includes(role))).toEqual(roles)
  })

  it.each<Permission>([
    'settings.write',
    'categories.write',
    'keys.read',
    'keys.write',
    'people.read',
    'people.write',
    'parked.write',
    'audit.read',
    'system.read',
  ])('%s is for people only: a key that leaked must not make itself at home', (permission) => {
    expect(tilesOf(permission)).toEqual([])
    expect(isSufficient({ kind: 'key', tile: 'data' }, permission)).toBe(false)
    expect(isSufficient({ kind: 'key', tile: 'reports' }, permission)).toBe(false)
  })

  it.each(permissions)('%s is refused to nobody, and to a person without a role', (permission) => {
    expect(isSufficient({ kind: 'none' }, permission)).toBe(false)
    expect(isSufficient(personWith(undefined), permission)).toBe(false)
    expect(isSufficient(personWith('owner'), permission)).toBe(true)
  })

  it('are not needed where a session is enough, or nothing is required', () => {
    expect(isSufficient(personWith(undefined), 'session')).toBe(true)
    expect(isSufficient({ kind: 'key', tile: 'data' }, 'session')).toBe(false)
    expect(isSufficient({ kind: 'none' }, 'session')).toBe(false)
    for (const required of ['nothing', 'optional', 'signature'] as const) {
      expect(isSufficient({ kind: 'none' }, required)).toBe(true)
    }
  })
})
