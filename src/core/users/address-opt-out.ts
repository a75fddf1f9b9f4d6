// The opt-out of an email address: what requests that named the address refused. A user who gets the address later inherits it as
// if the requests had come after.
import {
  leavesNone,
  mergePreferences,
  NOTHING_SET,
  type Decision,
  type OptInStatus,
  type Preference,
  type PreferenceRequest,
} from './preference.ts'

export interface AddressOptOut {
  /** The status that a request set last; null if none did. */
  readonly status: Decision<OptInStatus> | null
  /** Refused category → when. */
  readonly refusals: { readonly [category: string]: number }
}

export const NO_OPT_OUT: AddressOptOut = { status: null, refusals: {} }

/** The opt-out after a request. Opting in, to a category or altogether, ends what the request before it refused. */
export function changeOptOut(
  before: AddressOptOut,
  { status, categories = {} }: PreferenceRequest,
  now: number,
): AddressOptOut {
  // Never before an earlier decision, even if clocks differ: a later request must be the newer one.
  const at = Math.max(now, before.status?.[1] ?? 0, ...Object.values(before.refusals))
  const others = Object.entries(before.refusals).filter(([name]) => !Object.hasOwn(categories, name))
  const refused = Object.entries(categories).filter(([, isIn]) => !isIn)
  const refusals = Object.fromEntries([...others, ...refused.map(([name]) => [name, at] as const)])
  return { status: status === undefined ? before.status : [status, at], refusals }
}

/** Whether anything is refused. */
export function refusesAnything({ status, refusals }: AddressOptOut): boolean {
  return status?.[0] === 'OPTED_OUT' || Object.keys(refusals).length > 0
}

/**
 * The preferences of a user who gets the address. As in a merge, the newest decision wins, so a user who opted in after the
 * address was opted out stays opted in.
 */
export function inheritOptOut(
  preference: Preference,
  { status, refusals }: AddressOptOut,
  activeCategories: ReadonlySet<string>,
): Preference {
  const refused = Object.entries(refusals).map(([name, at]) => [name, [false, at] as const] as const)
  const inherited = { ...NOTHING_SET, categories: Object.fromEntries(refused) }
  const isOut = status?.[0] === 'OPTED_OUT'
  const merged = mergePreferences(preference, { ...inherited, status: isOut ? status : null })
  const last = Math.max(0, ...Object.values(refusals))
  if (refused.length === 0 || last < (status?.[1] ?? 0)) return merged
  // The request with the last refusal would have opted the user out if it had left no category, as in `changePreference`.
  const known = Object.entries(preference.categories).filter(([, [, at]]) => at <= last)
  const { categories } = mergePreferences({ ...NOTHING_SET, categories: Object.fromEntries(known) }, inherited)
  if (!leavesNone(categories, activeCategories)) return merged
  return mergePreferences(merged, { ...NOTHING_SET, status: ['OPTED_OUT', last] })
}
