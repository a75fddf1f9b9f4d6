// Facts in the naive model of campaign statistics ("Facts"): which of several reports is stored, its user and day, and
// the audience of a message event. Written from the documents, independently of the code under test.
import type { Group, MessageKind } from '../../../src/core/campaigns/facts.ts'
import type { Goal } from '../../../src/core/campaigns/goal.ts'

export interface ModelCampaign {
  readonly id: string
  readonly goals: readonly Goal[]
}

/** A member as reported in an audience; instants are milliseconds since the epoch, null is what the report left out. */
export interface AudienceReport {
  readonly campaignId: string
  readonly customerId: string
  readonly platform: string
  readonly evaluatedAt: number
  readonly group: Group
  readonly variation: string | null
  readonly locale: string | null
  readonly removed: string | null
}

export interface MessageReport {
  readonly campaignId: string
  readonly customerId: string
  readonly platform: string
  readonly deviceId: string | null
  readonly kind: MessageKind
  readonly time: number
  readonly messageId: string | null
  readonly reason: string | null
}

export interface TrackedEvent {
  readonly eventId: string
  readonly customerId: string
  readonly action: string
  readonly time: number
  readonly attributes: Readonly<Record<string, unknown>>
}

export interface ModelWorkspace {
  readonly timezone: string
  readonly campaigns: readonly ModelCampaign[]
  /** The customer ids of each user; one that is in no list is a user of its own. */
  readonly users: readonly (readonly string[])[]
  /** In any order, with any repetition. */
  readonly audiences: readonly AudienceReport[]
  readonly messages: readonly MessageReport[]
  readonly events: readonly TrackedEvent[]
}

/** Platform, locale and variation of a count; null where it counts only in the aggregate. */
export interface Dimensions {
  readonly platform: string
  readonly locale: string | null
  readonly variation: string | null
}

/** A stored membership. */
export interface Audience extends Dimensions {
  readonly campaignId: string
  readonly customerId: string
  readonly user: string
  readonly group: Group
  readonly at: number
  /** `yyyy-mm-dd` in the time zone of the workspace. */
  readonly day: string
  readonly removed: string | null
  /** Whether it is of the user's own group. */
  readonly isCounted: boolean
}

/** A stored message event with the locale and variation of its audience. */
export interface Message extends Dimensions {
  readonly campaignId: string
  readonly user: string
  readonly device: string
  readonly kind: MessageKind
  readonly time: number
  readonly day: string
  readonly reason: string | null
  readonly audience: Audience | undefined
}

export interface UserEvent {
  readonly user: string
  readonly action: string
  readonly time: number
  readonly day: string
  readonly attributes: Readonly<Record<string, unknown>>
}

export interface ModelFacts {
  readonly audiences: readonly Audience[]
  readonly messages: readonly Message[]
  readonly events: readonly UserEvent[]
}

const COUNTED_PLATFORMS = ['EMAIL', 'ANDROID', 'IOS', 'WEB', 'TV']
const GROUP_ORDER: readonly Group[] = ['target', 'campaign_control', 'global_control']

/** The caps on facts of each kind per customer id, and on goal events per user, in one campaign. */
export interface ModelCaps {
  readonly reported: number
  readonly goalEvents: number
}

export const NO_CAPS: ModelCaps = { reported: Infinity, goalEvents: Infinity }

/** The facts of all users of a workspace, whose reports are in the order in which they arrived. */
export function modelFacts(everything: ModelWorkspace, caps: ModelCaps = NO_CAPS): ModelFacts {
  const workspace = withinCaps(everything, caps)
  const audiences = storedAudiences(workspace)
  return { audiences, messages: storedMessages(workspace, audiences), events: storedEvents(workspace) }
}

/** Removed wins, then the group, then variation, locale and reason by text; a given one before a missing one. */
export function compareAudiences(
  left: Pick<AudienceReport, 'removed' | 'group' | 'variation' | 'locale'>,
  right: Pick<AudienceReport, 'removed' | 'group' | 'variation' | 'locale'>,
): number {
  return (
    Number(right.removed !== null) - Number(left.removed !== null) ||
    GROUP_ORDER.indexOf(left.group) - GROUP_ORDER.indexOf(right.group) ||
    compareGivenFirst(left.variation, right.variation) ||
    compareGivenFirst(left.locale, right.locale) ||
    compareGivenFirst(left.removed, right.removed)
  )
}

export function compareGivenFirst(left: string | null, right: string | null): number {
  if (left === null) return right === null ? 0 : 1
  return right === null ? -1 : compareByCodePoint(left, right)
}

export function compareByCodePoint(left: string, right: string): number {
  const [lefts, rights] = [codePoints(left), codePoints(right)]
  for (const [index, code] of lefts.entries()) {
    const other = rights[index]
    if (other === undefined) return 1
    if (code !== other) return code - other
  }
  return lefts.length - rights.length
}

/** The calendar day of an instant, `yyyy-mm-dd`. */
export function dayOf(instant: number, timezone: string): string {
  const known = daysOf.get(timezone) ?? new Map<number, string>()
  daysOf.set(timezone, known)
  const day = known.get(instant) ?? formatDay(instant, timezone)
  known.set(instant, day)
  return day
}

/** Cached, because formatting takes most of the time of a run and instants recur. */
const daysOf = new Map<string, Map<number, string>>()
const formats = new Map<string, Intl.DateTimeFormat>()

function formatDay(instant: number, timezone: string): string {
  const format =
    formats.get(timezone) ??
    new Intl.DateTimeFormat('en-US', { timeZone: timezone, year: 'numeric', month: '2-digit', day: '2-digit' })
  formats.set(timezone, format)
  const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, value]))
  return `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`
}

