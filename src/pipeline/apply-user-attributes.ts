// Sets the user attributes that Track User reported.
import { EMAIL } from '../core/users/user-attributes.ts'
import { GrowingAttributes, USER_ATTRIBUTES_LENGTH_MAX, type Attributes } from '../core/users/user.ts'
import type { Store } from '../store/store.ts'
import { saveUsers, type User } from '../store/users/users.ts'
import type { Batch, ReadEntry, Subject, UserEntry } from './batch.ts'
import type { ResolvedUsers } from './resolve-users.ts'
import { findUsersAtOnce } from './users-at-once.ts'

/** Entry → what was not stored of it, for its receipt. */
export type LeftOut = ReadonlyMap<ReadEntry, string>

/** An address that an entry gave to a user who did not have it. */
export interface NewAddress {
  readonly subject: Subject
  /** As in `users.email_key`. */
  readonly emailKey: string
}

export interface AppliedAttributes {
  readonly leftOut: LeftOut
  /** For each user in the order of the log. */
  readonly newAddresses: readonly NewAddress[]
}

export async function applyUserAttributes(
  store: Store,
  batch: Batch,
  { userOf }: Pick<ResolvedUsers, 'userOf'>,
): Promise<AppliedAttributes> {
  const reports = batch.entries.filter((entry) => entry.kind === 'track_user')
  const reportsOf = Map.groupBy(reports, ({ subjects }) => userOf.get(subjects[0] as Subject) as number)
  const users = await findUsersAtOnce(store, batch, [...reportsOf.keys()])
  if (users.length < reportsOf.size) throw new Error('an entry has no user after users were resolved')
  const applied = { leftOut: new Map<ReadEntry, string>(), newAddresses: [] as NewAddress[] }
  await saveUsers(
    store,
    users.map((user) => changeUser(user, reportsOf.get(user.id) ?? [], applied)),
  )
  return applied
}

/**
 * The user after all reports of a batch. Copies and measures the attributes once, however many reports there are. Adds
 * to what was applied.
 */
function changeUser(
  user: User,
  reports: readonly UserEntry[],
  { leftOut, newAddresses }: { readonly leftOut: Map<ReadEntry, string>; readonly newAddresses: NewAddress[] },
): User {
  const growing = new GrowingAttributes(user.attributes)
  let { emailKey } = user
  for (const report of reports) {
    const { receivedAt, position } = report.entry
    const reported: Attributes = Object.fromEntries(
      Object.entries(report.attributes).map(([name, value]) => [name, [value, receivedAt, position] as const]),
    )
    const reasons = whyLeftOut(report, growing.add(reported))
    if (reasons !== '') leftOut.set(report, reasons)
    const isEmailNew = report.emailKey !== undefined && growing.attributes[EMAIL] === reported[EMAIL]
    if (!isEmailNew) continue
    const { emailKey: sent = null } = report
    if (sent !== null && sent !== emailKey)
      newAddresses.push({ subject: report.subjects[0] as Subject, emailKey: sent })
    emailKey = sent
  }
  return { ...user, attributes: growing.attributes, emailKey }
}

/** The reasons, as a receipt states them; empty if everything was stored. */
function whyLeftOut({ isEmailDropped }: UserEntry, names: readonly string[]): string {
  const reasons: string[] = []
  if (names.length > 0) {
    const what = names.length === 1 ? 'one attribute was' : `${names.length} attributes were`
    const longer = `exceed ${USER_ATTRIBUTES_LENGTH_MAX} characters of JSON`
    reasons.push(`${what} not stored: the user's attributes would ${longer}`)
  }
  if (isEmailDropped)
    reasons.push(
      'the email was not stored: the email protection of the workspace changed after the request was received',
    )
  return reasons.join('; ')
}
