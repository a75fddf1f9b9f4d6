// A user's email preferences: how a request changes them, and how a merge of two users combines them ("Email opt-in"). Every
// decision has its time, because the newer of two contradicting decisions wins.
import { toAsciiCapitals } from '../ascii-capitals.ts'

export const OPT_IN_STATUSES = ['OPTED_IN', 'DOUBLE_OPTED_IN', 'OPTED_OUT', 'OPT_IN_PENDING'] as const
export type OptInStatus = (typeof OPT_IN_STATUSES)[number]

/** Of two decisions at the same time, the one that allows less wins: the earlier one in this list. */
const MOST_CAUTIOUS_FIRST: readonly OptInStatus[] = ['OPTED_OUT', 'OPT_IN_PENDING', 'OPTED_IN', 'DOUBLE_OPTED_IN']

/** A value and when it was decided, in milliseconds since the epoch. */
export type Decision<Value> = readonly [value: Value, decidedAt: number]

export interface Preference {
  /** Null until it is decided; responses then show `OPT_IN_PENDING`. */
  readonly status: Decision<OptInStatus> | null
  /** A category that was never set is absent and counts as neither in nor out. */
  readonly categories: { readonly [name: string]: Decision<boolean> }
  /** Whether opens and clicks in emails may be tracked; absent until it is decided, which allows it. */
  readonly tracking?: Decision<boolean> | undefined
  /** Null while nothing is set. */
  readonly updatedAt: number | null
}

export const NOTHING_SET: Preference = { status: null, categories: {}, updatedAt: null }

/** Preferences without the times of their decisions, as in responses and proofs. */
export interface OptIn {
  readonly status: OptInStatus
  readonly categories: { readonly [name: string]: boolean }
  /** Absent until it is decided. */
  readonly tracking?: boolean
}

/** What a request changes: at least one of the members. */
export interface PreferenceRequest {
  readonly status?: OptInStatus | undefined
  readonly categories?: { readonly [name: string]: boolean } | undefined
  readonly tracking?: boolean | undefined
}

/**
 * The cause of a change in a proof of consent: an API key, a person who signed in, a link in an email, a complaint about an email, an
 * import, a merge of two users, or an opted-out address that the user got.
 */
export type ChangedBy =
  | `key:${string}`
  | `person:${string}`
  | `link:${string}`
  | `complaint:${string}`
  | `import:${string}`
  | 'merge'
  | 'address'

/** One proof of consent. */
export interface PreferenceChange {
  readonly userId: number
  /** Ascends with every change of one user, even if several have the same time. */
  readonly number: number
  readonly at: number
  readonly by: ChangedBy
  /** The caller's address; null if the pipeline made the change. */
  readonly ip: string | null
  readonly before: OptIn
  readonly after: OptIn
}

/** The current preferences of one user. */
export interface UserPreference {
  readonly userId: number
  readonly preference: Preference
  /** The number of the last change; 0 before the first. */
  readonly lastChange: number
}

/** The preferences of a user without stored ones. */
export function nothingSetFor(userId: number): UserPreference {
  return { userId, preference: NOTHING_SET, lastChange: 0 }
}

/** The status with this name, in any case; undefined if there is none. */
export function toOptInStatus(text: string): OptInStatus | undefined {
  const capitals = toAsciiCapitals(text)
  return OPT_IN_STATUSES.find((status) => status === capitals)
}

/**
 * The preferences after a request. Sets the categories it names; others stay. If a request sends categories and leaves at least one
 * false and none true, the status becomes OPTED_OUT, regardless of the status it sent. Categories that the workspace no longer has
 * do not count, because users can no longer opt out of them.
 */
export function changePreference(
  before: Preference,
  request: PreferenceRequest,
  { activeCategories, now }: { readonly activeCategories: ReadonlySet<string>; readonly now: number },
): Preference & { readonly updatedAt: number } {
  // Never before the last change, even if clocks differ: a later change must be the newer one.
  const at = Math.max(now, before.updatedAt ?? now)
  const sent = Object.entries(request.categories ?? {}).map(([name, isIn]) => [name, [isIn, at] as const] as const)
  const categories = { ...before.categories, ...Object.fromEntries(sent) }
  const isRefusal = request.categories !== undefined && leavesNone(categories, activeCategories)
  const status = isRefusal ? 'OPTED_OUT' : request.status
  const tracking = request.tracking === undefined ? before.tracking : ([request.tracking, at] as const)
  return { status: status ? [status, at] : before.status, categories, updatedAt: at, ...(tracking && { tracking }) }
}

