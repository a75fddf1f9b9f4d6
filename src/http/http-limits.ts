// What callers can make this process hold, and for how long, in one place (`docs/decisions/0022`). Each limit is for the whole
// process, whoever calls.

const MIB = 1024 * 1024

export interface HttpLimits {
  /** Connections at once; those beyond are closed as they come. */
  readonly connectionsMax: number
  /** How long the head of a request may take to arrive, and then any body but an upload. */
  readonly headWaitMs: number
  readonly bodyWaitMs: number
  /** How long an upload may pause. */
  readonly uploadQuietMs: number
  /** Bytes of all bodies that have begun to arrive and are not complete; an eighth more on the short way of plain requests. */
  readonly receivedBytesMax: number
  /** Requests that wait for the answer before them, on all connections. */
  readonly pipelinedMax: number
  /** The same on one connection. */
  readonly pipelinedPerConnectionMax: number
  /** How long a client may take nothing of an answer that it is sent. */
  readonly answerUnreadMs: number
  /** Bytes of all large answers that are not sent whole. */
  readonly unsentBytesMax: number
  /**
   * How long an answer is waited for, once that many bytes are unsent, before its connection is closed to make room for another.
   */
  readonly unsentPatienceMs: number
  /** How long answers that are not read whole, and requests that have not come whole, are waited for when the process stops. */
  readonly stopStalledMs: number
  /** How often all that waits is looked at: every time above is exact to within this. */
  readonly sweepEveryMs: number
}

export const HTTP_LIMITS: HttpLimits = {
  connectionsMax: 10_000,
  headWaitMs: 60_000,
  bodyWaitMs: 60_000,
  uploadQuietMs: 60_000,
  receivedBytesMax: 64 * MIB,
  pipelinedMax: 10_000,
  // One read takes 64 KiB: some 260 of the smallest requests with an event, or 400 that read something.
  pipelinedPerConnectionMax: 500,
  answerUnreadMs: 60_000,
  unsentBytesMax: 128 * MIB,
  unsentPatienceMs: 10_000,
  // The process has eight seconds for all that is in flight.
  stopStalledMs: 5_000,
  sweepEveryMs: 5_000,
}
