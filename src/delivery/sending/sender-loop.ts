// Sends for one sender while this process has its lease: takes its campaigns from step to step, claims messages when their turn comes,
// and hands them to the sender's connections.
import { isDeepStrictEqual } from 'node:util'
import { issueCoupons } from '../../actions/coupons/hold-coupons.ts'
import { untilApplied } from '../../actions/applied-through.ts'
import type { Halt } from '../../core/delivery/delivery.ts'
import { replyText, type SmtpReply } from '../../core/delivery/failures.ts'
import { pause } from '../../runtime/pause.ts'
import { OPEN_STATES } from '../../core/delivery/message-state.ts'
import { DAY_MS } from '../../core/time-zone.ts'
import { pauseDelivery } from '../../store/delivery/deliveries.ts'
import { findNextDue, settleAbandoned, unclaimMessages } from '../../store/delivery/message-claims.ts'
import { hasMessagesIn, type RunMessage } from '../../store/delivery/messages.ts'
import { listOpenRuns } from '../../store/delivery/runs.ts'
import {
  LeaseLost,
  requireSenderLease,
  returnQuota,
  saveWaiting,
  takeQuota,
} from '../../store/senders/sender-leases.ts'
import { findSenderByNumber, type StoredSender } from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'
import { findWorkspace } from '../../store/workspaces/workspaces.ts'
import type { DeliveryParts } from '../delivery-parts.ts'
import { beginRuns } from '../run/begin-runs.ts'
import { claimBlock, type ClaimedMessage } from '../run/claim-block.ts'
import { finishRun, removeRest } from '../run/end-run.ts'
import { compareSlice, freezeSlice } from '../run/freeze-run.ts'
import { readOpenRuns, type OpenRun } from '../run/open-run.ts'
import { tellSlice } from '../run/tell-audience.ts'
import type { HeldLease } from '../sender-lease.ts'
import { toSmtpSettings } from '../senders/smtp-settings.ts'
import { Teller } from '../teller.ts'
import { Connection, type ReadyMessage } from './connection.ts'
import { ReadyQueue } from './ready-queue.ts'
import { SenderGate } from './sender-gate.ts'
import { CannotSend, openSendingRun, type SendingRun } from './sending-run.ts'

/** How often the loop looks for changes: pauses, cancellations, and messages whose time has come. */
const LOOK_EVERY_MS = 100
/** Messages of one claim. Half as many may wait when the next one follows. */
const BLOCK_MAX = 500
const FIRST_BLOCK = 20
/**
 * Messages that wait longer for a connection are queued again, so that the next claim looks again at who may be sent to. Blocks grow
 * while connections wait for messages, and shrink when messages wait so long.
 */
const CLAIM_WAITS_MS_MAX = 1_000
const REFUSED = 'The SMTP server refuses the sender. Correct the sender, then resume the campaign.'
/** After a failure of the store. */
const RETRY_MS = 1_000
/** How long messages on connections may take when the process stops. */
const STOP_WAIT_MS = 60_000

export class SenderLoop {
  readonly #parts: DeliveryParts
  readonly #held: HeldLease
  readonly #queue = new ReadyQueue<ReadyMessage>()
  readonly #sending = new Map<number, SendingRun>()
  readonly #stopping = new AbortController()
  readonly #gate: SenderGate
  readonly #teller: Teller
  /** By their numbers, from 0 on. */
  readonly #connections = new Map<number, Promise<void>>()
  #sender: StoredSender | undefined
  /** The address that `comparing` has reached in each run. */
  readonly #compared = new Map<number, string>()
  /** `beginRuns`. */
  readonly #awaited = new Map<number, number>()
  #block = FIRST_BLOCK
  /** The times of the claims whose messages were not sent: their quota is given back. */
  #unsent: number[] = []
  /** Why the sender waits, as it is shown. */
  #shownHalt: Halt | undefined

  constructor(parts: DeliveryParts, held: HeldLease) {
    this.#parts = parts
    this.#held = held
    const { clock, random, log, onFailure } = parts
    this.#gate = new SenderGate({ clock, random })
    this.#teller = new Teller({ log, onFailure })
    if (held.lease.isJustLeft) this.#gate.holdRate()
  }

