// Finds the numbers of one campaign that new message events can change while audiences stay the same. All other numbers stay the
// same.
import type { CampaignHistory } from './campaign-history.ts'
import { AUDIENCE, UNIT_ACTIVE_DEVICES, UNIT_DEVICES, UNIT_IMPRESSION, UNIT_SENT, type Metric } from './cells.ts'
import type { MessageEvent, MessageKind } from '../campaigns/facts.ts'
import type { MergedGroupingSets, SharedGroupingSets } from './grouping-sets.ts'

/** Applies to performance and units; conversions depend on more. */
export interface AffectedMetrics {
  readonly kinds: ReadonlySet<MessageKind>
  /** The grouping sets of the message events. */
  readonly groupingSets: ReadonlySet<SharedGroupingSets>
}

/**
 * The metrics that the message events in `changed` can change. The user must have each of these events in the campaign, or have had
 * it before the change.
 */
export function affectedMetrics(
  history: CampaignHistory,
  groupingSets: MergedGroupingSets,
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
      // The state of a unit and its reason.
      return kinds.has('sent') || kinds.has('failed')
  }
}
