// Reports of audiences and message events: finds faults that the schema cannot find, and turns accepted reports into facts. Facts
// must depend only on the report and the workspace, so that they are the same whenever the pipeline computes them.
import type { Fault } from '../app-error.ts'
import {
  BOUNCE_REASONS,
  toMessagePlatform,
  type Group,
  type Membership,
  type MessageEvent,
  type MessageKind,
} from './facts.ts'
import { futureProblem, parseTimeValue, TIME_PROBLEM } from '../time-value.ts'
import { localToInstant } from '../time-zone.ts'
import { placeholderProblem } from '../users/placeholder.ts'
import type { WorkspaceSettings } from '../workspace.ts'

export const DIMENSION_NAME_LENGTH_MAX = 64
export const REASON_LENGTH_MAX = 64
export const DEVICE_ID_LENGTH_MAX = 256
export const MESSAGE_ID_LENGTH_MAX = 256

/** One element of `members`, as sent. */
export interface Member {
  readonly customer_id: string
  readonly group?: Group
  readonly variation?: string
  readonly locale?: string
  readonly platform: string
  readonly evaluated_at: unknown
  readonly removed?: string
}

/** One element of `events`, as sent. */
export interface MessageReport {
  readonly customer_id: string
  readonly platform: string
  readonly device_id?: string
  readonly kind: MessageKind
  readonly time: unknown
  readonly message_id?: string
  readonly reason?: string
}

/**
 * The body of an entry `svc_audience`. With a run (`runs.number`), Tidings itself tells it, and each member has a message
 * (`messages.number`); the schemas of requests know neither.
 */
export interface AudienceBody {
  readonly run?: number
  readonly members: readonly (Member & { readonly message?: number })[]
}

/** The body of an entry `svc_message_events`. With a run, Tidings itself tells it, and the message ids are those of the run. */
export interface MessageEventsBody {
  readonly run?: number
  readonly events: readonly MessageReport[]
}

/** A membership before its customer id is resolved to a number. */
export interface ReportedMembership extends Omit<Membership, 'customer'> {
  readonly customerId: string
}

/** A message event before its customer id is resolved to a number. */
export interface ReportedMessage extends Omit<MessageEvent, 'customer'> {
  readonly customerId: string
}

/** What a report depends on besides its body. */
export interface ReportContext {
  /** The number of the campaign. */
  readonly campaign: number
  /** The workspace's time zone, for times without one. */
  readonly timezone: string
}

/** The settings of a workspace that decide which times are accepted. */
type TimeSettings = Pick<WorkspaceSettings, 'timezone' | 'clockSkewSeconds'>

/** Items as checks see them: members that the schema refused are undefined. */
type Items<Item> = readonly ({ readonly [Key in keyof Item]?: Item[Key] | undefined } | undefined)[]

/** Every fault of an audience that the schema cannot find, in times, names and reasons. */
export function memberFaults(members: Items<Member>, settings: TimeSettings, receivedAt: number): Fault[] {
  const faults = new ItemFaults('members')
  for (let index = 0; index < members.length; index++) {
    const member = members[index]
    if (!member) continue
    const { customer_id, evaluated_at, variation, locale, removed } = member
    if (customer_id !== undefined) faults.add(index, 'customer_id', placeholderProblem(customer_id))
    if (evaluated_at !== undefined) faults.add(index, 'evaluated_at', timeProblem(evaluated_at, settings, receivedAt))
    if (variation !== undefined) faults.add(index, 'variation', dimensionNameProblem(variation))
    if (locale !== undefined) faults.add(index, 'locale', dimensionNameProblem(locale))
    if (removed !== undefined) faults.add(index, 'removed', reasonProblem(removed))
  }
  return faults.all
}

/** Every fault of message events that the schema cannot find, in times and reasons. */
export function messageFaults(events: Items<MessageReport>, settings: TimeSettings, receivedAt: number): Fault[] {
  const faults = new ItemFaults('events')
  for (let index = 0; index < events.length; index++) {
    const event = events[index]
    if (!event) continue
    const { customer_id, time } = event
    if (customer_id !== undefined) faults.add(index, 'customer_id', placeholderProblem(customer_id))
    if (time !== undefined) faults.add(index, 'time', timeProblem(time, settings, receivedAt))
    faults.add(index, 'reason', messageReasonProblem(event))
  }
  return faults.all
}

