// What the links in messages tell the log: hits of links and pictures, and what people decide on the pages behind links. The log is
// where both are durable; the pipeline stores hits, and changes preferences.
import type { ReportedMessage } from '../campaigns/report.ts'
import type { PreferenceRequest } from '../users/preference.ts'
import { EMAIL_PLATFORM, messageIdOfRun } from '../delivery/delivery-entry.ts'

/** A message, as its links name it. */
export interface LinkedMessage {
  /** `runs.number`. */
  readonly run: number
  /** `messages.number`. */
  readonly message: number
}

export const HIT_KINDS = ['open', 'click'] as const
export type HitKind = (typeof HIT_KINDS)[number]

/** One request to a link or to the picture of a message. */
export interface LinkHit extends LinkedMessage {
  readonly kind: HitKind
  /** `run_links.number`; 0 for opens. */
  readonly link: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly ip: string
  readonly user_agent: string | null
  /** Whether the request itself shows that no person made it: HEAD, or a prefetch. */
  readonly is_automatic: boolean
}

/** The body of an entry `svc_hits`. */
export interface HitsBody {
  readonly hits: readonly LinkHit[]
}

/** The body of an entry `svc_opt_in`: what the person of a message decided on a page behind one of its links. */
export interface LinkOptInBody extends LinkedMessage {
  /** `messages.customer_id`. */
  readonly customer_id: string
  /** `unsubscribe`: a button that ends something; `preferences`: the switches of the preference page. */
  readonly action: 'unsubscribe' | 'preferences'
  readonly request: PreferenceRequest
}

/** The fact of a person who ended something by a link. */
export function unsubscribeFact(
  { run, message, customer_id: customerId }: LinkOptInBody,
  { campaign, time }: { readonly campaign: number; readonly time: number },
): ReportedMessage {
  const messageId = messageIdOfRun(run, message)
  const basis = { campaign, customerId, platform: EMAIL_PLATFORM, device: customerId }
  return { ...basis, kind: 'unsubscribe', time, messageId, reason: null }
}
