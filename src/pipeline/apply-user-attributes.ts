// Gives users the attributes that Track User reported.
import { EMAIL } from '../core/user-attributes.ts'
import { addAttributes, USER_ATTRIBUTES_LENGTH_MAX, type Attributes } from '../core/user.ts'
import type { Store } from '../store/store.ts'
import { saveUsers, type User } from '../store/users.ts'
import type { Batch, Subject, UserEntry } from './batch.ts'
import { findUsersAtOnce } from './users-at-once.ts'

/** Fills `batch.leftOut`. */
export async function applyUserAttributes(store: Store, batch: Batch): Promise<void> {
  const reports = batch.entries.filter((entry) => entry.kind === 'track_user')
  const ids = new Set(reports.map((report) => userOf(batch, report)))
  const users = new Map((await findUsersAtOnce(store, batch, [...ids])).map((user) => [user.id, user]))
  for (const report of reports) {
    const user = users.get(userOf(batch, report))
    if (!user) throw new Error('an entry has no user after resolving users')
    users.set(user.id, changeUser(user, report, batch))
  }
  await saveUsers(store, [...users.values()])
}

function userOf({ userOf }: Batch, { subjects }: UserEntry): number {
  return userOf.get(subjects[0] as Subject) as number
}

function changeUser(user: User, report: UserEntry, batch: Batch): User {
  const { receivedAt } = report.entry
  const reported: Attributes = Object.fromEntries(
    Object.entries(report.attributes).map(([name, value]) => [name, [value, receivedAt] as const]),
  )
  const { attributes, leftOut } = addAttributes(user.attributes, reported)
  if (leftOut.length > 0) batch.leftOut.set(report, whyLeftOut(leftOut))
  const isEmailNew = report.emailKey !== undefined && attributes[EMAIL] === reported[EMAIL]
  return { ...user, attributes, emailKey: isEmailNew ? (report.emailKey ?? null) : user.emailKey }
}

function whyLeftOut(names: readonly string[]): string {
  const what = names.length === 1 ? 'one attribute was' : `${names.length} attributes were`
  return `${what} not kept: those of the user would be longer than ${USER_ATTRIBUTES_LENGTH_MAX} characters of JSON`
}
