// Notes the names that campaigns got from reports made before there was a table of names, as far as these are applied. Takes
// them from the facts, because in the counts a place cannot be told from a sum of places any more.
import {
  namesOfAudience,
  namesOfMessages,
  PLACES_MAX,
  REASONS_MAX,
  type CampaignNames,
  type NameKind,
  type ReportedNames,
} from '../../core/campaigns/campaign-names.ts'
import { addCampaignNames, listCampaignNames } from './campaign-names.ts'
import { cutMemberships, listAudienceNames, type AudienceNames } from './memberships.ts'
import { cutMessageEvents, listFailureReasons } from './message-events.ts'
import type { Store } from '../store.ts'

/** How many facts one statement looks into, and so how many names there can be in memory. */
const FACTS_PER_PORTION = 20_000

/** How many names of each kind. */
type NameCounts = Record<NameKind, number>

const MAX = { place: PLACES_MAX, reason: REASONS_MAX } as const satisfies Record<NameKind, number>

/**
 * To be called by the migration. If a campaign has more names than it may have, only as many as it may have are noted; a
 * process of a version that has the table already, and adds names meanwhile, may add a few more.
 */
export async function fillCampaignNames(store: Store, { factsPerPortion = FACTS_PER_PORTION } = {}): Promise<void> {
  const filler = new Filler(store)
  for await (const range of cutMemberships(store, factsPerPortion)) {
    const names = await listAudienceNames(store, range)
    await filler.addAll(names, (own) => namesOfAudience(own.map(toMember)))
  }
  for await (const range of cutMessageEvents(store, factsPerPortion)) {
    const failures = await listFailureReasons(store, range)
    await filler.addAll(failures, (own) => namesOfMessages(own.map(({ reason }) => ({ kind: 'failed', reason }))))
  }
}

function toMember({ platform, locale, variation, removed }: AudienceNames) {
  return {
    platform,
    ...(locale !== null && { locale }),
    ...(variation !== null && { variation }),
    ...(removed !== null && { removed }),
  }
}

class Filler {
  readonly #store: Store
  /** How many names a campaign has, by its number; holds all campaigns, since operators make them. */
  readonly #counts = new Map<number, NameCounts>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Adds the names in a portion of facts to their campaigns. */
  async addAll<Row extends { readonly campaign: number }>(
    rows: readonly Row[],
    toNames: (rows: readonly Row[]) => ReportedNames,
  ): Promise<void> {
    const wanted = new Map<number, CampaignNames>()
    for (const [campaign, own] of Map.groupBy(rows, (row) => row.campaign)) {
      wanted.set(campaign, await this.#findWanted(campaign, toNames(own)))
    }
    for (const { campaign, kind } of await addCampaignNames(this.#store, wanted)) {
      const counts = this.#counts.get(campaign)
      if (counts) counts[kind]++
    }
  }

  /** Which of the names are there already matters only where there may not be room for all. */
  async #findWanted(campaign: number, names: ReportedNames): Promise<CampaignNames> {
    let counts = this.#counts.get(campaign)
    if (!counts) {
      counts = await this.#countNames(campaign)
      this.#counts.set(campaign, counts)
    }
    const { place, reason } = counts
    const fits = place + names.place.size <= PLACES_MAX && reason + names.reason.size <= REASONS_MAX
    return fits ? allOf(names) : this.#findFresh(campaign, names)
  }

  async #countNames(campaign: number): Promise<NameCounts> {
    const { place, reason } = await listCampaignNames(this.#store, campaign)
    return { place: place.size, reason: reason.size }
  }

  /** As many of the names that are not there yet as there is room for. */
  async #findFresh(campaign: number, names: ReportedNames): Promise<CampaignNames> {
    const known = await listCampaignNames(this.#store, campaign)
    const freshOf = (kind: NameKind) => {
      const fresh = [...names[kind].keys()].filter((name) => !known[kind].has(name))
      return new Set(fresh.slice(0, Math.max(0, MAX[kind] - known[kind].size)))
    }
    return { place: freshOf('place'), reason: freshOf('reason') }
  }
}

function allOf(names: ReportedNames): CampaignNames {
  return { place: new Set(names.place.keys()), reason: new Set(names.reason.keys()) }
}