  /** Resolves when there is nothing left to do, the lease was lost, or after `stop`. */
  async run(): Promise<void> {
    const { onFailure } = this.#parts
    try {
      if (await this.#takeOver()) await this.#repeat()
    } catch (error) {
      if (!(error instanceof LeaseLost)) onFailure(error, 'cannot send for a sender; another try follows')
    }
    await this.#end()
  }

  /** Claims nothing more; messages on connections end. */
  stop(): void {
    this.#stopping.abort()
  }

  /** Settles what the last holder of the lease left. False when the process is stopping. */
  async #takeOver(): Promise<boolean> {
    const { database, logReader } = this.#parts
    const { lease } = this.#held
    if (!(await untilApplied(database, logReader, this.#stopping.signal))) return false
    for (const { number } of await listOpenRuns(database, lease.sender)) {
      await database.write(async (store) => {
        await requireSenderLease(store, lease)
        const { inDoubt, queuedFrom } = await settleAbandoned(store, { run: number, fence: lease.fence })
        await issueCoupons(store, number, inDoubt)
        await this.#returnQuota(store, queuedFrom)
      })
    }
    return true
  }

  /**
   * Ends also after a failure of the store: nobody knows then what was committed. The next lease has a greater fence, and settles what
   * this one left.
   */
  async #repeat(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted && this.#held.isValid) {
      try {
        const step = await this.#step()
        if (step === 'done') return
        if (step === 'waiting') await pause(LOOK_EVERY_MS, signal)
      } catch (error) {
        if (error instanceof LeaseLost) throw error
        this.#parts.onFailure(error, 'cannot prepare messages; taking the sender over again')
        return pause(RETRY_MS, signal)
      }
    }
  }

  /** Nothing is sent for a suspended workspace: its messages wait until it is not suspended any more. */
  async #holdWhileSuspended({ workspaceId }: StoredSender): Promise<boolean> {
    const found = await findWorkspace(this.#parts.database, workspaceId)
    if (found?.workspace.suspended !== true) return false
    await this.#putBack(() => true)
    return true
  }

  /** Takes every campaign of the sender one step further. `working`: the next step should follow at once. */
  async #step(): Promise<'done' | 'working' | 'waiting'> {
    const { database } = this.#parts
    const { lease } = this.#held
    const sender = await findSenderByNumber(database, lease.sender)
    if (!sender) return 'done'
    this.#sender = sender
    this.#gate.perSecond = sender.limits.perSecond
    if (await this.#holdWhileSuspended(sender)) return 'waiting'
    await this.#showHalt()
    await this.#putBackLate()
    await beginRuns(this.#parts, lease, this.#awaited)
    const open = await readOpenRuns(database, lease.sender)
    let isWorking = false
    for (const run of open) if (await this.#advance(run, sender)) isWorking = true
    if (open.every(({ delivery }) => delivery.paused)) return 'done'
    return isWorking ? 'working' : 'waiting'
  }

  /** Returns whether the next step of the run should follow at once. */
  async #advance(open: OpenRun, sender: StoredSender): Promise<boolean> {
    const { run, delivery } = open
    const { database } = this.#parts
    const { lease } = this.#held
    if (delivery.paused) {
      await this.#putBack(({ sending }) => sending.open.run.number === run.number)
      return false
    }
    switch (run.phase) {
      case 'freezing':
        await freezeSlice(database, lease, open)
        return true
      case 'comparing':
        await this.#compare(open)
        return true
      case 'telling':
        await tellSlice(this.#parts, lease, open)
        return true
      case 'sending':
        return this.#send(open, sender)
      case 'finished':
        return false
    }
  }

  async #compare(open: OpenRun): Promise<void> {
    const after = this.#compared.get(open.run.number) ?? ''
    const reached = await this.#parts.database.write((store) => compareSlice(store, this.#held.lease, open, after))
    if (reached !== undefined) this.#compared.set(open.run.number, reached)
  }

  async #send(open: OpenRun, sender: StoredSender): Promise<boolean> {
    const { database } = this.#parts
    const { lease } = this.#held
    const { number } = open.run
    if (open.delivery.state === 'cancelled') {
      await this.#putBack(({ sending }) => sending.open.run.number === number)
      const told = { held: this.#held, teller: this.#teller }
      if ((await removeRest(this.#parts, told, open)) > 0) return true
    } else if (await this.#claim(open, sender)) return true
    if (await hasMessagesIn(database, number, OPEN_STATES)) return false
    if (await finishRun(this.#parts, lease, open)) this.#sending.delete(number)
    return false
  }

  /** Claims a block, if few messages wait for a connection. Returns whether it was a full one. */
  async #claim(open: OpenRun, sender: StoredSender): Promise<boolean> {
    const { connections, perSecond } = sender.limits
    const block = this.#gate.worthClaiming(Math.min(this.#block, Math.ceil(perSecond / 2)))
    const waiting = this.#queue.size
    if (block === 0 || waiting > block / 2) return false
    const due = await findNextDue(this.#parts.database, open.run.number)
    if (due === undefined || due > this.#parts.clock()) return false
    const sending = await this.#openSending(open, sender)
    if (!sending) return false
    const claimedAt = this.#parts.clock()
    const claimed = await this.#claimAtMost(block, sending, { sender, claimedAt })
    const isFull = claimed.length === block
    if (isFull && waiting === 0) this.#block = Math.min(this.#block * 2, BLOCK_MAX)
    this.#queue.add(claimed.map((message) => ({ sending, claimed: message, claimedAt })))
    this.#connect(Math.min(connections, perSecond))
    return isFull
  }

  async #claimAtMost(
    block: number,
    sending: SendingRun,
    { sender: { limits }, claimedAt: now }: { readonly sender: StoredSender; readonly claimedAt: number },
  ): Promise<ClaimedMessage[]> {
    const { database, emailVault } = this.#parts
    const { lease } = this.#held
    const day = dayOf(now)
    const unsent = this.#unsent.splice(0)
    const { claimed, quota } = await database.write(async (store) => {
      await requireSenderLease(store, lease)
      await this.#returnQuota(store, unsent)
      const max = await takeQuota(store, lease, { day, perDay: limits.perDay, wanted: block })
      const couponLabelsOf = (message: RunMessage) => sending.couponLabelsOf(message)
      const claim = this.#held.nextClaim()
      const options = { open: sending.open, max, claim, now, emailVault, couponLabelsOf }
      const messages = max === 0 ? [] : await claimBlock(store, lease, options)
      await returnQuota(store, lease, day, max - messages.filter(({ removal }) => !removal).length)
      return { claimed: messages, quota: max }
    })
    this.#gate.isQuotaUsed = quota === 0
    return claimed
  }

  /** Gives back the quota of messages that were claimed at these times, and not sent. */
  async #returnQuota(store: Store, claimedAt: readonly number[]): Promise<void> {
    for (const [day, times] of Map.groupBy(claimedAt, dayOf)) {
      await returnQuota(store, this.#held.lease, day, times.length)
    }
  }

  /** Undefined if something keeps the campaign from being sent: then it is paused. */
  async #openSending(open: OpenRun, sender: StoredSender): Promise<SendingRun | undefined> {
    const known = this.#sending.get(open.run.number)
    if (known?.senderUpdatedAt === sender.updatedAt) {
      known.open = open
      return known
    }
    try {
      const sending = await openSendingRun(this.#parts, open, sender)
      this.#sending.set(open.run.number, sending)
      return sending
    } catch (error) {
      if (!(error instanceof CannotSend)) throw error
      this.#parts.onFailure(error.cause, 'cannot send a campaign; it is paused')
      await this.#pauseCampaigns([open.run.campaign], { since: this.#parts.clock(), reason: error.message })
      return undefined
    }
  }

  /** Opens connections up to the sender's limit. Those beyond it end after their message. */
  #connect(connections: number): void {
    for (let index = 0; index < connections; index++) {
      if (this.#connections.has(index)) continue
      const connection = new Connection({
        parts: this.#parts,
        queue: this.#queue,
        gate: this.#gate,
        smtp: () => toSmtpSettings(this.#sender as StoredSender, this.#parts.secretVault),
        messagesPerConnection: () => this.#sender?.limits.messagesPerConnection ?? 1,
        isWanted: () => index < (this.#sender?.limits.connections ?? 0),
        isLeaseValid: () => this.#held.isValid,
        teller: this.#teller,
        pause: (whose, reply) => this.#pause(whose, reply),
        onUnsent: ({ claimedAt }) => void this.#unsent.push(claimedAt),
      })
      const running = connection.run().finally(() => this.#connections.delete(index))
      this.#connections.set(index, running)
    }
  }

  /** Pauses a campaign, or all of the sender, because the server refuses the sender itself. */
  async #pause(whose: SendingRun | 'all', reply: SmtpReply): Promise<void> {
    const sending = whose === 'all' ? [...this.#sending.values()] : [whose]
    const campaigns = sending.map(({ open }) => open.run.campaign)
    await this.#pauseCampaigns(campaigns, { since: this.#parts.clock(), reason: REFUSED, reply: replyText(reply) })
    // At once, so that the connections do not ask the server in vain for those that wait.
    await this.#putBack((ready) => sending.includes(ready.sending))
  }

  async #pauseCampaigns(campaigns: readonly number[], halt: Halt): Promise<void> {
    await this.#parts.database.write(async (store) => {
      await requireSenderLease(store, this.#held.lease)
      for (const campaign of campaigns) await pauseDelivery(store, campaign, halt)
    })
  }

  /** Shows why the sender waits, when that has changed. */
  async #showHalt(): Promise<void> {
    const { halt } = this.#gate
    if (isDeepStrictEqual(halt, this.#shownHalt)) return
    await this.#parts.database.write((store) => saveWaiting(store, this.#held.lease, halt))
    this.#shownHalt = halt
  }

  /** Messages that waited too long for a connection; all of them while the server takes no mail. */
  async #putBackLate(): Promise<void> {
    const late = this.#gate.worthClaiming(BLOCK_MAX) === 0 ? Infinity : this.#parts.clock() - CLAIM_WAITS_MS_MAX
    if ((await this.#putBack(({ claimedAt }) => claimedAt < late)) === 0) return
    this.#block = Math.max(1, Math.floor(this.#block / 2))
  }

  /** Queues messages again that wait for a connection. Returns how many. */
  async #putBack(isWanted: (ready: ReadyMessage) => boolean): Promise<number> {
    const { lease } = this.#held
    const drained = this.#queue.drain(isWanted)
    if (drained.length === 0) return 0
    const byRun = Map.groupBy(drained, ({ sending }) => sending.open.run.number)
    try {
      await this.#parts.database.write(async (store) => {
        await requireSenderLease(store, lease)
        for (const [run, ready] of byRun) {
          const numbers = ready.map(({ claimed }) => claimed.message.number)
          await unclaimMessages(store, { run, fence: lease.fence }, numbers)
        }
        const unsent = drained.filter(({ claimed }) => !claimed.removal)
        await this.#returnQuota(
          store,
          unsent.map(({ claimedAt }) => claimedAt),
        )
      })
    } catch (error) {
      // They are in no queue any more, and perhaps still claimed: the next lease settles that.
      this.stop()
      throw error
    }
    return drained.length
  }

  /** Queues again what no connection has taken. A process that has taken the lease over has done so already. */
  async #giveBack(): Promise<void> {
    try {
      await this.#putBack(() => true)
    } catch (error) {
      if (!(error instanceof LeaseLost)) this.#parts.onFailure(error, 'cannot give messages back')
    }
  }

  /** Messages on connections end; the others go back. Gives the lease back. */
  async #end(): Promise<void> {
    this.#gate.close()
    this.#queue.close()
    const late = new AbortController()
    await Promise.race([Promise.all(this.#connections.values()), pause(STOP_WAIT_MS, late.signal)])
    late.abort()
    await this.#teller.whenIdle()
    await this.#giveBack()
    await this.#held.release()
  }
}

/** The UTC day of an instant, as days since the epoch. */
function dayOf(instant: number): number {
  return Math.floor(instant / DAY_MS)
}
