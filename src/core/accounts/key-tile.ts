// The two tiles of API keys in the document's dashboard.

/** `data`, and `reports` for "Campaign report / Business events / …". */
export const KEY_TILES = ['data', 'reports'] as const
export type KeyTile = (typeof KEY_TILES)[number]
