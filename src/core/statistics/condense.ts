// Shortens what is known of a user with very many message events, without changing any number: of events that no number tells
// apart, only the latest is kept, with how many there were.
import type { History } from './contributions.ts'
import { countWhile } from './count-while.ts'
import type { GoalEvent, MessageEvent } from '../campaigns/facts.ts'
import { localDay } from '../time-zone.ts'

/** The instants across which message events are not joined. */
interface Instants {
  readonly memberships: History['memberships']
  readonly goalEvents: readonly Pick<GoalEvent, 'time'>[]
}

/**
 * Takes message events one by one. Two are joined when they agree in campaign, kind, platform, device, reason and day, and
 * neither an audience (to which only the later would belong) nor a goal event (which only the earlier could be credited with)
 * lies between them. What is left grows with days, audiences and goal events, not with message events.
 */
export class Condenser {
  readonly #timezone: string
  readonly #audienceInstants: readonly number[]
  readonly #goalInstants: readonly number[]
  readonly #messages = new Map<string, MessageEvent>()

  constructor({ memberships, goalEvents }: Instants, timezone: string) {
    this.#timezone = timezone
    this.#audienceInstants = memberships.map(({ evaluatedAt }) => evaluatedAt).toSorted(byNumber)
    this.#goalInstants = goalEvents.map(({ time }) => time).toSorted(byNumber)
  }

  add(message: MessageEvent): void {
    const { campaign, kind, platform, device, reason, time, times = 1 } = message
    const day = localDay(this.#timezone, time)
    // An event at the instant of an audience belongs to it; one at the instant of a goal event counts as before it.
    const between = `${countBelow(this.#audienceInstants, time + 1)} ${countBelow(this.#goalInstants, time)}`
    const key = `${campaign} ${kind} ${day} ${between}\0${platform}\0${device}\0${reason ?? '\0'}`
    const known = this.#messages.get(key)
    const sum = times + (known?.times ?? 0)
    this.#messages.set(key, { ...message, time: Math.max(time, known?.time ?? time), times: sum })
  }

  messages(): MessageEvent[] {
    return [...this.#messages.values()]
  }
}

/** How many of the sorted numbers are smaller. */
function countBelow(sorted: readonly number[], bound: number): number {
  return countWhile(sorted, (number) => number < bound)
}

function byNumber(left: number, right: number): number {
  return left - right
}
