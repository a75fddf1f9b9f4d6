// Domains to which a sender sends nothing for a while, because the server said that it, or its user, had no room for them ("Failures
// belong to somebody"). The messages are not tried meanwhile, and lose no attempt.
import { deferralMs } from '../../core/delivery/backoff.ts'

/** Past this, the domain that has waited longest is tried again early: it then waits again. */
const DOMAINS_MAX = 10_000

interface Wait {
  readonly until: number
  readonly failures: number
}

export class DomainWaits {
  /** In the order in which they last began to wait. */
  readonly #waits = new Map<string, Wait>()
  readonly #random: () => number

  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /** The domain waits from now on: 5 minutes, doubling to an hour, until `clear`. Answers until when. */
  begin(domain: string, now: number): number {
    const earlier = this.#waits.get(domain)
    // Messages of one moment, over several connections, are one failure.
    if (earlier && now < earlier.until) return earlier.until
    const failures = (earlier?.failures ?? 0) + 1
    const until = now + deferralMs(failures, this.#random())
    this.#waits.delete(domain)
    if (this.#waits.size >= DOMAINS_MAX) this.#waits.delete(this.#waits.keys().next().value ?? '')
    this.#waits.set(domain, { until, failures })
    return until
  }

  /** Until when the domain waits; undefined if it does not. */
  until(domain: string, now: number): number | undefined {
    const until = this.#waits.get(domain)?.until
    return until !== undefined && now < until ? until : undefined
  }

  /** The server took a message to the domain. */
  clear(domain: string): void {
    this.#waits.delete(domain)
  }
}
