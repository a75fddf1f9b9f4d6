// Caches the stored names of campaigns, so that a report without new names needs no query. A name that is not cached may still be
// stored.
import { LRUCache } from 'lru-cache'
import { NAME_KINDS, type CampaignNames } from '../core/campaigns/campaign-names.ts'

/** Names of all campaigns together. Each takes at most some 350 bytes. */
const NAMES_MAX = 50_000

export class NameCache {
  /** By the number of the campaign. */
  readonly #names = new LRUCache<number, CampaignNames>({
    maxSize: NAMES_MAX,
    // A campaign without names takes memory too.
    sizeCalculation: (names) => Math.max(1, sizeOf(names)),
  })

  find(campaign: number): CampaignNames | undefined {
    return this.#names.get(campaign)
  }

  /** `names`: all stored names of the campaign. */
  set(campaign: number, names: CampaignNames): void {
    this.#names.set(campaign, names)
  }
}

function sizeOf(names: CampaignNames): number {
  return NAME_KINDS.reduce((size, kind) => size + names[kind].size, 0)
}