/** The preferences after an import; undefined if nothing changes. `isKept`: whether it kept an opt-out that the import contradicts. */
export interface ImportedPreference {
  readonly preference: (Preference & { readonly updatedAt: number }) | undefined
  readonly isKept: boolean
}

/**
 * The preferences after a row of an import. The import does not replace a decision that was made after it was received, and opts nobody
 * in who opted out, neither of all emails nor of a category ("Import").
 */
export function changeByImport(
  before: Preference,
  { status, categories = {} }: PreferenceRequest,
  { activeCategories, receivedAt }: { readonly activeCategories: ReadonlySet<string>; readonly receivedAt: number },
): ImportedPreference {
  const isOptedOut = before.status?.[0] === 'OPTED_OUT'
  const isStatusNewer = (before.status?.[1] ?? 0) > receivedAt
  let isKept = isOptedOut && status !== undefined && status !== 'OPTED_OUT'
  const fresh: Record<string, boolean> = {}
  for (const [name, isIn] of Object.entries(categories)) {
    const current = Object.hasOwn(before.categories, name) ? before.categories[name] : undefined
    const isNewer = current !== undefined && current[1] > receivedAt
    if (!activeCategories.has(name) || isNewer || current?.[0] === isIn) continue
    if (isIn && (current || isOptedOut)) isKept = true
    else fresh[name] = isIn
  }
  const request = {
    status: isOptedOut || isStatusNewer || status === before.status?.[0] ? undefined : status,
    categories: Object.keys(fresh).length > 0 ? fresh : undefined,
  }
  if (!request.status && !request.categories) return { preference: undefined, isKept }
  const changed = changePreference(before, request, { activeCategories, now: receivedAt })
  return { preference: isStatusNewer ? { ...changed, status: before.status } : changed, isKept }
}

/** The preferences of two merged users: the newest decision on each category and on the status. */
export function mergePreferences(left: Preference, right: Preference): Preference {
  const categories = { ...left.categories }
  for (const [name, decision] of Object.entries(right.categories)) {
    const existing = Object.hasOwn(categories, name) ? categories[name] : undefined
    categories[name] = existing ? newer(existing, decision, ([isIn]) => (isIn ? 1 : 0)) : decision
  }
  const status =
    left.status && right.status
      ? newer(left.status, right.status, ([status]) => MOST_CAUTIOUS_FIRST.indexOf(status))
      : (left.status ?? right.status)
  const tracking =
    left.tracking && right.tracking
      ? newer(left.tracking, right.tracking, ([isAllowed]) => (isAllowed ? 1 : 0))
      : (left.tracking ?? right.tracking)
  const updates = [left.updatedAt, right.updatedAt].filter((at) => at !== null)
  const updatedAt = updates.length > 0 ? Math.max(...updates) : null
  return { status, categories, updatedAt, ...(tracking && { tracking }) }
}

/** The preferences of a user after a change, and the proof of the change. */
export function recordPreferenceChange(
  previous: UserPreference,
  preference: Preference & { readonly updatedAt: number },
  origin: Pick<PreferenceChange, 'by' | 'ip'>,
): { readonly current: UserPreference; readonly change: PreferenceChange } {
  const { userId } = previous
  const number = previous.lastChange + 1
  const [before, after] = [toOptIn(previous.preference), toOptIn(preference)]
  return {
    current: { userId, preference, lastChange: number },
    change: { userId, number, at: preference.updatedAt, ...origin, before, after },
  }
}

/** The preferences as responses show them: with all categories, or only those in `names`. */
export function toOptIn({ status, categories, tracking }: Preference, names?: ReadonlySet<string>): OptIn {
  const shown = Object.entries(categories).filter(([name]) => names?.has(name) ?? true)
  return {
    status: status?.[0] ?? 'OPT_IN_PENDING',
    categories: Object.fromEntries(shown.map(([name, [isIn]]) => [name, isIn])),
    ...(tracking && { tracking: tracking[0] }),
  }
}

/** Whether a user has decided on active categories, and is in none of them. */
export function leavesNone(categories: Preference['categories'], active: ReadonlySet<string>): boolean {
  const current = Object.entries(categories).filter(([name]) => active.has(name))
  return current.length > 0 && current.every(([, [isIn]]) => !isIn)
}

/** The newer of two decisions; of two at the same time, the one with the smaller rank. */
function newer<Value>(
  left: Decision<Value>,
  right: Decision<Value>,
  rankOf: (decision: Decision<Value>) => number,
): Decision<Value> {
  if (left[1] !== right[1]) return left[1] > right[1] ? left : right
  return rankOf(left) <= rankOf(right) ? left : right
}