function storedAudiences(workspace: ModelWorkspace): Audience[] {
  const kept = keepFirst(workspace.audiences, audienceIdentity, compareAudiences).map((report) => ({
    ...report,
    user: userOf(workspace, report.customerId),
  }))
  return kept.map((report) => {
    const own = kept
      .filter(({ campaignId, user }) => campaignId === report.campaignId && user === report.user)
      .toSorted((left, right) => left.evaluatedAt - right.evaluatedAt || compareGroups(left.group, right.group))[0]
    return {
      ...report,
      platform: counted(report.platform),
      at: report.evaluatedAt,
      day: dayOf(report.evaluatedAt, workspace.timezone),
      isCounted: report.group === own?.group,
    }
  })
}

function storedMessages(workspace: ModelWorkspace, audiences: readonly Audience[]): Message[] {
  const reports = workspace.messages.map((report) => ({
    ...report,
    platform: toStoredPlatform(report.platform),
    device: report.deviceId ?? report.customerId,
  }))
  return keepFirst(
    reports,
    messageIdentity,
    (left, right) =>
      compareByCodePoint(left.platform, right.platform) ||
      compareByCodePoint(left.device, right.device) ||
      compareGivenFirst(left.reason, right.reason),
  ).map((report) => {
    const { campaignId, customerId, device, kind, time, reason } = report
    const user = userOf(workspace, customerId)
    const platform = counted(report.platform)
    const audience = audienceOf({ campaignId, customerId, user, platform, time }, audiences)
    const { locale = null, variation = null } = audience ?? {}
    const day = dayOf(time, workspace.timezone)
    return { campaignId, user, platform, locale, variation, device, kind, time, day, reason, audience }
  })
}

/**
 * The latest audience of its campaign, user and platform that is not after it, else the earliest one; at one instant that of its own
 * customer id, then one that is not removed.
 */
function audienceOf(
  message: Pick<Message, 'campaignId' | 'user' | 'platform' | 'time'> & { readonly customerId: string },
  audiences: readonly Audience[],
): Audience | undefined {
  const { campaignId, customerId, user, platform, time } = message
  const order = (left: Audience, right: Audience) =>
    Number(right.customerId === customerId) - Number(left.customerId === customerId) ||
    Number(left.removed !== null) - Number(right.removed !== null) ||
    compareAudiences(left, right)
  const possible = audiences.filter(
    (audience) => audience.campaignId === campaignId && audience.user === user && audience.platform === platform,
  )
  const before = possible.filter(({ at }) => at <= time)
  if (before.length > 0) return before.toSorted((left, right) => right.at - left.at || order(left, right))[0]
  return possible.toSorted((left, right) => left.at - right.at || order(left, right))[0]
}

function storedEvents(workspace: ModelWorkspace): UserEvent[] {
  return keepFirst(
    workspace.events,
    ({ eventId }) => [eventId],
    () => 0,
  ).map(({ customerId, action, time, attributes }) => {
    return { user: userOf(workspace, customerId), action, time, day: dayOf(time, workspace.timezone), attributes }
  })
}

/** The first of all reports with one identity by order; of equal ones, the first to arrive. */
function keepFirst<Report>(
  reports: readonly Report[],
  identityOf: (report: Report) => readonly unknown[],
  compare: (left: Report, right: Report) => number,
): Report[] {
  const kept = new Map<string, Report>()
  for (const report of reports) {
    const identity = JSON.stringify(identityOf(report))
    const known = kept.get(identity)
    if (!known || compare(report, known) < 0) kept.set(identity, report)
  }
  return [...kept.values()]
}

function userOf({ users }: ModelWorkspace, customerId: string): string {
  return users.find((customerIds) => customerIds.includes(customerId))?.[0] ?? customerId
}

/** Platforms with a name of their own are stored in capitals, others as sent. */
function toStoredPlatform(platform: string): string {
  return COUNTED_PLATFORMS.includes(platform.toUpperCase()) ? platform.toUpperCase() : platform
}

function counted(platform: string): string {
  return COUNTED_PLATFORMS.includes(platform.toUpperCase()) ? platform.toUpperCase() : 'UNKNOWN'
}

function compareGroups(left: Group, right: Group): number {
  return GROUP_ORDER.indexOf(left) - GROUP_ORDER.indexOf(right)
}

function codePoints(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0)
}

/** Reports of stored facts, and of new facts while their customer is below the cap of the campaign. */
function withinCaps(workspace: ModelWorkspace, { reported }: ModelCaps): ModelWorkspace {
  if (reported === Infinity) return workspace
  const first = <Report extends { readonly campaignId: string; readonly customerId: string }>(
    reports: readonly Report[],
    identityOf: (report: Report) => readonly unknown[],
  ): Report[] => {
    const known = new Map<string, Set<string>>()
    return reports.filter((report) => {
      const pair = JSON.stringify([report.campaignId, report.customerId])
      const identities = known.get(pair) ?? new Set()
      known.set(pair, identities)
      const identity = JSON.stringify(identityOf(report))
      if (!identities.has(identity) && identities.size >= reported) return false
      identities.add(identity)
      return true
    })
  }
  return {
    ...workspace,
    audiences: first(workspace.audiences, audienceIdentity),
    messages: first(workspace.messages, messageIdentity),
  }
}

function audienceIdentity({ campaignId, customerId, platform, evaluatedAt }: AudienceReport): readonly unknown[] {
  return [campaignId, customerId, toStoredPlatform(platform), evaluatedAt]
}

function messageIdentity(report: MessageReport): readonly unknown[] {
  const { campaignId, customerId, kind, time, messageId, platform, deviceId } = report
  const own = messageId === null ? [toStoredPlatform(platform), deviceId ?? customerId] : [messageId]
  return [campaignId, customerId, kind, time, ...own]
}
