// One of a sender's connections: takes claimed messages one after the other, makes each, and sends it. The attempt is durable in the log
// before the server can accept the message, and its outcome is told before the next attempt.
import type { DeliveryOutcome, EventBasis } from '../../core/delivery/delivery-entry.ts'
import { judgeFailure, type SmtpReply } from '../../core/delivery/failures.ts'
import type { RemovalReason } from '../../core/delivery/message-state.ts'
import { LeaseLost } from '../../store/senders/sender-leases.ts'
import { domainOf } from '../../core/senders/sender.ts'
import type { RenderedMessage, RenderResult } from '../content/render-job.ts'
import type { DeliveryParts } from '../delivery-parts.ts'
import type { ClaimedMessage } from '../run/claim-block.ts'
import { SmtpFailure } from '../smtp/smtp-failure.ts'
import { openSmtpSession, type SmtpSession, type SmtpSettings } from '../smtp/smtp-session.ts'
import type { Teller } from '../teller.ts'
import { toFailedOutcome, toKeptReply, type FailureEffect } from './outcome.ts'
import type { ReadyQueue } from './ready-queue.ts'
import type { SenderGate } from './sender-gate.ts'
import type { SendingRun } from './sending-run.ts'

/** A claimed message, with its run. */
export interface ReadyMessage {
  readonly sending: SendingRun
  readonly claimed: ClaimedMessage
  /** Milliseconds since the epoch. */
  readonly claimedAt: number
  /** Made while it waited. */
  ahead?: { readonly at: number; readonly result: Promise<RenderResult> }
}

/** What the connections of a sender share. */
export interface ConnectionOptions {
  readonly parts: DeliveryParts
  readonly queue: ReadyQueue<ReadyMessage>
  readonly gate: SenderGate
  readonly teller: Teller
  /** As the sender is now; it may change while it sends. */
  readonly smtp: () => SmtpSettings
  readonly messagesPerConnection: () => number
  /** Whether the sender still has so many connections. */
  readonly isWanted: () => boolean
  readonly isLeaseValid: () => boolean
  /** Pauses the campaign of a message, or all campaigns of the sender. */
  readonly pause: (whose: SendingRun | 'all', reply: SmtpReply) => Promise<void>
  /** A message is queued again, or removed, without an outcome of a server that counts as an attempt. */
  readonly onUnsent: (ready: ReadyMessage) => void
}

/** Messages that are made while others are on connections. */
const MADE_AHEAD_MAX = 8
/** A message that waited longer is made again, so that its date is about that of its sending. */
const MADE_AHEAD_MS = 10_000
/** A session that has nothing to send ends after this time: servers do not wait much longer. */
const IDLE_MS = 5_000
/** A message that was claimed longer ago is queued again instead: those checks are too old. */
const CLAIM_AGE_MS_MAX = 3_000
/** A message that failed here, and not at a server, is tried again after this time. */
const RELEASED_FOR_MS = 10_000

export class Connection {
  readonly #options: ConnectionOptions
  #session: SmtpSession | undefined
  #sent = 0

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  /** Sends until the queue is closed. Never rejects: a message whose sending fails here is released. */
  async run(): Promise<void> {
    const { queue, gate, isWanted } = this.#options
    while (!queue.isClosed && isWanted()) {
      const admission = await gate.untilAdmitted()
      if (admission === 'closed') break
      const ready = await queue.take(IDLE_MS)
      if (ready) await this.#trySendOne(ready)
      else await this.#quit()
      if (admission === 'probe') gate.endProbe()
    }
    await this.#quit()
  }

