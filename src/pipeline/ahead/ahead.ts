// Counts batches of reports ahead: while some are stored, on a thread of their own, the next one is counted. A send of a campaign
// reports millions of message events at once, each of which takes as long to count as to store, and machines have two processors.
//
// What a batch is counted by must be as if the batches before it were stored already. So it may share no user with them, and nobody
// else may have changed the store since before the first of them was counted; otherwise it is counted again.
import type { LogEntry } from '../../log/event-log.ts'
import type { Database } from '../../store/store.ts'
import type { Turnstile } from '../../store/turnstile.ts'
import { isReportKind, type Batch } from '../batch.ts'
import { AheadWriter } from './ahead-writer.ts'
import type { AheadAnswer } from './ahead-thread.ts'
import { countAhead, type CountedAhead } from './counted-batch.ts'
import { KnownFacts, type LeftChanges, type ReadOfLeft } from './known-facts.ts'
import { KnownUsers } from './known-users.ts'

/**
 * Full batches, one after the other, that are applied by themselves before the thread is started, and again after one that could
 * not be counted ahead: a thread is not started for a few thousand facts, nor are all counted twice where most name new users, or
 * while others change the store all the time.
 */
export const BATCHES_BEFORE = 2
/** The thread ends when nothing was stored on it for so long; it holds some 30 MiB. */
const IDLE_MS = 10_000

/** To count a batch takes about four times as long as to store it, so a third of the counting is left at first … */
const LEFT_AT_FIRST = 1 / 3
/** … and changed by so much after each batch, since no two batches take the same time. */
const LEFT_STEP = 1 / 50
const LEFT_MAX = 3 / 4

/** How much of the counting is left to the thread that stores: so much that both threads take as long for a batch. */
export class Shares {
  #left = LEFT_AT_FIRST

  get left(): number {
    return this.#left
  }

  note(countedMs: number, storedMs: number): void {
    const step = countedMs > storedMs ? LEFT_STEP : -LEFT_STEP
    this.#left = Math.min(Math.max(0, this.#left + step), LEFT_MAX)
  }
}

export interface AheadOptions {
  /** Where the embedded store is. */
  readonly dataDir: string
  /** For reading. */
  readonly database: Database
  /** Others may pass before each batch, here and where it is stored: they could not write otherwise. */
  readonly turnstile: Turnstile
  readonly onStored: (stored: StoredAhead) => void
  /**
   * Hears why a batch could not be counted or stored on the thread, where it was not for changes by others: an error, or the
   * description of one.
   */
  readonly onFailure: (error: unknown) => void
}

/** What became of a batch that was counted ahead. */
export interface StoredAhead {
  readonly entries: number
  /** Reported facts that were new. */
  readonly events: number
  /** How long it was counted and stored, without the time between. */
  readonly durationMs: number
}

/** A batch that is being stored, or is to be stored next. */
interface Flight {
  readonly entries: number
  /** The last position in it. */
  readonly to: number
  /** The users it is about, by id. */
  readonly users: ReadonlyMap<number, unknown>
  readonly left: LeftChanges
  readonly countedMs: number
  readonly answer: Promise<AheadAnswer>
}

/**
 * Batches that the thread has at one time: one is being stored, and the next is there when that is done. No batch takes as long to
 * count as another takes to store, and with only one, either thread would wait for the other after each.
 */
const FLIGHTS_MAX = 2

/** A batch that was counted ahead is not stored; whoever catches this reads the cursor again. */
export class NotStored extends Error {}

export class Ahead {
  readonly #options: AheadOptions
  #writer: AheadWriter | undefined
  /** In the order of the log. */
  #flights: Flight[] = []
  /** As they were found since the last mark, or before it if nobody else had changed the store until then. */
  readonly #knownUsers = new KnownUsers()
  /** Only while there are batches to count: its arrays count as memory of the thread. */
  #knownFacts: KnownFacts | undefined
  /** So many batches for which the thread might be used are applied by themselves before the next is counted ahead. */
  #batchesBefore = BATCHES_BEFORE
  readonly #shares = new Shares()
  #usedAt = 0

  constructor(options: AheadOptions) {
    this.#options = options
  }

  /** The last position of what is being stored; undefined when there is nothing. */
  get position(): number | undefined {
    return this.#flights.at(-1)?.to
  }

