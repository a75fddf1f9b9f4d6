// Sends for one sender while this process has its lease: takes its campaigns from step to step, claims messages when their turn comes,
// and hands them to the sender's connections.
import { issueCoupons } from '../../actions/coupons/hold-coupons.ts'
import { untilApplied } from '../../actions/applied-through.ts'
import type { SmtpReply } from '../../core/delivery/failures.ts'
import { pause } from '../../runtime/pause.ts'
import { DAY_MS } from '../../core/time-zone.ts'
import { pauseDelivery } from '../../store/delivery/deliveries.ts'
import { settleAbandoned, unclaimMessages } from '../../store/delivery/message-claims.ts'
import { listOpenRuns } from '../../store/delivery/runs.ts'
import { openPassword } from '../../store/senders/sender-secrets.ts'
import {
  LeaseLost,
  requireSenderLease,
  returnQuota,
  saveWaiting,
  takeQuota,
} from '../../store/senders/sender-leases.ts'
import { findSenderByNumber, type StoredSender } from '../../store/senders/senders.ts'
import type { DeliveryParts } from '../delivery-parts.ts'
import { beginRuns } from '../run/begin-runs.ts'
import { claimBlock } from '../run/claim-block.ts'
import { finishRun, removeRest } from '../run/end-run.ts'
import { compareSlice, freezeSlice } from '../run/freeze-run.ts'
import { readOpenRuns, type OpenRun } from '../run/open-run.ts'
import { tellSlice } from '../run/tell-audience.ts'
import type { HeldLease } from '../sender-lease.ts'
import { Connection, type ReadyMessage } from './connection.ts'
import { ReadyQueue } from './ready-queue.ts'
import { SenderGate } from './sender-gate.ts'
import { openSendingRun, type SendingRun } from './sending-run.ts'

/** How often the loop looks for changes: pauses, cancellations, and messages whose time has come. */
const LOOK_EVERY_MS = 200
/** Messages of one claim at the most, and so many more wait at the most. */
const BLOCK_MAX = 500
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
  #connections: Promise<void>[] = []
  #sender: StoredSender | undefined
  /** The address that `comparing` has reached in each run. */
  readonly #compared = new Map<number, string>()

  constructor(parts: DeliveryParts, held: HeldLease) {
    this.#parts = parts
    this.#held = held
    const { database, clock } = parts
    this.#gate = new SenderGate({
      clock,
      saveWaiting: (halt) => database.write((store) => saveWaiting(store, held.lease, halt)),
    })
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
      let isDone = false
      try {
        isDone = !(await this.#step())
      } catch (error) {
        if (error instanceof LeaseLost) throw error
        this.#parts.onFailure(error, 'cannot prepare messages; retrying')
        await pause(RETRY_MS, signal)
      }
      if (isDone) return
      await pause(LOOK_EVERY_MS, signal)
    }
  }
}
