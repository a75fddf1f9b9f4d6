// Sets the user attributes that Track User and imports reported.
import { EMAIL } from '../core/users/user-attributes.ts'
import { GrowingAttributes, USER_ATTRIBUTES_LENGTH_MAX, type Attributes } from '../core/users/user.ts'
import type { LogEntry } from '../log/event-log.ts'
import type { Store } from '../store/store.ts'
import { saveUsers, type User } from '../store/users/users.ts'
import type { Batch, ImportEntry, ReadEntry, ReportedUser, UserEntry } from './batch.ts'
import type { ResolvedUsers } from './resolve-users.ts'
import { findUsersAtOnce } from './users-at-once.ts'
import { addressOf, findNewAddresses, type GivenAddress, type NewAddress } from './users/new-addresses.ts'

/** Entry → what was not stored of it, for its receipt: a text for each of its users of whom something was not stored. */
export type LeftOut = ReadonlyMap<ReadEntry, readonly string[]>

export interface AppliedAttributes {
  readonly leftOut: LeftOut
  /** In the order of the log. */
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
  { userOf, userAt, merges, addresses }: Pick<ResolvedUsers, 'userOf' | 'userAt' | 'merges' | 'addresses'>,
): Promise<AppliedAttributes> {
  const reportsOf = new Map<number, UserReport[]>()
  for (const read of batch.entries) if (isAboutUsers(read)) collectReports(read, userOf, reportsOf)
  const users = await findUsersAtOnce(store, batch, [...reportsOf.keys()])
  if (users.length < reportsOf.size) throw new Error('an entry has no user after users were resolved')
  const applied = { leftOut: new Map<ReadEntry, string[]>(), given: [] as GivenAddress[] }
  await saveUsers(
    store,
    users.map((user) => changeUser(user, { reports: reportsOf.get(user.id) ?? [], userAt }, applied)),
  )
  const before = new Map([...users.map((user) => [user.id, addressOf(user)] as const), ...addresses])
  return { leftOut: applied.leftOut, newAddresses: findNewAddresses(applied.given, merges, before) }
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
  { reports, userAt }: { readonly reports: readonly UserReport[]; readonly userAt: ResolvedUsers['userAt'] },
  { leftOut, given }: { readonly leftOut: Map<ReadEntry, string[]>; readonly given: GivenAddress[] },
): User {
  const growing = new GrowingAttributes(user.attributes)
  let { emailKey } = user
  for (const { read, rows: sent } of reports) {
    const rows = oldestLast(sent, userAt)
    const reported = toReported(read.entry, rows)
    const names = growing.add(reported)
    const reasons = whyLeftOut(rows, names)
    if (reasons !== '') leftOut.set(read, [...(leftOut.get(read) ?? []), reasons])
    const addresses = names.includes(EMAIL) ? [] : givenAddresses(read.entry, rows, userAt)
    given.push(...addresses)
    const last = addresses.at(-1)
    if (last && growing.attributes[EMAIL] === reported[EMAIL]) emailKey = last.emailKey
  }
  return { ...user, attributes: growing.attributes, emailKey }
}

/** Rows of users who were merged later come first: of values with the same position, a merge keeps those of the oldest user. */
function oldestLast(rows: readonly ReportedUser[], userAt: ResolvedUsers['userAt']): readonly ReportedUser[] {
  if (rows.length === 1) return rows
  const userIdAt = ({ subject }: ReportedUser) => userAt.get(subject) as number
  return rows.toSorted((left, right) => userIdAt(right) - userIdAt(left))
}

/** The last address of each user at the entry, in the order of the rows. */
function givenAddresses(
  { position }: LogEntry,
  rows: readonly ReportedUser[],
  userAt: ResolvedUsers['userAt'],
): GivenAddress[] {
  const given = new Map<number, GivenAddress>()
  for (const { subject, emailKey } of rows) {
    const userId = userAt.get(subject) as number
    if (emailKey !== undefined) given.set(userId, { subject, number: subject.number, userId, emailKey, position })
  }
  return [...given.values()]
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