  /**
   * Whether the next batch may be counted ahead, as far as its entries tell: all are reports, as those before were. One that is not
   * full may while the thread is there: applied by itself, it would change what the next ones are counted by.
   */
  isFor(entries: readonly LogEntry[], isFull: boolean): boolean {
    if (!isFull && (entries.length === 0 || !this.#writer)) return false
    if (!entries.every(({ kind }) => isReportKind(kind))) {
      if (!this.#writer) this.#batchesBefore = BATCHES_BEFORE
      return false
    }
    if (this.#batchesBefore === 0) return true
    this.#batchesBefore--
    return false
  }

  /**
   * Takes a batch of the log behind `from`, which follows what is being stored, if it can be counted ahead, and has it stored. False
   * where it has to be applied by itself, when `settle` is over. Throws NotStored when one before it was not stored.
   */
  async take(batch: Batch, from: number): Promise<boolean> {
    const writer = await this.#prepare()
    const startedAt = performance.now()
    const isKnown = writer && (await this.#findUsers(batch))
    // What is counted by is still known to hold after that: nothing is stored if others have changed anything.
    if (isKnown && this.#isStoringOneOf(batch.aloneUsers)) await this.settle()
    const counted = isKnown && (await this.#count(batch, [from]))
    if (!counted) {
      this.#batchesBefore = BATCHES_BEFORE
      this.#forget()
      return false
    }
    const countedMs = performance.now() - startedAt
    while (this.#flights.length >= FLIGHTS_MAX) await this.#land()
    await this.#options.turnstile.letOthersPass()
    const { length: entries } = batch.entries
    const to = batch.lastPositions.get(0) as number
    const answer = writer.store(counted.batch)
    this.#flights.push({ entries, to, users: batch.aloneUsers, left: counted.left, countedMs, answer })
    return true
  }

  /** Waits until all batches in hand are stored. Throws NotStored when one is not. */
  async settle(): Promise<void> {
    while (this.#flights.length > 0) await this.#land()
  }

  /** The same for the first of them. */
  async #land(): Promise<void> {
    const flight = this.#flights.shift()
    if (!flight) return
    const answer = await flight.answer
    this.#usedAt = performance.now()
    if (answer.isDone) {
      const { facts: events, read, durationMs } = answer
      // No batch that was counted meanwhile is about one of these users.
      this.#knownFacts?.noteLeft(flight.left, JSON.parse(read) as readonly ReadOfLeft[])
      this.#shares.note(flight.countedMs, durationMs)
      this.#options.onStored({ entries: flight.entries, events, durationMs: flight.countedMs + durationMs })
      return
    }
    this.#batchesBefore = BATCHES_BEFORE
    this.#forget()
    if (answer.error !== undefined) this.#options.onFailure(answer.error)
    // The one behind it begins where it ends, and so is not stored either.
    await Promise.all(this.#flights.splice(0).map((other) => other.answer))
    throw new NotStored()
  }

  /** To be called while there is less than a full batch to apply: ends the thread after a while. */
  async rest(): Promise<void> {
    if (!this.#writer) this.#batchesBefore = BATCHES_BEFORE
    else if (performance.now() - this.#usedAt > IDLE_MS) await this.close()
  }

  /** Ends the thread when the batches in hand are stored. */
  async close(): Promise<void> {
    const writer = this.#writer
    this.#writer = undefined
    this.#flights = []
    this.#batchesBefore = BATCHES_BEFORE
    this.#forget()
    this.#knownFacts = undefined
    await writer?.close()
  }

  /** The thread, which notices from here on when others change the store; undefined where it cannot be used. */
  async #prepare(): Promise<AheadWriter | undefined> {
    const { dataDir, turnstile, onFailure } = this.#options
    try {
      const writer = (this.#writer ??= await AheadWriter.start({ dataDir, turnstile: turnstile.shared }))
      if (this.#flights.length > 0) return writer
      const answer = await writer.mark()
      if (!answer.isDone) throw answer.error
      if (!answer.isUnchanged) this.#forget()
      return writer
    } catch (error) {
      onFailure(error)
      return undefined
    }
  }

  /** What is known holds no longer, or there may be facts in it of a batch that is not stored. */
  #forget(): void {
    this.#knownUsers.clear()
    this.#knownFacts?.clear()
  }

  #isStoringOneOf(users: ReadonlyMap<number, unknown>): boolean {
    for (const flight of this.#flights) for (const userId of flight.users.keys()) if (users.has(userId)) return true
    return false
  }

  /** Whether it is known who everybody is whom a batch names; what prevents that is met again as in `#count`. */
  async #findUsers(batch: Batch): Promise<boolean> {
    try {
      return areReports(batch) && (await this.#knownUsers.find(this.#options.database, batch))
    } catch {
      return false
    }
  }

  /** Whatever prevents it is met again, and told, where the batch is applied by itself. */
  async #count(batch: Batch, from: readonly number[]): Promise<CountedAhead | undefined> {
    try {
      const knownFacts = (this.#knownFacts ??= new KnownFacts())
      return await countAhead(this.#options.database, batch, { knownFacts, from, leftShare: this.#shares.left })
    } catch {
      return undefined
    }
  }
}

/** Whether a batch holds nothing but reports that can be read. */
function areReports({ entries, unreadable }: Batch): boolean {
  return unreadable.length === 0 && entries.every(({ kind }) => isReportKind(kind))
}
