// A user's email preferences: how a request changes them, and how those of two users found to be one are joined ("Email opt-in").
// Every decision keeps its time, because the newer of two that contradict each other holds.
import { toAsciiCapitals } from '../ascii-capitals.ts'
import type { KeyTile } from '../accounts/credential.ts'

export const OPT_IN_STATUSES = ['OPTED_IN', 'DOUBLE_OPTED_IN', 'OPTED_OUT', 'OPT_IN_PENDING'] as const
export type OptInStatus = (typeof OPT_IN_STATUSES)[number]

/** Of two decisions made at the same time, the one that allows less holds: the earlier one in this list. */
const MOST_CAUTIOUS_FIRST: readonly OptInStatus[] = ['OPTED_OUT', 'OPT_IN_PENDING', 'OPTED_IN', 'DOUBLE_OPTED_IN']

/** A value and when it was decided, in milliseconds since the epoch. */
export type Decision<Value> = readonly [value: Value, decidedAt: number]

export interface Preference {
  /** Null until it is decided; until then it is shown as `OPT_IN_PENDING`. */
  readonly status: Decision<OptInStatus> | null
  /** A category that was never set is absent and counts as neither in nor out. */
  readonly categories: { readonly [name: string]: Decision<boolean> }
  /** Null while nothing is set. */
  readonly updatedAt: number | null
}

export const NOTHING_SET: Preference = { status: null, categories: {}, updatedAt: null }

/** Preferences without the times of their decisions: what is shown and proved. */
export interface OptIn {
  readonly status: OptInStatus
  readonly categories: { readonly [name: string]: boolean }
}

/** What a request wants; at least one of the two. */
export interface PreferenceRequest {
  readonly status?: OptInStatus | undefined
  readonly categories?: { readonly [name: string]: boolean } | undefined
}

/** What a proof of consent names as the cause of a change: an API key, a link in an email, or that two users became one. */
export type ChangedBy = `key:${KeyTile}` | `link:${string}` | 'merge'

/** One proof of consent. */
export interface PreferenceChange {
  readonly userId: number
  /** Grows with every change of one user, even where several have the same time. */
  readonly number: number
  readonly at: number
  readonly by: ChangedBy
  /** The caller's address; null where nobody called. */
  readonly ip: string | null
  readonly before: OptIn
  readonly after: OptIn
}

/** What holds for one user. */
export interface UserPreference {
  readonly userId: number
  readonly preference: Preference
  /** The number of the last change; 0 before the first. */
  readonly lastChange: number
}

/** What holds for a user about whom nothing is stored. */
export function nothingSetFor(userId: number): UserPreference {
  return { userId, preference: NOTHING_SET, lastChange: 0 }
}

/** The status with this name, whatever its case; undefined when there is none. */
export function toOptInStatus(text: string): OptInStatus | undefined {
  const capitals = toAsciiCapitals(text)
  return OPT_IN_STATUSES.find((status) => status === capitals)
}

/**
 * The preferences after a request. Named categories are set, others stay. A request that sends categories and leaves at least one
 * false and none true makes the status OPTED_OUT, whatever else it sent; categories that the workspace no longer has do not
 * count, because nobody could opt out of them any more.
 */
export function changePreference(
  before: Preference,
  request: PreferenceRequest,
  { activeCategories, now }: { readonly activeCategories: ReadonlySet<string>; readonly now: number },
): Preference & { readonly updatedAt: number } {
  // Never before what it follows, whichever clocks are involved: a later change is the newer one.
  const at = Math.max(now, before.updatedAt ?? now)
  const sent = Object.entries(request.categories ?? {}).map(([name, isIn]) => [name, [isIn, at] as const] as const)
  const categories = { ...before.categories, ...Object.fromEntries(sent) }
  const isRefusal = request.categories !== undefined && leavesNone(categories, activeCategories)
  const status = isRefusal ? 'OPTED_OUT' : request.status
  return { status: status ? [status, at] : before.status, categories, updatedAt: at }
}

/** The preferences of two users found to be one: the newest decision on each category, and on the status. */
export function mergePreferences(left: Preference, right: Preference): Preference {
  const categories = { ...left.categories }
  for (const [name, decision] of Object.entries(right.categories)) {
    const known = Object.hasOwn(categories, name) ? categories[name] : undefined
    categories[name] = known ? newer(known, decision, ([isIn]) => (isIn ? 1 : 0)) : decision
  }
  const status =
    left.status && right.status
      ? newer(left.status, right.status, ([status]) => MOST_CAUTIOUS_FIRST.indexOf(status))
      : (left.status ?? right.status)
  const updates = [left.updatedAt, right.updatedAt].filter((at) => at !== null)
  return { status, categories, updatedAt: updates.length > 0 ? Math.max(...updates) : null }
}

/** What holds for a user after a change, with its proof. */
export function recordChange(
  known: UserPreference,
  preference: Preference & { readonly updatedAt: number },
  origin: Pick<PreferenceChange, 'by' | 'ip'>,
): { readonly current: UserPreference; readonly change: PreferenceChange } {
  const { userId } = known
  const number = known.lastChange + 1
  const [before, after] = [toOptIn(known.preference), toOptIn(preference)]
  return {
    current: { userId, preference, lastChange: number },
    change: { userId, number, at: preference.updatedAt, ...origin, before, after },
  }
}

/** What is shown of preferences: every category, or those of `names` only. */
export function toOptIn({ status, categories }: Preference, names?: ReadonlySet<string>): OptIn {
  const shown = Object.entries(categories).filter(([name]) => names?.has(name) ?? true)
  return {
    status: status?.[0] ?? 'OPT_IN_PENDING',
    categories: Object.fromEntries(shown.map(([name, [isIn]]) => [name, isIn])),
  }
}

function leavesNone(categories: Preference['categories'], active: ReadonlySet<string>): boolean {
  const left = Object.entries(categories).filter(([name]) => active.has(name))
  return left.length > 0 && left.every(([, [isIn]]) => !isIn)
}

/** The newer of two decisions; of two made at the same time, the one with the smaller rank. */
function newer<Value>(
  left: Decision<Value>,
  right: Decision<Value>,
  rankOf: (decision: Decision<Value>) => number,
): Decision<Value> {
  if (left[1] !== right[1]) return left[1] > right[1] ? left : right
  return rankOf(left) <= rankOf(right) ? left : right
}
