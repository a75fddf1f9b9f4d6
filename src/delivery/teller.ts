// Tells the log of attempts and outcomes. Events are durable strictly in the order in which they were told: a connection tells the
// outcome of a message before the attempt of its next one, so a crash leaves at most one message of each connection in doubt.
import { v7 as newRequestId } from 'uuid'
import { deliveryPartitionKey, type DeliveryBody, type DeliveryEvent } from '../core/delivery/delivery-entry.ts'
import type { LogWriter } from '../log/event-log.ts'
import { pause } from '../runtime/pause.ts'
import type { Run } from '../store/delivery/runs.ts'

/** Events in one entry. Each may hold personal link targets and a reply of a kilobyte. */
const EVENTS_PER_ENTRY = 200
/** So long an outcome waits for an attempt, with which it becomes durable in one step. */
const OUTCOME_WAIT_MS = 20
/** Between tries while the log takes nothing. */
const RETRY_MS = 250

type ToldRun = Pick<Run, 'number' | 'campaign' | 'workspaceId' | 'evaluatedAt'>

interface Waiting {
  readonly run: ToldRun
  readonly event: DeliveryEvent
  readonly told: PromiseWithResolvers<void>
}

export interface TellerOptions {
  readonly log: Pick<LogWriter, 'append'>
  readonly onFailure: (error: unknown, what: string) => void
}

export class Teller {
  readonly #options: TellerOptions
  #waiting: Waiting[] = []
  #telling: Promise<void> | undefined
  /** Something waits that must not wait any longer. */
  #isDue = false
  #outcomeTimer: NodeJS.Timeout | undefined

  constructor(options: TellerOptions) {
    this.#options = options
  }

  /** Resolves when the event is durable, however long the log takes nothing. */
  tell(run: ToldRun, event: DeliveryEvent): Promise<void> {
    const told = Promise.withResolvers<void>()
    this.#waiting.push({ run, event, told })
    if (event.kind === 'attempted') this.#beginTelling()
    else this.#outcomeTimer ??= setTimeout(() => this.#beginTelling(), OUTCOME_WAIT_MS)
    return told.promise
  }

  /** Resolves when everything told is durable. */
  async whenIdle(): Promise<void> {
    while (this.#waiting.length > 0 || this.#telling) {
      this.#beginTelling()
      await this.#telling
    }
  }

  #beginTelling(): void {
    this.#isDue = true
    this.#telling ??= this.#tellAll()
  }

  async #tellAll(): Promise<void> {
    // What is told in one turn of the event loop goes into one entry.
    await new Promise(setImmediate)
    while (this.#isDue) {
      this.#isDue = false
      clearTimeout(this.#outcomeTimer)
      this.#outcomeTimer = undefined
      await this.#appendFirst(this.#waiting.length)
    }
    // In the turn of the last look, so that nothing told after it is left waiting.
    this.#telling = undefined
  }

  /** Makes so many events durable, in order. */
  async #appendFirst(count: number): Promise<void> {
    for (let left = count; left > 0;) {
      const events = this.#takeOfOneRun()
      left -= events.length
      await this.#append(events)
      for (const { told } of events) told.resolve()
    }
  }

  /** The first events, as far as they are of one run: entries of two runs could become durable in another order. */
  #takeOfOneRun(): Waiting[] {
    const { number } = (this.#waiting[0] as Waiting).run
    const other = this.#waiting.findIndex(({ run }) => run.number !== number)
    const count = Math.min(other < 0 ? this.#waiting.length : other, EVENTS_PER_ENTRY)
    const taken = this.#waiting.slice(0, count)
    this.#waiting = this.#waiting.slice(count)
    return taken
  }

  /** Repeats do no harm: the facts have identities, and the states of messages are the same after two equal events. */
  async #append(events: readonly Waiting[]): Promise<void> {
    const { run } = events[0] as Waiting
    const entry = toEntry(
      run,
      events.map(({ event }) => event),
    )
    for (;;) {
      try {
        await this.#options.log.append(entry)
        return
      } catch (error) {
        this.#options.onFailure(error, 'cannot append to the log; retrying')
        await pause(RETRY_MS)
      }
    }
  }
}

function toEntry({ number, campaign, workspaceId, evaluatedAt }: ToldRun, events: readonly DeliveryEvent[]) {
  const body: DeliveryBody = { run: number, evaluated_at: evaluatedAt, events }
  return {
    kind: 'svc_delivery',
    workspaceId,
    requestId: newRequestId(),
    receivedAt: 0,
    context: { campaign },
    body: Buffer.from(JSON.stringify(body)),
    events: events.length,
    partitionKey: deliveryPartitionKey(campaign),
  } as const
}
