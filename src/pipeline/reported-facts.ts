// The reports of a batch: reads their facts for the users that were resolved, and stores them, each fact once.
import { membershipIdentity, messageIdentity, type Membership, type MessageEvent } from '../core/campaigns/facts.ts'
import { toMembership, toMessageEvent } from '../core/campaigns/report.ts'
import type { Excess } from '../statistics/count-changes.ts'
import { addMemberships } from '../store/campaigns/memberships.ts'
import { addMessageEvents } from '../store/campaigns/message-events.ts'
import type { Store } from '../store/store.ts'
import { isReport, type Batch, type ReportEntry, type Subject } from './batch.ts'
import type { ResolvedUsers } from './resolve-users.ts'

/** A report and its facts, in the order of the report. */
export interface Report {
  readonly read: ReportEntry
  readonly memberships: readonly Membership[]
  readonly messages: readonly MessageEvent[]
}

/** The reports among the entries of a batch whose users are resolved. Of decisions behind links, only those that ended something. */
export function readReports(
  { entries }: Batch,
  { customerOf }: ResolvedUsers,
  unsubscribes: ReadonlySet<ReportEntry>,
): Report[] {
  const reports: Report[] = []
  for (const read of entries) {
    if (!isReport(read) || (read.optIn && !unsubscribes.has(read))) continue
    const customerBehind = (customerId: string) => customerOf.get(read.subjectOf.get(customerId) as Subject) as number
    reports.push({
      read,
      memberships: read.memberships.map((one) => toMembership(one, customerBehind(one.customerId))),
      messages: read.messages.map((one) => toMessageEvent(one, customerBehind(one.customerId))),
    })
  }
  return reports
}

/** How many facts a report has. */
export function countReported({ memberships, messages }: Report): number {
  return memberships.length + messages.length
}

/** The report without the facts beyond the caps. */
export function withoutExcess(report: Report, { refused }: Excess): Report {
  if (refused.size === 0) return report
  return {
    read: report.read,
    memberships: report.memberships.filter((one) => !refused.has(one)),
    messages: report.messages.filter((one) => !refused.has(one)),
  }
}

/** Stores the facts of reports, each once. Returns the number of new facts of each report. */
export async function storeFacts(store: Store, reports: readonly Report[]): Promise<number[]> {
  const allMemberships = reports.flatMap(({ memberships }) => memberships)
  const allMessages = reports.flatMap(({ messages }) => messages)
  const fresh: Fresh = {
    memberships: await addMemberships(store, allMemberships),
    messages: await addMessageEvents(store, allMessages),
  }
  const areAll = fresh.memberships.size + fresh.messages.size === allMemberships.length + allMessages.length
  return reports.map((report) =>
    areAll ? report.memberships.length + report.messages.length : takeFresh(report, fresh),
  )
}

/** The identities of the facts that were new. */
interface Fresh {
  readonly memberships: Set<string>
  readonly messages: Set<string>
}

/** The number of new facts of a report. Of repeats within the batch, only the first is new. */
function takeFresh({ memberships, messages }: Report, fresh: Fresh): number {
  const members = memberships.filter((membership) => fresh.memberships.delete(membershipIdentity(membership)))
  const events = messages.filter((message) => fresh.messages.delete(messageIdentity(message)))
  return members.length + events.length
}
