// The credential with which a caller proves its identity, and the operations that it permits. It must not know how a credential
// travels or is stored.

/** The tiles of the document's dashboard: `data`, and `reports` for "Campaign report / Business events / …". */
export const KEY_TILES = ['data', 'reports'] as const
export type KeyTile = (typeof KEY_TILES)[number]

/** An API key of one tile, or nothing. */
export type Credential = { readonly kind: 'key'; readonly tile: KeyTile } | { readonly kind: 'none' }

/**
 * What an operation requires of the caller: the key of one tile, or of either. `optional`: nothing, but a key that is sent must be
 * right. `signature`: the operation itself checks a proof of another kind, and the header Authorization is not ours.
 */
export type Requirement = KeyTile | 'either' | 'optional' | 'signature'

/** Whether the operation takes requests without a key. Their workspace is that of the path. */
export function isKeyless(required: Requirement): required is 'optional' | 'signature' {
  return required === 'optional' || required === 'signature'
}

/** The only place that decides whether a credential may use an operation. */
export function isSufficient(credential: Credential, required: Requirement): boolean {
  if (isKeyless(required)) return true
  return credential.kind === 'key' && (required === 'either' || required === credential.tile)
}

/** The tile of the caller's key. Not for operations without one. */
export function tileOf(credential: Credential): KeyTile {
  if (credential.kind === 'key') return credential.tile
  throw new Error('the caller has no key')
}
