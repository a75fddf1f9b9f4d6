// Decides when a sender's connections may send: the circuit of its SMTP server, its rate, and recipients' domains that wait. Shows why a
// sender waits.
import type { Halt } from '../../core/delivery/delivery.ts'
import type { SmtpReply } from '../../core/delivery/failures.ts'
import { pause } from '../../runtime/pause.ts'
import { admitTo, circuitAfterFailure, circuitAfterNoProbe, CLOSED_CIRCUIT, type Circuit } from '../smtp/circuit.ts'
import { DomainWaits } from '../smtp/domain-waits.ts'
import { SlidingRate } from '../smtp/sliding-rate.ts'

export interface SenderGateOptions {
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  readonly random: () => number
  /** Shows why the sender waits; undefined: it does not. */
  readonly saveWaiting: (halt: Halt | undefined) => Promise<void>
  readonly onFailure: (error: unknown, what: string) => void
}

/** How often a connection looks whether the circuit lets it send. */
const LOOK_EVERY_MS = 100
const SERVER_FAILS = 'The SMTP server does not take mail.'
const QUOTA_IS_USED = "The sender's messages of this day are used up. It goes on at midnight UTC."

/** `probe`: the one message that tries whether the server takes mail again. `closed`: nothing is sent any more. */
export type Admission = 'message' | 'probe' | 'closed'

export class SenderGate {
  readonly #options: SenderGateOptions
  readonly #domains: DomainWaits
  readonly #rate = new SlidingRate(1)
  /** Attempts wait for the log, each for another time, so messages are paced once more where they end. */
  readonly #endRate = new SlidingRate(1)
  readonly #closing = new AbortController()
  #circuit: Circuit = CLOSED_CIRCUIT
  /** What is shown now. */
  #shown: Halt | undefined

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

  /** Waits for the sender's rate; false if nothing is sent any more. */
  async turn(): Promise<boolean> {
    try {
      await this.#rate.take(this.#closing.signal)
      return true
    } catch {
      // `take` rejects only when the gate is closed.
      return false
    }
  }

  /** Waits until the server may accept one message more; messages on connections end also when nothing else is sent any more. */
  async untilEnd(): Promise<void> {
    await this.#endRate.take(this.#closing.signal).catch(() => {})
  }

  /** The server failed. */
  fail(reply: SmtpReply): void {
    this.#circuit = circuitAfterFailure(this.#circuit, this.#options.clock())
    if (this.#circuit.state === 'open') {
      this.#show({ since: this.#circuit.since, reason: SERVER_FAILS, reply: reply.text })
    }
  }

  /** The server answered. */
  succeed(): void {
    const isRecovered = this.#circuit.state !== 'closed'
    this.#circuit = CLOSED_CIRCUIT
    if (isRecovered) this.#show(undefined)
  }

  /** The daily quota is used up, or is not any more. */
  setQuotaUsed(isUsed: boolean): void {
    if (this.#circuit.state !== 'closed' || isUsed === (this.#shown !== undefined)) return
    this.#show(isUsed ? { since: this.#options.clock(), reason: QUOTA_IS_USED } : undefined)
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

  /** Lets nobody through any more. */
  close(): void {
    this.#closing.abort(new Error('the sender stops'))
  }

  #show(halt: Halt | undefined): void {
    this.#shown = halt
    const { saveWaiting, onFailure } = this.#options
    saveWaiting(halt).catch((error: unknown) => onFailure(error, 'cannot show why a sender waits'))
  }
}
