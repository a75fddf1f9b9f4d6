// Cuts the campaigns of one user into portions, each small enough for memory; they are counted one by one.
import { countMemberships } from '../../store/campaigns/memberships.ts'
import { countMessageEvents } from '../../store/campaigns/message-events.ts'
import {
  EVERY_CAMPAIGN,
  type CampaignFacts,
  type CampaignRange,
  type CountedRange,
} from '../../store/campaigns/fact-table.ts'
import type { Store } from '../../store/store.ts'
import type { UserWithAliases } from '../../store/users/users.ts'

/** Campaigns of a user that are counted together. All portions of a user together cover every campaign that there may be. */
export interface CampaignPortion extends CampaignRange {
  /** Those in which the user has facts; the user has none in the others between the two ends. */
  readonly campaigns: ReadonlySet<number>
  /** The customer ids of the user with memberships in these … */
  readonly members: ReadonlySet<number>
  /** … and with message events of these. */
  readonly recipients: ReadonlySet<number>
}

/** What a user has of one campaign. */
export interface CampaignLoad {
  /** How many facts; if one customer id has at least `factsMax` of one kind, only that is known of these. */
  readonly facts: number
  /** The customer ids with memberships, and with message events, each once. */
  readonly members: readonly number[]
  readonly recipients: readonly number[]
}

/** Campaign → what a user has of it, in the order of the campaigns' numbers. */
export type CampaignLoads = ReadonlyMap<number, CampaignLoad>

interface Plan {
  /** The most facts that one statement counts. */
  readonly factsMax: number
  /** Asked between two statements; if it says no, the result is of no use. */
  readonly goesOn: () => Promise<boolean>
}

/**
 * What a user has of each campaign, so that portions can be cut before any fact is read. Incomplete if the count is given up
 * (`goesOn`).
 */
export async function loadsOf(store: Store, { customers }: UserWithAliases, plan: Plan): Promise<CampaignLoads> {
  const loads = new Map<number, DraftLoad>()
  for (const customer of customers) {
    for (const [count, of] of [
      [countMemberships, 'members'],
      [countMessageEvents, 'recipients'],
    ] as const) {
      for await (const { campaign, facts } of countsOf((range) => count(store, customer, range), plan)) {
        const load = loads.get(campaign) ?? { facts: 0, members: [], recipients: [] }
        load.facts += facts
        load[of].push(customer)
        loads.set(campaign, load)
      }
    }
  }
  return new Map([...loads].toSorted(([left], [right]) => left - right))
}

interface DraftLoad {
  facts: number
  readonly members: number[]
  readonly recipients: number[]
}

/** Each campaign once, and how many facts there are; of one with at least `factsMax`, only that is known. */
async function* countsOf(
  read: (range: CountedRange) => Promise<CampaignFacts[]>,
  { factsMax, goesOn }: Plan,
): AsyncGenerator<CampaignFacts, void, undefined> {
  let { after } = EVERY_CAMPAIGN
  while (await goesOn()) {
    const counts = await read({ after, max: factsMax })
    const isAll = counts.reduce((sum, one) => sum + one.facts, 0) < factsMax
    // The last one may have been cut off; next time it is the first.
    const whole = isAll || counts.length === 1 ? counts : counts.slice(0, -1)
    yield* whole
    if (isAll) return
    after = whole.at(-1)?.campaign ?? after
  }
}

/** At least one portion, in the order of the campaigns' numbers. None weighs more than `max`, unless it is a single campaign. */
export function cutPortions(
  loads: CampaignLoads,
  weightOf: (campaign: number, load: CampaignLoad) => number,
  max: number,
): CampaignPortion[] {
  const portions: CampaignPortion[] = []
  let { after } = EVERY_CAMPAIGN
  let [draft, sum] = [emptyDraft(), 0]
  for (const [campaign, load] of loads) {
    const weight = weightOf(campaign, load)
    if (draft.campaigns.size > 0 && sum + weight > max) {
      portions.push({ ...draft, after, until: campaign - 1 })
      after = campaign - 1
      ;[draft, sum] = [emptyDraft(), 0]
    }
    draft.campaigns.add(campaign)
    for (const customer of load.members) draft.members.add(customer)
    for (const customer of load.recipients) draft.recipients.add(customer)
    sum += weight
  }
  return [...portions, { ...draft, after, until: EVERY_CAMPAIGN.until }]
}

function emptyDraft() {
  return { campaigns: new Set<number>(), members: new Set<number>(), recipients: new Set<number>() }
}
