// Takes the leases of senders that have something to do, and sends for them. Any number of processes may do so: one at a time sends for
// a sender.
import { hostname } from 'node:os'
import { v7 as newRunId } from 'uuid'
import { pause } from '../runtime/pause.ts'
import { listSendersToSendFor } from '../store/delivery/delivery-work.ts'
import { refuseNewerTables } from '../store/migrations.ts'
import { isSenderLeased, takeSenderLease } from '../store/senders/sender-leases.ts'
import type { DeliveryParts } from './delivery-parts.ts'
import { currentInstant, HeldLease, SENDER_LEASE_MS } from './sender-lease.ts'
import { SenderLoop } from './sending/sender-loop.ts'

/** How often senders are looked for. */
const LOOK_EVERY_MS = 500
/** Senders that one process sends for at the same time. */
const SENDERS_MAX = 100

export interface DeliveryLoopOptions {
  readonly parts: DeliveryParts
  /** No other process delivers over this store: leases that are left belong to processes that died. */
  readonly isAlone: boolean
}

export class DeliveryLoop {
  readonly #options: DeliveryLoopOptions
  readonly #holder = `${hostname()} ${process.pid} ${newRunId()}`
  readonly #stopping = new AbortController()
  /** Sender → its loop, until it has ended. */
  readonly #loops = new Map<number, { readonly loop: SenderLoop; readonly ended: Promise<void> }>()
  #ended: Promise<void> = Promise.resolve()

  constructor(options: DeliveryLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#ended = this.#run()
  }

  /** Finishes the messages on connections, and gives all leases back. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#ended
    for (const { loop } of this.#loops.values()) loop.stop()
    await Promise.all([...this.#loops.values()].map(({ ended }) => ended))
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    const { parts } = this.#options
    while (!signal.aborted) {
      await this.#takeOne().catch((error: unknown) => parts.onFailure(error, 'cannot look for campaigns; retrying'))
      await pause(LOOK_EVERY_MS, signal)
    }
  }

  /** Takes at most one lease, so that processes that start together share the senders. */
  async #takeOne(): Promise<void> {
    const { parts, isAlone } = this.#options
    const { database, clock } = parts
    const senders = await listSendersToSendFor(database, clock())
    for (const sender of senders.filter((one) => !this.#loops.has(one))) {
      if (this.#loops.size >= SENDERS_MAX) return
      const takenAt = currentInstant()
      const wish = { sender, holder: this.#holder, keptMs: SENDER_LEASE_MS, isAlone }
      // Looks first, because who takes a lease waits for the transactions of the process that has it.
      if (!isAlone && (await isSenderLeased(database, wish))) continue
      const lease = await database.write(async (store) => {
        await refuseNewerTables(store)
        return takeSenderLease(store, wish)
      })
      if (!lease) continue
      const held = new HeldLease({ database, lease, takenAt, onFailure: parts.onFailure })
      const loop = new SenderLoop(parts, held)
      const ended = loop.run().finally(() => this.#loops.delete(sender))
      this.#loops.set(sender, { loop, ended })
      return
    }
  }
}
