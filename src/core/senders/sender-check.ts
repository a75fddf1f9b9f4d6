// What a check of a sender finds out ("Senders").

export const SENDER_CHECKS = ['connection', 'authentication', 'spf', 'dkim', 'dmarc'] as const
/** `unknown`: the check could not be made, for example because the resolver did not answer. */
export const CHECK_RESULTS = ['ok', 'warning', 'failed', 'unknown'] as const

export interface CheckOutcome {
  readonly result: (typeof CHECK_RESULTS)[number]
  /** A sentence for people. */
  readonly detail: string
}

export interface SenderCheck extends CheckOutcome {
  readonly check: (typeof SENDER_CHECKS)[number]
}
