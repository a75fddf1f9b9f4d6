// Which numbers of one campaign a user's message events can change while the audiences stay as they are: all other numbers are
// the same before and after, and need not be counted.
import type { CampaignPast } from './campaign-past.ts'
import { UNIT_ACTIVE_DEVICES, UNIT_DEVICES, UNIT_IMPRESSION, UNIT_SENT, type Metric } from './cells.ts'
import type { MessageEvent, MessageKind } from '../campaigns/facts.ts'

/** Applies to performance and units; conversions depend on more. */
export interface Narrowing {
  readonly kinds: ReadonlySet<MessageKind>
  /** Keys of levels: of the places of the message events, and of all their aggregates where these are counted by themselves. */
  readonly levels: ReadonlySet<string>
}

/** What the message events of `changed` can change, which the user has, or had, in the campaign of `past`. */
export function narrowTo(past: CampaignPast, changed: readonly MessageEvent[]): Narrowing {
  const levels = changed.flatMap((message) => past.levelsAt(past.placeOf(message)))
  return { kinds: new Set(changed.map(({ kind }) => kind)), levels: new Set(levels.map(({ key }) => key)) }
}

/** Whether message events of these kinds can change a metric of units; they never change that there is an audience. */
export function changesUnits(kinds: ReadonlySet<MessageKind>, metric: Metric): boolean {
  switch (metric) {
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
