// Which numbers of one campaign a user's message events can change while the audiences stay as they are: all other numbers are
// the same before and after, and need not be counted.
import type { CampaignHistory } from './campaign-history.ts'
import { AUDIENCE, UNIT_ACTIVE_DEVICES, UNIT_DEVICES, UNIT_IMPRESSION, UNIT_SENT, type Metric } from './cells.ts'
import type { MessageEvent, MessageKind } from '../campaigns/facts.ts'
import type { GroupingSetsOf, SharedGroupingSets } from './grouping-sets.ts'

/** Applies to performance and units; conversions depend on more. */
export interface AffectedMetrics {
  readonly kinds: ReadonlySet<MessageKind>
  /** Those of the places of the message events. */
  readonly groupingSets: ReadonlySet<SharedGroupingSets>
}

/** What the message events of `changed` can change, which the user has, or had, in the campaign of `past`. */
export function affectedMetrics(
  history: CampaignHistory,
  groupingSets: GroupingSetsOf,
  changed: readonly MessageEvent[],
): AffectedMetrics {
  const [kinds, own] = [new Set<MessageKind>(), new Set<SharedGroupingSets>()]
  for (const message of changed) {
    kinds.add(message.kind)
    for (const shared of groupingSets.at(history.dimensionsOf(message))) own.add(shared)
  }
  return { kinds, groupingSets: own }
}

/** Whether message events of these kinds can change a metric of units. */
export function affectsUnits(kinds: ReadonlySet<MessageKind>, metric: Metric): boolean {
  switch (metric) {
    case AUDIENCE:
      return false
    case UNIT_DEVICES:
      return kinds.size > 0
    case UNIT_IMPRESSION:
      return kinds.has('sent') || kinds.has('impression')
    case UNIT_SENT:
    case UNIT_ACTIVE_DEVICES:
      return kinds.has('sent')
    default:
      // What became of a unit, and why.
      return kinds.has('sent') || kinds.has('failed')
  }
}
