// Notes the names that campaigns have from reports of before there was a table of names, as far as these are applied: from the facts,
// since what is counted tells a place from a sum of places no more.
import {
  NAME_KINDS,
  namesOfAudience,
  namesOfMessages,
  PLACES_MAX,
  REASONS_MAX,
  type CampaignNames,
  type NameKind,
  type ReportedNames,
} from '../core/campaign-names.ts'
import { addCampaignNames, listCampaignNames } from './campaign-names.ts'
import { cutMemberships, listAudienceNames, type AudienceNames } from './memberships.ts'
import { cutMessageEvents, listFailureReasons } from './message-events.ts'
import type { Store } from './store.ts'

/** Facts that one statement looks into, so that no more names than these are in memory. */
const FACTS_PER_PORTION = 20_000
/** Names of campaigns that are remembered from portion to portion; each takes some 350 bytes. */
const REMEMBERED_MAX = 50_000

const MAX = { place: PLACES_MAX, reason: REASONS_MAX } as const satisfies Record<NameKind, number>

/**
 * To be called by the migration, whose transaction is the first to know of the table: nobody else adds names meanwhile. Of a campaign
 * with more names than it may have, as many are noted as that.
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
  /** By the number of the campaign. */
  readonly #remembered = new Map<number, CampaignNames>()
  #count = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** Adds what a portion of facts names to each of its campaigns. */
  async addAll<Row extends { readonly campaign: number }>(
    rows: readonly Row[],
    toNames: (rows: readonly Row[]) => ReportedNames,
  ): Promise<void> {
    for (const [campaign, own] of Map.groupBy(rows, (row) => row.campaign)) await this.#add(campaign, toNames(own))
  }

  async #add(campaign: number, names: ReportedNames): Promise<void> {
    const known = this.#remembered.get(campaign) ?? (await listCampaignNames(this.#store, campaign))
    const freshOf = (kind: NameKind) => {
      const fresh = [...names[kind].keys()].filter((name) => !known[kind].has(name))
      return new Set(fresh.slice(0, Math.max(0, MAX[kind] - known[kind].size)))
    }
    const fresh = { place: freshOf('place'), reason: freshOf('reason') }
    await addCampaignNames(this.#store, campaign, fresh)
    const allOf = (kind: NameKind) => (fresh[kind].size > 0 ? new Set([...known[kind], ...fresh[kind]]) : known[kind])
    this.#remember(campaign, { place: allOf('place'), reason: allOf('reason') })
  }

  #remember(campaign: number, names: CampaignNames): void {
    this.#count += sizeOf(names) - sizeOf(this.#remembered.get(campaign))
    this.#remembered.set(campaign, names)
    if (this.#count <= REMEMBERED_MAX) return
    this.#remembered.clear()
    this.#count = 0
  }
}

function sizeOf(names: CampaignNames | undefined): number {
  return names ? NAME_KINDS.reduce((size, kind) => size + names[kind].size, 0) : 0
}
