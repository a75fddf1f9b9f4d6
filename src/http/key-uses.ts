// Collects in memory when each API key was used, so that requests cause no query. `jobs/save-key-uses.ts` writes it to the store.
import type { KeyUse } from '../store/workspaces/key-uses.ts'

/** How often the use of one key is noted. */
const NOTE_EVERY_MS = 60_000

export class KeyUses {
  /** Hash of a key → its last noted use. Only valid keys are noted, so there are few. */
  readonly #noted = new Map<string, number>()
  readonly #unsaved = new Map<string, KeyUse>()

  /** Notes the use of a valid key, unless one was noted within a minute. */
  note(workspaceId: string, keyHash: string, usedAt: number): void {
    const last = this.#noted.get(keyHash)
    // The clock may have been set back.
    if (last !== undefined && Math.abs(usedAt - last) < NOTE_EVERY_MS) return
    this.#noted.set(keyHash, usedAt)
    this.#unsaved.set(keyHash, { workspaceId, keyHash, usedAt })
  }

  /** Saves what was noted since the last save. If `save` rejects, the next call saves it again. */
  async save(save: (uses: readonly KeyUse[]) => Promise<void>): Promise<void> {
    const unsaved = [...this.#unsaved.values()]
    if (unsaved.length === 0) return
    this.#unsaved.clear()
    try {
      await save(unsaved)
    } catch (error) {
      for (const use of unsaved) if (!this.#unsaved.has(use.keyHash)) this.#unsaved.set(use.keyHash, use)
      throw error
    }
  }
}
