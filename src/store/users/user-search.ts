// Finds users by a part of their ids or of their email address, newest first. No index leads to them, so it examines users one after
// another, a bounded number for each call.
import { sql, type RawBuilder } from 'kysely'
import { CUSTOMER_ID, type Identity } from '../../core/users/user.ts'
import { toAsciiCapitals } from '../../core/ascii-capitals.ts'
import { containsPattern } from '../like-pattern.ts'
import { findIdentities, hasIdLike } from './user-identities.ts'
import type { Store } from '../store.ts'
import { skipUsers, usersOf, usersWithEmail } from './users.ts'

/** What to find. Without a text, all users. */
export interface UserSearch {
  /** A part of a customer id or identifier. */
  readonly text?: string
  /** A part of a normalised address; undefined if addresses are not stored plain. */
  readonly emailPart?: string | undefined
  /** The key of the address that the text is; undefined if it is none. */
  readonly emailKey?: string | undefined
  /** Users that are left out, because `findExactUserIds` found them. */
  readonly without?: readonly number[]
}

/** The most users with exactly the searched address that are found before all others. */
const SAME_ADDRESS_MAX = 20
/** Users examined by one statement. Takes some 15 ms, while other requests wait. */
const EXAMINED_AT_ONCE = 5_000

/** The users whose id or address is exactly the text, newest first. Few, and found by index. */
export async function findExactUserIds(
  store: Store,
  { id: workspaceId, identityResolution }: { readonly id: string; readonly identityResolution: readonly string[] },
  { text, emailKey }: UserSearch,
): Promise<number[]> {
  if (text === undefined) return []
  const wanted: Identity[] = [CUSTOMER_ID, ...identityResolution].map((name) => ({ name, value: text }))
  const named = await findIdentities(
    store,
    wanted.map((identity) => ({ workspaceId, ...identity })),
  )
  const namedIds = named.map(({ userId }) => userId)
  const found =
    namedIds.length === 0 ? [] : await usersOf(store, workspaceId).where('user.id', 'in', namedIds).execute()
  const page = { before: undefined, max: SAME_ADDRESS_MAX }
  const addressed = emailKey === undefined ? [] : await usersWithEmail(store, workspaceId, emailKey, page).execute()
  return [...new Set([...found, ...addressed].map(({ id }) => id))].toSorted((left, right) => right - left)
}

export interface SearchRange {
  /** Only users older than this one. */
  readonly before: number
  /** The most users to find, and the most to examine. */
  readonly max: number
  readonly examinedMax: number
}

/** The ids that were found, newest first, and the oldest user that was examined; 0 if no older one is left. */
export interface FoundUsers {
  readonly ids: readonly number[]
  readonly examinedTo: number
}

/** Ends with the user that makes the range full, or when all users are examined. */
export async function searchUsers(
  store: Store,
  workspaceId: string,
  search: UserSearch,
  { before, max, examinedMax }: SearchRange,
): Promise<FoundUsers> {
  if (search.text === undefined) {
    const ids = await findInRange(store, workspaceId, search, { before, from: 0, max })
    return { ids, examinedTo: ids.length < max ? 0 : (ids.at(-1) as number) }
  }
  const ids: number[] = []
  let examinedTo = before
  for (let examined = 0; examined < examinedMax && examinedTo > 0; examined += EXAMINED_AT_ONCE) {
    const range = { before: examinedTo, count: Math.min(EXAMINED_AT_ONCE, examinedMax - examined) }
    const from = await skipUsers(store, workspaceId, range)
    const found = await findInRange(store, workspaceId, search, { ...range, from, max: max - ids.length })
    ids.push(...found)
    if (ids.length === max) return { ids, examinedTo: ids.at(-1) as number }
    examinedTo = from
  }
  return { ids, examinedTo }
}

interface ExaminedRange {
  readonly before: number
  /** The oldest user to examine. */
  readonly from: number
  readonly max: number
}

async function findInRange(
  store: Store,
  workspaceId: string,
  search: UserSearch,
  { before, from, max }: ExaminedRange,
): Promise<number[]> {
  const inRange = usersOf(store, workspaceId).where('user.id', '<', before).where('user.id', '>=', from)
  const found = search.text === undefined ? inRange : inRange.where(matches(store, search))
  const { without = [] } = search
  const others = without.length === 0 ? found : found.where('user.id', 'not in', without)
  const rows = await others.orderBy('user.id', 'desc').limit(max).execute()
  return rows.map(({ id }) => id)
}

function matches(store: Store, { text = '', emailPart, emailKey }: UserSearch): RawBuilder<boolean> {
  const [id, key] = [sql<number>`${sql.ref('user.id')}`, sql<string>`${sql.ref('user.email_key')}`]
  const ways = [hasIdLike(store, id, containsPattern(toAsciiCapitals(text)))]
  if (emailPart !== undefined) ways.push(sql`${key} like ${containsPattern(emailPart)} escape '\\'`)
  if (emailKey !== undefined) ways.push(sql`${key} = ${emailKey}`)
  return sql`(${sql.join(ways, sql` or `)})`
}
