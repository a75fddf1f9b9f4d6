// Saves when API keys were last used. The server notes that in memory, once a minute for each key.
import type { Database } from '../store/store.ts'
import { saveKeyUses, type KeyUse } from '../store/workspaces/key-uses.ts'
import type { Job } from './job.ts'

const SAVE_EVERY_MS = 1_000

/** Uses noted in memory. */
export interface NotedUses {
  /** Writes what was noted since the last save; again with the next call if `save` rejects. */
  save(save: (uses: readonly KeyUse[]) => Promise<void>): Promise<void>
}

export interface SaveKeyUsesOptions {
  readonly database: Database
  readonly keyUses: NotedUses
}

export function saveNotedUses(options: SaveKeyUsesOptions): Job {
  return {
    name: 'save when API keys were last used',
    everyMs: SAVE_EVERY_MS,
    run: () => saveAllUses(options),
  }
}

/** Also the last save of an orderly stop, after the last request. */
export function saveAllUses({ database, keyUses }: SaveKeyUsesOptions): Promise<void> {
  return keyUses.save((uses) => database.write((store) => saveKeyUses(store, uses)))
}
