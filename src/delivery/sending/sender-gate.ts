// Decides when a sender's connections may send: the circuit of its SMTP server, its rate, and recipients' domains that wait. Knows why a
// sender waits.
import type { Halt } from '../../core/delivery/delivery.ts'
import { replyText, type SmtpReply } from '../../core/delivery/failures.ts'
import { pause } from '../../runtime/pause.ts'
import { admitTo, circuitAfterFailure, circuitAfterNoProbe, CLOSED_CIRCUIT, type Circuit } from '../smtp/circuit.ts'
import { DomainWaits } from '../smtp/domain-waits.ts'
import { SlidingRate } from '../smtp/sliding-rate.ts'

export interface SenderGateOptions {
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  readonly random: () => number
}

/** How often a connection looks whether the circuit lets it send. */
const LOOK_EVERY_MS = 100
const SERVER_FAILS = 'The SMTP server does not take mail.'
const QUOTA_IS_USED = "The sender's messages of this day are used up. It goes on at midnight UTC."

/** `probe`: the one message that tries whether the server takes mail again. `closed`: nothing begins any more. */
export type Admission = 'message' | 'probe' | 'closed'

export class SenderGate {
  readonly #options: SenderGateOptions
  readonly #domains: DomainWaits
  readonly #rate = new SlidingRate(1)
  /** Attempts wait for the log, each for another time, so messages are paced once more where they end. */
  readonly #endRate = new SlidingRate(1)
  readonly #closing = new AbortController()
  #circuit: Circuit = CLOSED_CIRCUIT
  /** What the server said when it failed last. */
  #reply: string | undefined
  /** Undefined while the daily quota has messages left. */
  #quotaUsedSince: number | undefined

  constructor(options: SenderGateOptions) {
    this.#options = options
    this.#domains = new DomainWaits(options.random)
  }

  set perSecond(rate: number) {
    this.#rate.rate = rate
    this.#endRate.rate = rate
  }

  /** Another process may have sent for the sender until now. */
  holdRate(): void {
    this.#rate.hold()
  }

  /** Waits until the circuit lets a message begin. */
  async untilAdmitted(): Promise<Admission> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const { circuit, isAdmitted } = admitTo(this.#circuit, this.#options.clock())
      this.#circuit = circuit
      if (isAdmitted) return circuit.state === 'probing' ? 'probe' : 'message'
      await pause(LOOK_EVERY_MS, signal)
    }
    return 'closed'
  }

  /** The probe asked no server. */
  endProbe(): void {
    this.#circuit = circuitAfterNoProbe(this.#circuit, this.#options.clock())
  }

  /** Waits for the sender's rate. */
  turn(): Promise<void> {
    return this.#rate.take()
  }

  /** Waits until the server may accept one message more. */
  untilEnd(): Promise<void> {
    return this.#endRate.take()
  }

  /** The server failed. */
  fail(reply: SmtpReply): void {
    this.#circuit = circuitAfterFailure(this.#circuit, this.#options.clock())
    this.#reply = replyText(reply)
  }

  /** The server answered. */
  succeed(): void {
    this.#circuit = CLOSED_CIRCUIT
  }

  /** Whether the daily quota is used up. */
  set isQuotaUsed(isUsed: boolean) {
    this.#quotaUsedSince = isUsed ? (this.#quotaUsedSince ?? this.#options.clock()) : undefined
  }

  /** Why the sender sends nothing now; undefined: it sends. */
  get halt(): Halt | undefined {
    const circuit = this.#circuit
    if (circuit.state !== 'closed') {
      return { since: circuit.since, reason: SERVER_FAILS, ...(this.#reply !== undefined && { reply: this.#reply }) }
    }
    return this.#quotaUsedSince === undefined ? undefined : { since: this.#quotaUsedSince, reason: QUOTA_IS_USED }
  }

  /** How many of `wanted` messages are worth claiming now: while the server fails none, and one that probes it. */
  worthClaiming(wanted: number): number {
    if (this.#circuit.state === 'open') return 0
    return this.#circuit.state === 'probing' ? 1 : wanted
  }

  /** Makes a recipients' domain wait; returns until when. */
  makeDomainWait(domain: string): number {
    return this.#domains.begin(domain, this.#options.clock())
  }

  /** Undefined if the domain does not wait. */
  domainWaitsUntil(domain: string): number | undefined {
    return this.#domains.until(domain, this.#options.clock())
  }

  clearDomain(domain: string): void {
    this.#domains.clear(domain)
  }

  /** Admits nothing more. Messages that were admitted still get their turn. */
  close(): void {
    this.#closing.abort()
  }
}
