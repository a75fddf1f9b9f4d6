// Which users' conversions new message events may change, as far as reading alone can tell.
import { isTouch } from '../../core/statistics/campaign-past.ts'
import type { MessageEvent } from '../../core/campaigns/facts.ts'
import { findFirstNamedEvents, type EventsSince } from '../../store/users/events.ts'
import type { Store } from '../../store/store.ts'
import type { GoalBook } from '../contributions/goal-books.ts'
import { PAIRS_AT_ONCE_MAX, type Change } from '../contributions/histories.ts'
import type { OutlineTable } from './outline-table.ts'

interface Touch {
  readonly userId: number
  readonly message: MessageEvent
  /** Goal events after that are none of it. */
  readonly until: number
}

/**
 * The users whose new message events may change conversions, because goal events follow touches among them; all users where it is
 * too much to tell. Each change is about a pair that is in the table; where no goal event follows a touch, it notes that, and none
 * is looked for after later touches.
 */
export async function findConverting(
  store: Store,
  book: GoalBook,
  changes: readonly Change[],
  table: OutlineTable,
): Promise<ReadonlySet<number>> {
  const touches: Touch[] = []
  const wanted: EventsSince[] = []
  for (const { person, facts } of changes) {
    for (const message of facts.messages) {
      const events = isTouch(message.kind) ? book.eventsOfCampaign.get(message.campaign) : undefined
      if (!events || message.time >= table.quietSince(message)) continue
      const { time: from } = message
      for (const action of events.names)
        for (const user_id of person.userIds) wanted.push({ place: touches.length, user_id, action, from })
      touches.push({ userId: person.userId, message, until: from + events.windowMs })
    }
  }
  if (wanted.length > PAIRS_AT_ONCE_MAX) return new Set(changes.map(({ person }) => person.userId))
  const first = await findFirstNamedEvents(store, wanted)
  const converting = new Set<number>()
  for (const [place, { userId, message, until }] of touches.entries()) {
    const time = first.get(place)
    if (time === undefined) table.noteQuiet(message, message.time)
    else if (time <= until) converting.add(userId)
  }
  return converting
}