/** The memberships of an accepted audience, in its order. Throws if a time is invalid. */
export function membershipsOf(members: readonly Member[], { campaign, timezone }: ReportContext): ReportedMembership[] {
  return members.map((member) => ({
    campaign,
    customerId: member.customer_id,
    platform: toMessagePlatform(member.platform),
    evaluatedAt: acceptedInstant(member.evaluated_at, timezone),
    group: member.group ?? 'target',
    variation: member.variation ?? null,
    locale: member.locale ?? null,
    removed: member.removed ?? null,
  }))
}

/** The message events of an accepted report, in its order. Throws if a time is invalid. */
export function messageEventsOf(
  events: readonly MessageReport[],
  { campaign, timezone }: ReportContext,
): ReportedMessage[] {
  return events.map((event) => ({
    campaign,
    customerId: event.customer_id,
    platform: toMessagePlatform(event.platform),
    device: event.device_id ?? event.customer_id,
    kind: event.kind,
    time: acceptedInstant(event.time, timezone),
    messageId: event.message_id ?? null,
    reason: event.reason ?? null,
  }))
}

/** The fact, with the number of the customer id. */
export function toMembership(reported: ReportedMembership, customer: number): Membership {
  return {
    customer,
    campaign: reported.campaign,
    evaluatedAt: reported.evaluatedAt,
    platform: reported.platform,
    group: reported.group,
    variation: reported.variation,
    locale: reported.locale,
    removed: reported.removed,
  }
}

/** The fact, with the number of the customer id. */
export function toMessageEvent(reported: ReportedMessage, customer: number): MessageEvent {
  return {
    customer,
    campaign: reported.campaign,
    kind: reported.kind,
    time: reported.time,
    platform: reported.platform,
    device: reported.device,
    messageId: reported.messageId,
    reason: reported.reason,
  }
}

/** Collects faults. Builds a path only for a fault, because a report has thousands of items. */
class ItemFaults {
  readonly all: Fault[] = []
  readonly #list: string

  constructor(list: string) {
    this.#list = list
  }

  add(index: number, member: string, problem: string | undefined): void {
    if (problem !== undefined) this.all.push({ field: `${this.#list}[${index}].${member}`, problem })
  }
}

function timeProblem(
  value: unknown,
  { timezone, clockSkewSeconds }: TimeSettings,
  receivedAt: number,
): string | undefined {
  const instant = toInstant(value, timezone)
  if (instant === undefined) return TIME_PROBLEM
  return instant > receivedAt + clockSkewSeconds * 1000 ? futureProblem(instant, receivedAt) : undefined
}

function acceptedInstant(value: unknown, timezone: string): number {
  const instant = toInstant(value, timezone)
  if (instant === undefined) throw new Error('the report contains an invalid time')
  return instant
}

/** Undefined if it is not a time, or lies before 1970; a time without a zone is read in the workspace's. */
function toInstant(value: unknown, timezone: string): number | undefined {
  const time = parseTimeValue(value)
  if (!time || time.kind === 'instant') return time?.ms
  const instant = localToInstant(timezone, time.ms)
  return instant >= 0 ? instant : undefined
}

const DIMENSION_NAME = /^[\p{L}\p{Nd}]\P{Cc}*$/u

/** The problem of the name of a locale or variation; undefined if it is valid. The schema has checked its length. */
export function dimensionNameProblem(name: string): string | undefined {
  if (name.startsWith('all_')) return 'must not start with all_, which is reserved for totals'
  if (name.endsWith('_control_group')) return 'must not end with _control_group, which is reserved for control groups'
  return DIMENSION_NAME.test(name) ? undefined : 'must start with a letter or digit and contain no control characters'
}

/** A bounce without a reason is refused, because it would count as neither hard nor soft. */
function messageReasonProblem(event: NonNullable<Items<MessageReport>[number]>): string | undefined {
  const { kind, reason } = event
  if (reason === undefined) return kind === 'bounce' && !('reason' in event) ? BOUNCE_PROBLEM : undefined
  if (kind === 'bounce') return BOUNCE_REASONS.some((allowed) => allowed === reason) ? undefined : BOUNCE_PROBLEM
  return reasonProblem(reason)
}

const BOUNCE_PROBLEM = `must be ${BOUNCE_REASONS.slice(0, -1).join(', ')} or ${BOUNCE_REASONS.at(-1)} if the kind is bounce`

const REASON = /^[a-z0-9_]+$/

function reasonProblem(reason: string): string | undefined {
  return REASON.test(reason) ? undefined : 'must contain only a-z, 0-9 and _'
}
