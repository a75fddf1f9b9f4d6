// Places people of a campaign's audience: the group and variation of each, and why some are not sent to ("Freeze"). The freeze of a run
// and its estimate share it. Duplicates are found later, over the whole run (`core/delivery/audience/duplicates.ts`).
import type { Group } from '../../core/campaigns/facts.ts'
import { agreesTo } from '../../core/delivery/audience/consent.ts'
import type { Delivery } from '../../core/delivery/delivery.ts'
import { capsSince, isCapped } from '../../core/delivery/audience/frequency-caps.ts'
import type { RemovalReason } from '../../core/delivery/message-state.ts'
import {
  chooseTemplate,
  type PinnedTemplate,
  type PinnedVariation,
} from '../../core/delivery/audience/pinned-variation.ts'
import type { Suppression } from '../../core/delivery/suppression.ts'
import { NOTHING_SET } from '../../core/users/preference.ts'
import type { Workspace } from '../../core/workspace.ts'
import { listCapUses } from '../../store/delivery/message-claims.ts'
import { findSuppressions } from '../../store/senders/suppressions.ts'
import type { Store } from '../../store/store.ts'
import { findPreferences } from '../../store/users/preferences.ts'
import { bucketOf, pickByShare } from './bucket.ts'

/** A person of the audience with an address. */
export interface Candidate {
  readonly userId: number
  /** The customer id that the person had first. */
  readonly customerId: string
  readonly emailKey: string
  /** The attribute `locale`, if it is a text. */
  readonly locale: string | null
}

/** What decides where people are placed. */
export interface PlacementRules {
  readonly workspace: Pick<Workspace, 'id' | 'globalControlSeed' | 'globalControlPercent' | 'frequencyCaps'>
  readonly delivery: Pick<Delivery, 'consent' | 'category' | 'campaignControlPercent' | 'globalControl' | 'capped'>
  readonly variations: readonly PinnedVariation[]
  /** The campaign's seed. */
  readonly seed: string
  readonly now: number
}

export interface Placed {
  readonly group: Group
  /** Null in control groups, which are sent nothing. */
  readonly variation: string | null
  /** That of the template; a control group is counted under the one that it would have been sent. */
  readonly template: PinnedTemplate
  /** Only of targets. */
  readonly removed: RemovalReason | undefined
}

/** Each candidate's place, in their order. Groups come before removals, so that they differ in nothing but the mail. */
export async function placePeople(
  store: Store,
  rules: PlacementRules,
  candidates: readonly Candidate[],
): Promise<Placed[]> {
  const refusals = await findRefusals(store, rules, candidates)
  return candidates.map((candidate) => {
    const { customerId, locale } = candidate
    const group = groupOf(rules, customerId)
    const variation = pickByShare(rules.variations, bucketOf('variation', rules.seed, customerId))
    const template = chooseTemplate(variation, locale)
    if (group !== 'target') return { group, variation: null, template, removed: undefined }
    return { group, variation: variation.name, template, removed: refusals.reasonFor(candidate) }
  })
}

function groupOf({ workspace, delivery, seed }: PlacementRules, customerId: string): Group {
  const { globalControlSeed, globalControlPercent } = workspace
  const isIn = (percent: number, at: () => number) => percent > 0 && at() * 100 < percent
  if (
    delivery.globalControl &&
    isIn(globalControlPercent, () => bucketOf('global_control', globalControlSeed, customerId))
  ) {
    return 'global_control'
  }
  const isControl = isIn(delivery.campaignControlPercent, () => bucketOf('campaign_control', seed, customerId))
  return isControl ? 'campaign_control' : 'target'
}

/** Why people must not be sent to now. */
export interface Refusals {
  /** The first reason that holds; undefined if none does. Never `…_duplicate`. */
  readonly reasonFor: (person: Pick<Candidate, 'userId' | 'emailKey'>) => RemovalReason | undefined
}

type RefusalRules = Pick<PlacementRules, 'delivery' | 'now'> & {
  readonly workspace: Pick<Workspace, 'id' | 'frequencyCaps'>
}

/** Looks up suppressions, consent and frequency caps of people, at the freeze and again when their turn comes. */
export async function findRefusals(
  store: Store,
  { workspace, delivery, now }: RefusalRules,
  people: readonly Pick<Candidate, 'userId' | 'emailKey'>[],
): Promise<Refusals> {
  const userIds = people.map(({ userId }) => userId)
  const suppressions = await findSuppressions(
    store,
    workspace.id,
    people.map(({ emailKey }) => emailKey),
  )
  const preferences = await findPreferences(store, userIds)
  const caps = delivery.capped ? workspace.frequencyCaps : []
  const uses = caps.length > 0 ? await listCapUses(store, userIds, capsSince(caps, now)) : new Map<number, number[]>()
  return {
    reasonFor({ userId, emailKey }) {
      const suppression = suppressions.get(emailKey)
      if (suppression) return removalBy(suppression)
      if (!agreesTo(delivery, preferences.get(userId)?.preference ?? NOTHING_SET)) return 'user_removed_due_to_opt_out'
      return isCapped(caps, uses.get(userId) ?? [], now) ? 'user_removed_due_to_frequency_capping' : undefined
    },
  }
}

/** An address that somebody suppressed by hand must not be sent to, as one that bounced for good. */
function removalBy({ reason }: Suppression): RemovalReason {
  return reason === 'complaint' ? 'user_removed_due_to_complaint' : 'user_removed_due_to_hard_bounce'
}
