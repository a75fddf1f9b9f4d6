// What operations need, and which keys and roles have it. Each operation names one permission. The only such table: the lifecycle,
// the OpenAPI document and the dashboard read it.
import type { KeyTile } from './key-tile.ts'
import type { Role } from './role.ts'

interface Holders {
  /** The tiles whose keys suffice; empty if only people have the permission. */
  readonly tiles: readonly KeyTile[]
  /** The roles besides `owner`, which has every permission. */
  readonly roles: readonly Exclude<Role, 'owner'>[]
}

const EITHER = ['data', 'reports'] as const

export const PERMISSIONS = {
  'templates.read': { tiles: ['data'], roles: ['marketer', 'analyst'] },
  'templates.write': { tiles: ['data'], roles: ['marketer'] },
  'coupons.read': { tiles: ['reports'], roles: ['marketer', 'analyst'] },
  'coupons.write': { tiles: ['reports'], roles: ['marketer'] },
  /** Codes, and who has them. */
  'coupons.codes': { tiles: ['reports'], roles: ['marketer'] },
  /** Campaigns and their numbers, without personal data. */
  'campaigns.read': { tiles: ['reports'], roles: ['marketer', 'analyst'] },
  'campaigns.write': { tiles: ['reports'], roles: ['marketer'] },
  /** Facts from other systems: audiences and message events. */
  'campaigns.report': { tiles: ['reports'], roles: [] },
  /** Messages to persons, with their addresses. */
  'messages.read': { tiles: ['reports'], roles: ['marketer'] },
  'segments.read': { tiles: ['reports'], roles: ['marketer'] },
  'segments.write': { tiles: ['reports'], roles: ['marketer'] },
  'senders.read': { tiles: ['reports'], roles: ['developer', 'marketer'] },
  'senders.write': { tiles: ['reports'], roles: ['developer'] },
  'suppressions.read': { tiles: ['reports'], roles: ['developer', 'marketer'] },
  'suppressions.write': { tiles: ['reports'], roles: ['developer', 'marketer'] },
  'users.read': { tiles: ['data'], roles: ['developer', 'marketer'] },
  'users.write': { tiles: ['data'], roles: ['developer', 'marketer'] },
  'events.read': { tiles: ['data'], roles: ['developer'] },
  /** Without personal data: for the conditions of goals and segments. */
  'events.names': { tiles: ['data'], roles: ['developer', 'marketer'] },
  'events.write': { tiles: ['data'], roles: ['developer'] },
  'requests.read': { tiles: EITHER, roles: ['developer'] },
  'parked.read': { tiles: EITHER, roles: ['developer'] },
  'parked.write': { tiles: [], roles: ['developer'] },
  'categories.read': { tiles: EITHER, roles: ['developer', 'marketer', 'analyst'] },
  'categories.write': { tiles: [], roles: ['developer', 'marketer'] },
  /** Small facts that every page needs: the name, the zone, what changed. */
  'workspace.read': { tiles: EITHER, roles: ['developer', 'marketer', 'analyst'] },
  'settings.read': { tiles: EITHER, roles: ['developer'] },
  'settings.write': { tiles: [], roles: ['developer'] },
  'keys.read': { tiles: [], roles: ['developer'] },
  'keys.write': { tiles: [], roles: ['developer'] },
  'people.read': { tiles: [], roles: [] },
  'people.write': { tiles: [], roles: [] },
  'audit.read': { tiles: [], roles: [] },
  'system.read': { tiles: [], roles: ['developer'] },
} as const satisfies { readonly [permission: string]: Holders }

export type Permission = keyof typeof PERMISSIONS
