// The credential with which a caller proves its identity, and the operations that it permits. It must not know how a credential
// travels or is stored.

/** The tiles of the document's dashboard: `data`, and `reports` for "Campaign report / Business events / …". */
export const KEY_TILES = ['data', 'reports'] as const
export type KeyTile = (typeof KEY_TILES)[number]

/** An API key of one tile. */
export type Credential = { readonly kind: 'key'; readonly tile: KeyTile }

/** What an operation requires of the caller: the key of one tile, or of either. */
export type Requirement = KeyTile | 'either'

/** The only place that decides whether a credential may use an operation. */
export function isSufficient({ tile }: Credential, required: Requirement): boolean {
  return required === 'either' || required === tile
}
