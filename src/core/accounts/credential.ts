// The credential with which a caller proves its identity, and the operations that it permits. It must not know how a credential
// travels or is stored.
import type { KeyTile } from './key-tile.ts'
import { PERMISSIONS, type Permission } from './permission.ts'
import type { Role } from './role.ts'

export interface PersonCredential {
  readonly kind: 'person'
  /** The public id of the person. */
  readonly personId: string
  readonly email: string
  /** The public id of the session. */
  readonly sessionId: string
  /** The role in the workspace of the request; undefined without a role there. */
  readonly role: Role | undefined
}

/** An API key of one tile, a person who signed in, or nothing. */
export type Credential = { readonly kind: 'key'; readonly tile: KeyTile } | PersonCredential | { readonly kind: 'none' }

/**
 * What an operation requires of the caller: a permission in the workspace, or one of these. `optional`: nothing, but a key that is
 * sent must be right. `signature`: the operation itself checks a proof of another kind, and the header Authorization is not ours.
 * `session`: a person who signed in, in no workspace. `nothing`: anybody, in no workspace.
 */
export type Requirement = Permission | 'optional' | 'signature' | 'session' | 'nothing'

/** Whether the operation takes requests without a key. Their workspace is that of the path. */
export function isKeyless(required: Requirement): required is 'optional' | 'signature' {
  return required === 'optional' || required === 'signature'
}

/** Whether the operation belongs to no workspace. */
export function isOutsideWorkspaces(required: Requirement): required is 'session' | 'nothing' {
  return required === 'session' || required === 'nothing'
}

/** The only place that decides whether a credential may use an operation. */
export function isSufficient(credential: Credential, required: Requirement): boolean {
  if (isKeyless(required) || required === 'nothing') return true
  if (required === 'session') return credential.kind === 'person'
  if (credential.kind === 'key') return tilesOf(required).includes(credential.tile)
  return credential.kind === 'person' && credential.role !== undefined && rolesOf(required).includes(credential.role)
}

/** The tiles whose keys have a permission; empty if only people have it. */
export function tilesOf(permission: Permission): readonly KeyTile[] {
  return PERMISSIONS[permission].tiles
}

/** The roles that have a permission. Owners have all. */
export function rolesOf(permission: Permission): readonly Role[] {
  return ['owner', ...PERMISSIONS[permission].roles]
}

/** Who made a change, as proofs of consent and erasures name it. */
export function toActorName(credential: Credential): `key:${KeyTile}` | `person:${string}` {
  switch (credential.kind) {
    case 'key':
      return `key:${credential.tile}`
    case 'person':
      return `person:${credential.email}`
    case 'none':
      throw new Error('the caller has no credential')
  }
}
