// Sends for one sender while this process has its lease: takes its campaigns from step to step, claims messages when their turn comes,
// and hands them to the sender's connections.
import { issueCoupons } from '../../actions/coupons/hold-coupons.ts'
import { untilApplied } from '../../actions/applied-through.ts'
import type { SmtpReply } from '../../core/delivery/failures.ts'
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
import { Connection, type ReadyMessage } from './connection.ts'
import { ReadyQueue } from './ready-queue.ts'
import { SenderGate } from './sender-gate.ts'
import { openSendingRun, type SendingRun } from './sending-run.ts'

/** How often the loop looks for changes: pauses, cancellations, and messages whose time has come. */
const LOOK_EVERY_MS = 200
/** Messages of one claim at the most, and so many more wait at the most. */
const BLOCK_MAX = 500
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
  /** By their numbers, from 0 on. */
  readonly #connections = new Map<number, Promise<void>>()
  #sender: StoredSender | undefined
  /** The address that `comparing` has reached in each run. */
  readonly #compared = new Map<number, string>()

  constructor(parts: DeliveryParts, held: HeldLease) {
    this.#parts = parts
    this.#held = held
    const { database, clock, random, onFailure } = parts
    this.#gate = new SenderGate({
      clock,
      random,
      onFailure,
      saveWaiting: (halt) => database.write((store) => saveWaiting(store, held.lease, halt)),
    })
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
        const inDoubt = await settleAbandoned(store, { run: number, fence: lease.fence })
        await issueCoupons(store, number, inDoubt)
      })
    }
    return true
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted && this.#held.isValid) {
      try {
        const step = await this.#step()
        if (step === 'done') return
        if (step === 'waiting') await pause(LOOK_EVERY_MS, signal)
      } catch (error) {
        if (error instanceof LeaseLost) throw error
        this.#parts.onFailure(error, 'cannot prepare messages; retrying')
        await pause(RETRY_MS, signal)
      }
    }
  }

  /** Nothing is sent for a suspended workspace: its messages wait until it is not suspended any more. */
  async #isSuspended({ workspaceId }: StoredSender): Promise<boolean> {
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
    if (await this.#isSuspended(sender)) return 'waiting'
    await beginRuns(this.#parts, lease)
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
      if ((await removeRest(this.#parts, this.#held, open)) > 0) return true
    } else if (await this.#claim(open, sender)) return true
    if (await hasMessagesIn(database, number, OPEN_STATES)) return false
    if (await finishRun(this.#parts, lease, open)) this.#sending.delete(number)
    return false
  }

  /** Claims a block, if few messages wait for a connection. Returns whether it was a full one. */
  async #claim(open: OpenRun, sender: StoredSender): Promise<boolean> {
    const { connections, perSecond } = sender.limits
    const block = Math.min(BLOCK_MAX, perSecond)
    if (this.#queue.size > block / 2) return false
    const due = await findNextDue(this.#parts.database, open.run.number)
    if (due === undefined || due > this.#parts.clock()) return false
    const sending = await this.#openSending(open, sender)
    const claimed = await this.#claimAtMost(block, sending, sender)
    this.#queue.add(claimed.map((message) => ({ sending, claimed: message })))
    this.#connect(Math.min(connections, perSecond))
    return claimed.length === block
  }

  async #claimAtMost(block: number, sending: SendingRun, { limits }: StoredSender): Promise<ClaimedMessage[]> {
    const { database, clock, emailVault } = this.#parts
    const { lease } = this.#held
    const now = clock()
    const day = Math.floor(now / DAY_MS)
    const { claimed, quota } = await database.write(async (store) => {
      await requireSenderLease(store, lease)
      const max = await takeQuota(store, lease, { day, perDay: limits.perDay, wanted: block })
      const couponLabelsOf = (message: RunMessage) => sending.couponLabelsOf(message)
      const claim = this.#held.nextClaim()
      const options = { open: sending.open, max, claim, now, emailVault, couponLabelsOf }
      const messages = max === 0 ? [] : await claimBlock(store, lease, options)
      await returnQuota(store, lease, day, max - messages.filter(({ removal }) => !removal).length)
      return { claimed: messages, quota: max }
    })
    this.#gate.setQuotaUsed(quota === 0)
    return claimed
  }

  async #openSending(open: OpenRun, sender: StoredSender): Promise<SendingRun> {
    const known = this.#sending.get(open.run.number)
    if (known?.senderUpdatedAt === sender.updatedAt) {
      known.open = open
      return known
    }
    const sending = await openSendingRun(this.#parts, open, sender)
    this.#sending.set(open.run.number, sending)
    return sending
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
        pause: (whose, reply) => this.#pause(whose, reply),
      })
      const running = connection.run().finally(() => this.#connections.delete(index))
      this.#connections.set(index, running)
    }
  }

  /** Pauses a campaign, or all of the sender, because the server refuses the sender itself. */
  async #pause(whose: SendingRun | 'all', reply: SmtpReply): Promise<void> {
    const { database, clock } = this.#parts
    const sending = whose === 'all' ? [...this.#sending.values()] : [whose]
    const halt = { since: clock(), reason: REFUSED, reply: `${reply.code ?? ''} ${reply.text}`.trim() }
    await database.write(async (store) => {
      for (const { open } of sending) await pauseDelivery(store, open.run.campaign, halt)
    })
    // At once, so that the connections do not ask the server in vain for those that wait.
    await this.#putBack((ready) => sending.includes(ready.sending))
  }

  /** Queues messages again that wait for a connection. */
  async #putBack(isWanted: (ready: ReadyMessage) => boolean): Promise<void> {
    const { database, clock } = this.#parts
    const { lease } = this.#held
    const drained = this.#queue.drain(isWanted)
    if (drained.length === 0) return
    const byRun = Map.groupBy(drained, ({ sending }) => sending.open.run.number)
    await database.write(async (store) => {
      await requireSenderLease(store, lease)
      for (const [run, ready] of byRun) {
        const numbers = ready.map(({ claimed }) => claimed.message.number)
        await unclaimMessages(store, { run, fence: lease.fence }, numbers)
      }
      const unused = drained.filter(({ claimed }) => !claimed.removal).length
      await returnQuota(store, lease, Math.floor(clock() / DAY_MS), unused)
    })
  }

  /** Queues again what no connection has taken. Whoever has taken the lease over has done so already. */
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
    await this.#parts.teller.whenIdle()
    await this.#giveBack()
    await this.#held.release()
  }
}
