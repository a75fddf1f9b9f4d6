// Cuts the campaigns of one user into portions with so few facts that one of them is always in memory at once.
import { countMemberships } from '../store/memberships.ts'
import { countMessageEvents } from '../store/message-events.ts'
import type { CampaignFacts, CountedRange } from '../store/fact-table.ts'
import { EVERY_CAMPAIGN, type CampaignRange } from '../store/kept-series.ts'
import type { Store } from '../store/store.ts'
import type { Person } from '../store/users.ts'

/** Campaigns of a user that are counted together. All portions of a user together hold every campaign that there may be. */
export interface CampaignPortion extends CampaignRange {
  /** Those of which the user has any facts. */
  readonly campaigns: ReadonlySet<number>
}

interface Plan {
  /** Facts of one portion, unless it is a single campaign with more. */
  readonly factsMax: number
  /** Asked between two statements; where it says no, what comes back is of no use. */
  readonly goesOn: () => Promise<boolean>
}

/** At least one portion, in the order of the campaigns' numbers. */
export async function planPortions(store: Store, { customers }: Person, plan: Plan): Promise<CampaignPortion[]> {
  const facts = new Map<number, number>()
  for (const customer of customers) {
    for (const count of [countMemberships, countMessageEvents]) {
      const read = (range: CountedRange) => count(store, customer, range)
      if (!(await addFacts(facts, read, plan))) return [{ ...EVERY_CAMPAIGN, campaigns: new Set() }]
    }
  }
  return toPortions(facts, plan.factsMax)
}

/** Of a campaign with at least `factsMax` facts nothing but that is known. False where it was given up. */
async function addFacts(
  facts: Map<number, number>,
  read: (range: CountedRange) => Promise<CampaignFacts[]>,
  { factsMax, goesOn }: Plan,
): Promise<boolean> {
  let { after } = EVERY_CAMPAIGN
  while (await goesOn()) {
    const counts = await read({ after, max: factsMax })
    const isAll = counts.reduce((sum, one) => sum + one.facts, 0) < factsMax
    // The last one may have been cut off; next time it is the first.
    const whole = isAll || counts.length === 1 ? counts : counts.slice(0, -1)
    for (const { campaign, facts: more } of whole) facts.set(campaign, (facts.get(campaign) ?? 0) + more)
    if (isAll) return true
    after = whole.at(-1)?.campaign ?? after
  }
  return false
}

function toPortions(facts: ReadonlyMap<number, number>, factsMax: number): CampaignPortion[] {
  const portions: CampaignPortion[] = []
  let { after } = EVERY_CAMPAIGN
  let [campaigns, sum] = [new Set<number>(), 0]
  for (const [campaign, more] of [...facts].toSorted(([left], [right]) => left - right)) {
    if (campaigns.size > 0 && sum + more > factsMax) {
      portions.push({ after, campaigns, until: campaign - 1 })
      after = campaign - 1
      ;[campaigns, sum] = [new Set(), 0]
    }
    campaigns.add(campaign)
    sum += more
  }
  return [...portions, { after, campaigns, until: EVERY_CAMPAIGN.until }]
}
