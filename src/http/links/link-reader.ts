// Reads the tokens in links of messages: checks them, and finds the run that they belong to. Runs are cached, so that a hit of a
// recent run needs no query.
import { LRUCache } from 'lru-cache'
import { isGenuine, readToken, type TokenPurpose } from '../../actions/links/link-token.ts'
import { findLinkedRun, type LinkedRun } from '../../store/delivery/linked-messages.ts'
import type { Store } from '../../store/store.ts'
import type { WorkspaceRegistry } from '../workspace-registry.ts'

/** The most links of all cached runs, of some 100 bytes each. A run counts as one link more. */
const CACHED_LINKS_MAX = 100_000

/** What a genuine token names. */
export interface OpenedLink {
  readonly run: LinkedRun
  /** `messages.number`; 0 in tests, which belong to nobody. */
  readonly message: number
  /** `run_links.number`; 0 if the token is not of a link. */
  readonly link: number
}

export class LinkReader {
  readonly #registry: WorkspaceRegistry
  readonly #runs: LRUCache<number, LinkedRun>

  constructor(database: Store, registry: WorkspaceRegistry) {
    this.#registry = registry
    this.#runs = new LRUCache({
      maxSize: CACHED_LINKS_MAX,
      sizeCalculation: ({ links }) => links.length + 1,
      // Requests that ask at the same time share one query.
      fetchMethod: (number) => findLinkedRun(database, number),
    })
  }

  /** Undefined for everything that is no token for this purpose, no matter why. */
  async open(text: string, purpose: TokenPurpose): Promise<OpenedLink | undefined> {
    const token = readToken(text)
    if (token?.purpose !== purpose) return undefined
    const run = await this.#runs.fetch(token.run)
    const key = run && this.linkKeyOf(run)
    if (!key || !isGenuine(token, key)) return undefined
    return { run, message: token.message, link: token.link }
  }

  /** The key that signs the tokens of a run. A suspended workspace keeps it: people must still be able to unsubscribe. */
  linkKeyOf({ workspaceId }: LinkedRun): string | undefined {
    return this.#registry.get(workspaceId)?.workspace.linkKey
  }
}
