// All limits on memory and time per client (`docs/decisions/0022`). Each holds for the whole process.

const MIB = 1024 * 1024

export interface HttpLimits {
  /** Connections at once. Beyond it, a new one closes the oldest that sent no request or, if there is none, is closed itself. */
  readonly connectionsMax: number
  /** How long the head of a request may take to arrive, and then its body unless it is an upload. */
  readonly headWaitMs: number
  readonly bodyWaitMs: number
  /** How long an upload may pause. */
  readonly uploadQuietMs: number
  /** Bytes of all incomplete bodies; the fast path may hold an eighth more. */
  readonly receivedBytesMax: number
  /** Pipelined requests that wait, on all connections. */
  readonly pipelinedMax: number
  /** The same on one connection. */
  readonly pipelinedPerConnectionMax: number
  /** How long a client may read nothing of its answer. */
  readonly answerUnreadMs: number
  /** Bytes of all large answers that are unsent. */
  readonly unsentBytesMax: number
  /** How old an unsent answer must be before it is given up to make room for another. */
  readonly unsentPatienceMs: number
  /** How long a stopping process waits for unread answers, and for requests that are incomplete or queued. */
  readonly stopStalledMs: number
  /** How often deadlines are checked: every time above is exact to within this. */
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
  unsentBytesMax: 96 * MIB,
  unsentPatienceMs: 10_000,
  // The process has eight seconds for all that is in flight.
  stopStalledMs: 5_000,
  sweepEveryMs: 5_000,
}
