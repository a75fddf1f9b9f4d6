// Caches all workspaces, so that requests need no query for authentication. Changes of other processes arrive by their revision
// within `REFRESH_MS`. Before a request is refused for its key or a field, the database is asked for changes. That query does not
// depend on the request: it is shared by all that wait, and takes equally long whether a workspace exists or not.
import { setTimeout as pause } from 'node:timers/promises'
import { KEY_TILES } from '../core/accounts/key-tile.ts'
import { listChangedSettings } from '../core/workspace.ts'
import type { Database } from '../store/store.ts'
import { listWorkspacesChangedSince, type StoredWorkspace } from '../store/workspaces/workspaces.ts'

/** Well below the second after which a replaced key must fail. */
export const REFRESH_MS = 400
/** The longest wait of `refreshSoon`. */
const SOON_MS_MAX = 1_000

export interface RegistryListeners {
  /** Called once when the database stops answering. */
  readonly onError: (error: unknown) => void
  /** Called with the names of the settings and keys that changed in a known workspace. */
  readonly onChange: (workspaceId: string, changed: readonly string[]) => void
}

export class WorkspaceRegistry {
  readonly #database: Database
  readonly #workspaces = new Map<string, StoredWorkspace>()
  #revision = 0
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  /** For callers that wait for the timer; undefined if there are none. */
  #scheduled: PromiseWithResolvers<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #onChange: RegistryListeners['onChange'] = () => {}

  constructor(database: Database) {
    this.#database = database
  }

  /** Reads everything once, then follows the changes. */
  async start({ onError, onChange }: RegistryListeners): Promise<void> {
    await this.refresh()
    this.#onChange = onChange
    let isFailing = false
    const again = async () => {
      const waiting = this.#scheduled
      this.#scheduled = undefined
      try {
        await this.refresh()
        waiting?.resolve()
        isFailing = false
      } catch (error) {
        waiting?.reject(error)
        if (!isFailing) onError(error)
        isFailing = true
      }
      this.#timer?.refresh()
    }
    this.#timer = setTimeout(() => void again(), REFRESH_MS).unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** The cached workspace; does not query. */
  get(id: string): StoredWorkspace | undefined {
    return this.#workspaces.get(id)
  }

  /**
   * Resolves when everything committed before this call is cached; rejects if the database does not answer. All callers in one turn
   * of the event loop, or during a running query, share the next query.
   */
  refreshShared(): Promise<void> {
    this.#next ??= this.#refreshNext()
    return this.#next
  }

  /** The same, but resolves after a second even if the database has not answered. */
  refreshSoon(): Promise<void> {
    return Promise.race([this.refreshShared(), pause(SOON_MS_MAX, undefined, { ref: false })])
  }

  /** The same as `refreshShared`, but without a query of its own: waits up to `REFRESH_MS` for the query of the timer. */
  awaitRefresh(): Promise<void> {
    this.#scheduled ??= Promise.withResolvers()
    return this.#scheduled.promise
  }

  async #refreshNext(): Promise<void> {
    await (this.#running?.catch(() => {}) ?? new Promise((resolve) => setImmediate(resolve)))
    this.#next = undefined
    this.#running = this.refresh().finally(() => (this.#running = undefined))
    return this.#running
  }

  async refresh(): Promise<void> {
    for (const stored of await listWorkspacesChangedSince(this.#database, this.#revision)) {
      this.#keep(stored)
      this.#revision = Math.max(this.#revision, stored.revision)
    }
  }

  /** Two refreshes may overtake each other; the newer revision stays. */
  #keep(stored: StoredWorkspace): void {
    const cached = this.#workspaces.get(stored.workspace.id)
    if (cached && cached.revision > stored.revision) return
    this.#workspaces.set(stored.workspace.id, stored)
    const changed = cached ? listChanges(cached, stored) : []
    if (changed.length > 0) this.#onChange(stored.workspace.id, changed)
  }
}

function listChanges(before: StoredWorkspace, after: StoredWorkspace): string[] {
  const tiles = KEY_TILES.filter((tile) => before.keys[tile].hash !== after.keys[tile].hash)
  return [...tiles.map((tile) => `${tile} key`), ...listChangedSettings(before.workspace, after.workspace)]
}