  async #trySendOne(ready: ReadyMessage): Promise<void> {
    try {
      await this.#sendOne(ready)
    } catch (error) {
      const { parts } = this.#options
      if (!(error instanceof LeaseLost)) parts.onFailure(error, 'cannot send a message; it is queued again')
      void this.#tell(ready, { kind: 'released', until: parts.clock() + RELEASED_FOR_MS })
      this.#drop()
    }
  }

  async #sendOne(ready: ReadyMessage): Promise<void> {
    const { removal } = ready.claimed
    if (removal) return void this.#tell(ready, toRemoved(ready, removal))
    const waitsUntil = this.#options.gate.domainWaitsUntil(domainOf(ready.claimed.address).toLowerCase())
    if (waitsUntil !== undefined) return void this.#tell(ready, { kind: 'released', until: waitsUntil })
    const made = await this.#make(ready)
    if (!made) return
    const session = await this.#openSession(ready)
    if (!session) return
    const { gate } = this.#options
    await gate.turn()
    const isTooLate = this.#options.parts.clock() - ready.claimedAt > CLAIM_AGE_MS_MAX
    if (isTooLate) return void this.#tell(ready, { kind: 'released', until: 0 })
    if (!this.#options.isLeaseValid()) throw new LeaseLost()
    await this.#exchange(ready, made, session)
  }

  /** Undefined if the content or the person's data is to blame; that is told. */
  async #make(ready: ReadyMessage): Promise<RenderedMessage | undefined> {
    const { parts } = this.#options
    const { ahead } = ready
    const isFresh = ahead !== undefined && parts.clock() - ahead.at < MADE_AHEAD_MS
    const made = await (isFresh ? ahead.result : this.#render(ready))
    if (made.isOk) return made
    const removed = toRemoved(ready, 'user_removed_due_to_personalization_failed')
    void this.#tell(ready, { ...removed, detail: made.problem })
    return undefined
  }

  async #render({ sending, claimed }: ReadyMessage): Promise<RenderResult> {
    const { renderer, clock } = this.#options.parts
    return await renderer.render(sending.toJob(claimed, clock()))
  }

  /** Begins to make the messages that are next, so that no connection waits for the render thread. */
  #makeAhead(): void {
    const { queue, parts } = this.#options
    for (const next of queue.first(MADE_AHEAD_MAX)) {
      if (next.ahead || next.claimed.removal) continue
      const result = this.#render(next)
      // The connection that takes the message sees the failure.
      result.catch(() => {})
      next.ahead = { at: parts.clock(), result }
    }
  }

  /** Undefined if the server takes no connection: the message is taken first when it does. */
  async #openSession(ready: ReadyMessage): Promise<SmtpSession | undefined> {
    const { gate, queue, smtp, messagesPerConnection } = this.#options
    if (this.#session?.isUsable && this.#sent < messagesPerConnection()) return this.#session
    await this.#quit()
    try {
      this.#session = await openSmtpSession(smtp())
      this.#sent = 0
      return this.#session
    } catch (error) {
      if (!(error instanceof SmtpFailure)) throw error
      if (judgeFailure(error.reply).to === 'pause') {
        // Not back into the queue: if the pause fails, nobody else may have it too.
        void this.#tell(ready, { kind: 'released', until: 0 })
        await this.#options.pause('all', error.reply)
      } else {
        queue.putBack(ready)
        gate.fail(error.reply)
      }
      return undefined
    }
  }

  async #exchange(ready: ReadyMessage, made: RenderedMessage, session: SmtpSession): Promise<void> {
    const { gate, isLeaseValid } = this.#options
    this.#sent++
    this.#makeAhead()
    const { envelopeFrom: from, envelopeTo: to, raw, usesUtf8, envid } = made
    const mail = { from, to, raw, usesUtf8, envid }
    let isEnding = false
    const beforeEnd = async () => {
      const hasTargets = Object.keys(made.targets).length > 0
      const targets = ready.sending.toKeptTargets(made.targets, this.#options.parts.emailVault)
      await this.#tell(ready, { kind: 'attempted', ...(hasTargets && { targets }) })
      await gate.untilEnd()
      // A process that took the sender over waits for everything in the log: it finds this attempt, or the lease ended before it.
      if (!isLeaseValid()) throw new LeaseLost()
      isEnding = true
    }
    try {
      const reply = await session.send(mail, { beforeEnd })
      void this.#tell(ready, { kind: 'sent', reply: toKeptReply(ready.sending.toKept(reply)) })
      ready.sending.countBlocked(false)
      gate.clearDomain(domainOf(ready.claimed.address).toLowerCase())
      gate.succeed()
    } catch (error) {
      if (error instanceof SmtpFailure) return this.#fail(ready, ready.sending.toKept(error.reply))
      if (!isEnding) throw error
      this.#options.parts.onFailure(error, 'cannot tell whether a message was sent; it is in doubt')
      void this.#tell(ready, { kind: 'in_doubt' })
      this.#drop()
    }
  }

  async #fail(ready: ReadyMessage, reply: SmtpReply): Promise<void> {
    const { gate, pause } = this.#options
    const { outcome, effect } = this.#judge(ready, reply)
    void this.#tell(ready, outcome)
    const isBlocked = effect === 'blocked'
    if (effect === 'server') gate.fail(reply)
    else gate.succeed()
    if (ready.sending.countBlocked(isBlocked) || effect === 'pause') await pause(ready.sending, reply)
  }

  #judge(
    { sending, claimed }: ReadyMessage,
    reply: SmtpReply,
  ): { readonly outcome: DeliveryOutcome; readonly effect: FailureEffect } {
    const { gate, parts } = this.#options
    const now = parts.clock()
    const { firstTriedAt } = claimed.message
    const { giveUpAfterHours } = sending.open.delivery.settings
    return toFailedOutcome(reply, {
      firstTriedAt: firstTriedAt ?? now,
      now,
      giveUpAfterHours,
      random: parts.random(),
      makeDomainWait: () => gate.makeDomainWait(domainOf(claimed.address).toLowerCase()),
    })
  }

  #tell(ready: ReadyMessage, outcome: DeliveryOutcome): Promise<void> {
    const { parts, teller, onUnsent } = this.#options
    const { sending, claimed } = ready
    const { message, claim } = claimed
    // A message that its claim removes took no quota.
    if (!claimed.removal && (outcome.kind === 'released' || outcome.kind === 'removed')) onUnsent(ready)
    const basis: EventBasis = {
      message: message.number,
      customer_id: message.customerId,
      at: parts.clock(),
      claim,
    }
    return teller.tell(sending.open.run, { ...basis, ...outcome })
  }

  async #quit(): Promise<void> {
    const session = this.#session
    this.#session = undefined
    await session?.quit()
  }

  #drop(): void {
    this.#session?.destroy()
    this.#session = undefined
  }
}

function toRemoved({ claimed: { message } }: ReadyMessage, reason: RemovalReason) {
  const { variation, locale } = message
  return { kind: 'removed', reason, variation, locale } as const
}
