// Sets the user attributes that Track User and imports reported.
import { EMAIL } from '../core/users/user-attributes.ts'
import { GrowingAttributes, USER_ATTRIBUTES_LENGTH_MAX, type Attributes } from '../core/users/user.ts'
import type { LogEntry } from '../log/event-log.ts'
import type { Store } from '../store/store.ts'
import { saveUsers, type User } from '../store/users/users.ts'
import type { Batch, ImportEntry, ReadEntry, ReportedUser, Subject, UserEntry } from './batch.ts'
import type { ResolvedUsers } from './resolve-users.ts'
import { findUsersAtOnce } from './users-at-once.ts'

/** Entry → what was not stored of it, for its receipt: a text for each of its users of whom something was not stored. */
export type LeftOut = ReadonlyMap<ReadEntry, readonly string[]>

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

/** What one entry reported of one user; an import may have several rows of the user. */
interface UserReport {
  readonly read: UserEntry | ImportEntry
  readonly rows: ReportedUser[]
}

export async function applyUserAttributes(
  store: Store,
  batch: Batch,
  { userOf }: Pick<ResolvedUsers, 'userOf'>,
): Promise<AppliedAttributes> {
  const reportsOf = new Map<number, UserReport[]>()
  for (const read of batch.entries) if (isAboutUsers(read)) collectReports(read, userOf, reportsOf)
  const users = await findUsersAtOnce(store, batch, [...reportsOf.keys()])
  if (users.length < reportsOf.size) throw new Error('an entry has no user after users were resolved')
  const applied = { leftOut: new Map<ReadEntry, string[]>(), newAddresses: [] as NewAddress[] }
  await saveUsers(
    store,
    users.map((user) => changeUser(user, reportsOf.get(user.id) ?? [], applied)),
  )
  return applied
}

function isAboutUsers(read: ReadEntry): read is UserEntry | ImportEntry {
  return read.kind === 'track_user' || read.kind === 'svc_import'
}

function collectReports(
  read: UserEntry | ImportEntry,
  userOf: ResolvedUsers['userOf'],
  to: Map<number, UserReport[]>,
): void {
  for (const row of read.users) {
    const userId = userOf.get(row.subject) as number
    const reports = to.get(userId)
    const last = reports?.at(-1)
    if (last?.read === read) last.rows.push(row)
    else if (reports) reports.push({ read, rows: [row] })
    else to.set(userId, [{ read, rows: [row] }])
  }
}

/**
 * The user after all reports of a batch. Copies and measures the attributes once, however many reports there are. Adds
 * to what was applied.
 */
function changeUser(
  user: User,
  reports: readonly UserReport[],
  { leftOut, newAddresses }: { readonly leftOut: Map<ReadEntry, string[]>; readonly newAddresses: NewAddress[] },
): User {
  const growing = new GrowingAttributes(user.attributes)
  let { emailKey } = user
  for (const { read, rows } of reports) {
    const reported = toReported(read.entry, rows)
    const reasons = whyLeftOut(rows, growing.add(reported))
    if (reasons !== '') leftOut.set(read, [...(leftOut.get(read) ?? []), reasons])
    const given = rows.findLast((row) => row.emailKey !== undefined)
    const isEmailNew = given !== undefined && growing.attributes[EMAIL] === reported[EMAIL]
    if (!isEmailNew) continue
    const { subject, emailKey: sent = null } = given
    if (sent !== null && sent !== emailKey) newAddresses.push({ subject, emailKey: sent })
    emailKey = sent
  }
  return { ...user, attributes: growing.attributes, emailKey }
}

/** All values of an entry have its position, so of several rows the last decides here. */
function toReported({ receivedAt, position }: LogEntry, rows: readonly ReportedUser[]): Attributes {
  const values = rows.flatMap(({ attributes }) => Object.entries(attributes))
  return Object.fromEntries(values.map(([name, value]) => [name, [value, receivedAt, position] as const]))
}

/** The reasons, as a receipt states them; empty if everything was stored. */
function whyLeftOut(rows: readonly ReportedUser[], names: readonly string[]): string {
  const reasons: string[] = []
  if (names.length > 0) {
    const what = names.length === 1 ? 'one attribute was' : `${names.length} attributes were`
    const longer = `exceed ${USER_ATTRIBUTES_LENGTH_MAX} characters of JSON`
    reasons.push(`${what} not stored: the user's attributes would ${longer}`)
  }
  if (rows.some(({ isEmailDropped }) => isEmailDropped))
    reasons.push(
      'the email was not stored: the email protection of the workspace changed after the request was received',
    )
  return reasons.join('; ')
}
