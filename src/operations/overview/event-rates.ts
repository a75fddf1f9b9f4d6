// How many events of each workspace come in a minute. Counted at most every few seconds for all workspaces, however many pages ask.
import type { Store } from '../../store/store.ts'
import { countRecentEvents } from '../../store/users/recent-events.ts'

const MINUTE_MS = 60_000
/** How old a count may be. */
const COUNTED_EVERY_MS = 5_000
/** The events that a count reads. If more come in a minute, it tells the rate from the time that these took. */
const EVENTS_READ_MAX = 5_000

export interface EventRatesSources {
  readonly database: Store
  readonly clock: () => number
}

export class EventRates {
  readonly #sources: EventRatesSources
  #countedAt = -Infinity
  #rates: Promise<ReadonlyMap<string, number>> = Promise.resolve(new Map())

  constructor(sources: EventRatesSources) {
    this.#sources = sources
  }

  /** The events of a workspace that were received in the last minute and are processed. */
  async perMinute(workspaceId: string): Promise<number> {
    if (Math.abs(this.#sources.clock() - this.#countedAt) >= COUNTED_EVERY_MS) this.#count()
    return (await this.#rates).get(workspaceId) ?? 0
  }

  #count(): void {
    const { database, clock } = this.#sources
    const now = clock()
    this.#countedAt = now
    this.#rates = readRates(database, now).catch((error: unknown) => {
      this.#countedAt = -Infinity
      throw error
    })
  }
}

async function readRates(database: Store, now: number): Promise<ReadonlyMap<string, number>> {
  const recent = await countRecentEvents(database, now - MINUTE_MS, EVENTS_READ_MAX)
  const read = recent.reduce((sum, { count }) => sum + count, 0)
  const first = Math.min(...recent.map(({ firstReceivedAt }) => firstReceivedAt))
  const spanMs = read < EVENTS_READ_MAX ? MINUTE_MS : Math.max(1, now - first)
  return new Map(recent.map(({ workspaceId, count }) => [workspaceId, Math.round((count * MINUTE_MS) / spanMs)]))
}
