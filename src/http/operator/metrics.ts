// The metrics of one process, in Prometheus' text format: requests, the log and the pipeline.
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { WarningKind } from '../../core/app-error.ts'
import type { LogCommit } from '../../log/event-log.ts'

const LATENCY_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const COMMIT_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000]

/** How far the pipeline is behind the log. */
export interface LogLag {
  readonly entries: number
  readonly seconds: number
}

/** The gauges read from store and log for each scrape; undefined if they do not answer. */
export interface GaugeValues {
  readonly lag: LogLag | undefined
  readonly parked: number | undefined
}

/** The counts of one batch of the pipeline. */
export interface BatchCounts {
  /** Events and reported facts that were new. */
  readonly events: number
  readonly notCounted: number
  readonly parked: number
  /** Of the receipts of the batch. */
  readonly warnings: readonly WarningCount[]
  readonly durationMs: number
}

interface WarningCount {
  readonly operation: string
  readonly kind: WarningKind
  readonly count: number
}

/** The requests to one operation. */
interface OperationRequests {
  readonly durations: Histogram.Internal<string>
  /** By status: how many since the counters were last read. */
  readonly uncounted: Map<number, number>
}

export class Metrics {
  readonly #registry = new Registry()
  readonly #requests = new Counter({
    name: 'tidings_http_requests_total',
    help: 'Requests by operation and status.',
    labelNames: ['operation', 'status'],
    registers: [this.#registry],
    collect: () => this.#addUncounted(),
  })
  readonly #durations = new Histogram({
    name: 'tidings_http_request_duration_seconds',
    help: 'Time from the end of the head of a request to the last byte of its answer.',
    labelNames: ['operation'],
    buckets: LATENCY_BUCKETS_S,
    registers: [this.#registry],
  })
  readonly #accepted = this.#counter('tidings_events_accepted_total', 'Events acknowledged, durable in the log.')
  readonly #processed = this.#counter(
    'tidings_events_processed_total',
    'Events and reported facts that were new to the pipeline.',
  )
  readonly #notCounted = this.#counter(
    'tidings_events_not_counted_total',
    'Events and reported facts that statistics do not count, because their user is over a cap in a campaign.',
  )
  readonly #parked = this.#counter(
    'tidings_entries_parked_total',
    'Log entries set aside because they cannot be applied.',
  )
  readonly #identitiesNotFollowed = this.#counter(
    'tidings_identities_not_followed_total',
    'Identifiers of requests that were not followed, because they would have joined too many customer ids.',
  )
  readonly #warnings = new Counter({
    name: 'tidings_warnings_total',
    help: 'Warnings in responses and in the status of requests, by operation and kind.',
    labelNames: ['operation', 'kind'],
    registers: [this.#registry],
  })
  readonly #commitEntries = this.#histogram(
    'tidings_log_commit_entries',
    'Entries a commit of the log.',
    COMMIT_BUCKETS,
  )
  readonly #commitSeconds = this.#histogram(
    'tidings_log_commit_seconds',
    'Time of a commit of the log.',
    LATENCY_BUCKETS_S,
  )
  readonly #batchSeconds = this.#histogram(
    'tidings_pipeline_batch_seconds',
    'Time to apply a batch.',
    LATENCY_BUCKETS_S,
  )
  readonly #lagEntries = this.#gauge('tidings_log_lag_entries', 'Entries of the log that are not applied yet.')
  readonly #lagSeconds = this.#gauge('tidings_log_lag_seconds', 'Age of the oldest entry that is not applied yet.')
  readonly #memory = this.#gauge('process_resident_memory_bytes', 'Resident memory.')
  readonly #parkedNow = this.#gauge('tidings_entries_parked', 'Log entries that wait for an operator.')
  /** Labels are looked up once per operation, not once per request. */
  readonly #operations = new Map<string, OperationRequests>()

  /** Without `seconds` if the start of the request is unknown. */
  countRequest(operation: string, status: number, seconds?: number): void {
    let requests = this.#operations.get(operation)
    if (!requests) {
      requests = { durations: this.#durations.labels(operation), uncounted: new Map() }
      this.#operations.set(operation, requests)
    }
    requests.uncounted.set(status, (requests.uncounted.get(status) ?? 0) + 1)
    if (seconds !== undefined) requests.durations.observe(seconds)
  }

  countCommit({ entries, events, durationMs }: LogCommit): void {
    this.#accepted.inc(events)
    this.#commitEntries.observe(entries)
    this.#commitSeconds.observe(durationMs / 1000)
  }

  countWarnings(operation: string, kind: WarningKind, count: number): void {
    this.#warnings.inc({ operation, kind }, count)
    if (kind === 'identity_not_followed') this.#identitiesNotFollowed.inc(count)
  }

  countBatch({ events, notCounted, parked, warnings, durationMs }: BatchCounts): void {
    this.#processed.inc(events)
    this.#notCounted.inc(notCounted)
    this.#parked.inc(parked)
    for (const { operation, kind, count } of warnings) this.countWarnings(operation, kind, count)
    this.#batchSeconds.observe(durationMs / 1000)
  }

  /** The text of all metrics, with the gauges as they are now: NaN where store or log did not answer. */
  async render({ lag, parked }: GaugeValues): Promise<{ readonly contentType: string; readonly text: string }> {
    this.#lagEntries.set(lag?.entries ?? Number.NaN)
    this.#lagSeconds.set(lag?.seconds ?? Number.NaN)
    this.#parkedNow.set(parked ?? Number.NaN)
    this.#memory.set(process.memoryUsage.rss())
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() }
  }

  #addUncounted(): void {
    for (const [operation, { uncounted }] of this.#operations) {
      for (const [status, count] of uncounted) this.#requests.inc({ operation, status }, count)
      uncounted.clear()
    }
  }

  #counter(name: string, help: string): Counter {
    return new Counter({ name, help, registers: [this.#registry] })
  }

  #gauge(name: string, help: string): Gauge {
    return new Gauge({ name, help, registers: [this.#registry] })
  }

  #histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({ name, help, buckets, registers: [this.#registry] })
  }
}
