// Names that campaigns are known to have, in memory, so that a report with no others needs no look at the table.
import { NAME_KINDS, type CampaignNames } from '../../core/campaigns/campaign-names.ts'

/** Names in memory; each takes at most some 350 bytes. */
const KNOWN_MAX = 50_000

/** Those of the campaigns that were reported of least recently are dropped first. What is not here may well be in the table. */
export class KnownNames {
  /** By the number of the campaign, in the order in which they were asked for last. */
  readonly #names = new Map<number, CampaignNames>()
  #count = 0

  find(campaign: number): CampaignNames | undefined {
    const known = this.#names.get(campaign)
    if (!known) return undefined
    this.#names.delete(campaign)
    this.#names.set(campaign, known)
    return known
  }

  /** Keeps all names of a campaign that are in the table. */
  keep(campaign: number, names: CampaignNames): void {
    this.#forget(campaign)
    this.#names.set(campaign, names)
    this.#count += sizeOf(names)
    for (const oldest of this.#names.keys()) {
      if (this.#count <= KNOWN_MAX) break
      this.#forget(oldest)
    }
  }

  #forget(campaign: number): void {
    const known = this.#names.get(campaign)
    if (!known) return
    this.#count -= sizeOf(known)
    this.#names.delete(campaign)
  }
}

function sizeOf(names: CampaignNames): number {
  return NAME_KINDS.reduce((size, kind) => size + names[kind].size, 0)
}
