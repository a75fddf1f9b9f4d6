// What a campaign needs so that Tidings sends it: the member `delivery` ("A campaign with delivery").
import type { SegmentCondition } from '../segments/condition.ts'

export const CONSENTS = ['opted_in', 'double_opted_in', 'not_opted_out', 'transactional'] as const
export type Consent = (typeof CONSENTS)[number]

/** The id of a segment, or a condition. */
export type AudiencePart = string | SegmentCondition

export interface Variation {
  /** Unique in the campaign. */
  readonly name: string
  /** Percent; all of a campaign's add up to 100. */
  readonly share: number
  readonly externalTemplateId: string
  /** Absent: the newest when the campaign is started. */
  readonly version?: number
}

export interface Delivery {
  readonly senderId: string
  readonly audience: { readonly include: readonly AudiencePart[]; readonly exclude: readonly AudiencePart[] }
  readonly variations: readonly Variation[]
  readonly consent: Consent
  /** Null: no category. */
  readonly category: string | null
  readonly campaignControlPercent: number
  readonly globalControl: boolean
  /** As sent: an ISO instant, or a local time of the workspace's zone. Null: at once. */
  readonly startAt: string | null
  readonly giveUpAfterHours: number
  readonly graceHours: number
  readonly capped: boolean
  readonly couponsWhenEmpty: 'skip' | 'pause'
  readonly tracking: { readonly opens: boolean; readonly clicks: boolean }
}

/**
 * The stored states of a campaign with delivery. Responses show `paused` and `waiting` in place of `running`, with the details beside.
 *
 * | from      | to        | by                                                              |
 * |-----------|-----------|-----------------------------------------------------------------|
 * | draft     | scheduled | start, with a `start_at`                                        |
 * | draft     | running   | start                                                           |
 * | scheduled | running   | its time came                                                   |
 * | scheduled | overdue   | it could not start within `grace_hours`, or was restored from a backup |
 * | overdue   | running   | resume                                                          |
 * | running   | finished  | nobody is queued, sending or deferred any more                  |
 * | finished  | running   | people in doubt are sent again                                  |
 * | any but finished | cancelled | cancel                                                   |
 */
export const DELIVERY_STATES = ['draft', 'scheduled', 'running', 'finished', 'cancelled', 'overdue'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** Why a running campaign sends nothing, since when, and the reply of the server that caused it. */
export interface Halt {
  /** Milliseconds since the epoch. */
  readonly since: number
  /** A sentence for people. */
  readonly reason: string
  readonly reply?: string
}
