// Clients of a cluster: they send requests at a steady rate while processes fail, retry each until it gets a response if that is
// safe, and record the responses.
import { setTimeout as pause } from 'node:timers/promises'
import type { HistoryEntry } from '../support/statistics/history-entries.ts'
import { RequestWriter, type ClientRequest, type WriterOptions } from './cluster-requests.ts'
import type { Cluster } from './cluster.ts'

/** The interval between requests during a fault and in the seconds after it. */
const ARRIVAL_MS = 20
/** After this many, a longer interval is enough for the wait until the cluster has recovered. */
const DENSE_REQUESTS = 300
const SPARSE_ARRIVAL_MS = 80
/** The most requests without a response; beyond that none are sent. */
const IN_FLIGHT_MAX = 300
/** How long a client waits for a response, and for how long it retries. */
const ANSWER_MS_MAX = 10_000
const TRIES_MS_MAX = 60_000
/** The pause after a connection broke or was refused. */
const AGAIN_AFTER_MS = 100

export interface SentRequest extends ClientRequest {
  /** From `performance.now`. */
  readonly sentAt: number
  /** When it got its first response, from `Date.now`, and how long after it was sent. */
  acknowledged: { readonly at: number; readonly afterMs: number } | undefined
  /** The ids in successful responses. */
  readonly requestIds: string[]
  /** Attempts without a response, or with 503: each may have been stored. */
  uncertainTries: number
}

export type LoadOptions = WriterOptions & { readonly cluster: Cluster }

export class ClusterLoad {
  readonly requests: SentRequest[] = []
  /** Responses that no client should get. */
  readonly surprises: string[] = []
  readonly writer: RequestWriter
  readonly #cluster: Cluster
  readonly #inFlight = new Set<Promise<void>>()
  readonly #name: string
  #arrivals: NodeJS.Timeout | undefined
  #tries = 0

  constructor(options: LoadOptions) {
    this.writer = new RequestWriter(options)
    this.#cluster = options.cluster
    this.#name = options.name
  }

  start(): void {
    this.#arrivals = setTimeout(
      () => {
        if (this.#inFlight.size < IN_FLIGHT_MAX) this.#sendNext()
        this.start()
      },
      this.requests.length < DENSE_REQUESTS ? ARRIVAL_MS : SPARSE_ARRIVAL_MS,
    )
  }

  /** Sends no more requests, and waits until every client is done. */
  async stop(): Promise<void> {
    clearTimeout(this.#arrivals)
    await Promise.all(this.#inFlight)
  }

  get acknowledged(): SentRequest[] {
    return this.requests.filter(({ acknowledged }) => acknowledged)
  }

  /** Requests without a response whose clients do not retry: they may be stored or not. */
  get uncertain(): SentRequest[] {
    return this.requests.filter(({ acknowledged, uncertainTries }) => !acknowledged && uncertainTries > 0)
  }

  /** Whether a request sent after an instant of `performance.now` got a response. */
  isServedAfter(instant: number): boolean {
    return this.requests.some(({ sentAt, acknowledged }) => sentAt > instant && acknowledged)
  }

  longestWaitMs(): number {
    return Math.max(...this.acknowledged.map(({ acknowledged }) => acknowledged?.afterMs ?? 0))
  }

  #sendNext(): void {
    const request: SentRequest = {
      ...this.writer.next(),
      sentAt: performance.now(),
      acknowledged: undefined,
      requestIds: [],
      uncertainTries: 0,
    }
    const key = `${this.#name}-${this.requests.length}`
    this.requests.push(request)
    const sending = this.#send(request, key).finally(() => this.#inFlight.delete(sending))
    this.#inFlight.add(sending)
  }

  async #send(request: SentRequest, key: string): Promise<void> {
    const send = () => this.#sendUntilAnswered(request, key)
    if (request.again === 'at once') await Promise.all([send(), send()])
    else await send()
    if (request.again === 'later') await send()
  }

  async #sendUntilAnswered(request: SentRequest, key: string): Promise<void> {
    const deadline = performance.now() + TRIES_MS_MAX
    while (performance.now() < deadline) {
      const againAfterMs = await this.#try(request, key)
      if (againAfterMs === undefined) return
      request.uncertainTries++
      if (request.manner === 'unnamed') return
      await pause(againAfterMs)
    }
    this.surprises.push(`a request is not accepted for ${TRIES_MS_MAX} ms: ${request.body}`)
  }

  /** Undefined if the client is done, else how long it waits before it retries. */
  async #try(request: SentRequest, key: string): Promise<number | undefined> {
    try {
      const response = await this.#cluster.ask('POST', pathOf(request.entry), {
        target: this.#tries++,
        body: request.body,
        headers: request.manner === 'keyed' ? { 'idempotency-key': key } : {},
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      })
      if (response.status === 503) return Number(response.headers.get('retry-after')) * 1_000
      if (response.status === 200) acknowledge(request, response.body as { request_id: string })
      else this.surprises.push(`${response.status} ${JSON.stringify(response.body)} to ${request.body}`)
      return undefined
    } catch {
      return AGAIN_AFTER_MS
    }
  }
}

function acknowledge(request: SentRequest, { request_id: id }: { readonly request_id: string }): void {
  request.acknowledged ??= { at: Date.now(), afterMs: performance.now() - request.sentAt }
  request.requestIds.push(id)
}

function pathOf({ kind, audiences, messages }: HistoryEntry): string {
  const campaign = (audiences[0] ?? messages[0])?.campaignId
  switch (kind) {
    case 'track_events':
      return '/v1/event/main'
    case 'track_user':
      return '/v1/customer/main'
    case 'svc_audience':
      return `/core-services/v1/campaigns/${campaign}/audience`
    case 'svc_message_events':
      return `/core-services/v1/campaigns/${campaign}/message-events`
  }
}
