// How a decision on a page behind a link in a message changes the preferences of the person ("Links, opens, unsubscribing").
import { changePreference, type Preference, type PreferenceRequest } from './preference.ts'

/** The preferences after a decision that changes something. */
export interface LinkedPreference {
  readonly preference: Preference & { readonly updatedAt: number }
  /** Whether the person got emails before that end now. */
  readonly isEnding: boolean
}

/**
 * Sets what the person decided, as Update Preferences would, but never replaces a later decision. Who turns a category on gets emails
 * again, so the status becomes `OPTED_IN` unless the person is in already. Undefined if nothing changes.
 */
export function changeByLink(
  before: Preference,
  request: PreferenceRequest,
  { activeCategories, receivedAt }: { readonly activeCategories: ReadonlySet<string>; readonly receivedAt: number },
): LinkedPreference | undefined {
  const categories = Object.entries(request.categories ?? {}).filter(([name, isIn]) => {
    const current = decisionOn(before, name)
    return (activeCategories.has(name) || !isIn) && current?.[0] !== isIn && (current?.[1] ?? 0) <= receivedAt
  })
  const isStatusNewer = (before.status?.[1] ?? 0) > receivedAt
  const wanted = request.status ?? (turnsOn(before, request, activeCategories) ? 'OPTED_IN' : undefined)
  const status = isStatusNewer || wanted === before.status?.[0] ? undefined : wanted
  if (categories.length === 0 && status === undefined) return undefined
  const fresh = { status, categories: categories.length > 0 ? Object.fromEntries(categories) : undefined }
  const changed = changePreference(before, fresh, { activeCategories, now: receivedAt })
  const preference = isStatusNewer ? { ...changed, status: before.status } : changed
  return { preference, isEnding: isEnding(before, preference) }
}

/** Whether a person gets the emails of a category, as far as the person decided. */
export function isOn(preference: Preference, category: string): boolean {
  return !isOut(preference) && decisionOn(preference, category)?.[0] === true
}

/** Whether a person gets no emails at all. */
export function isOut({ status }: Preference): boolean {
  return status?.[0] === 'OPTED_OUT'
}

function turnsOn(before: Preference, { categories = {} }: PreferenceRequest, active: ReadonlySet<string>): boolean {
  const isIn = before.status?.[0] === 'OPTED_IN' || before.status?.[0] === 'DOUBLE_OPTED_IN'
  return !isIn && Object.entries(categories).some(([name, on]) => on && active.has(name) && !isOn(before, name))
}

function isEnding(before: Preference, after: Preference): boolean {
  if (isOut(before)) return false
  return isOut(after) || Object.keys(before.categories).some((name) => isOn(before, name) && !isOn(after, name))
}

function decisionOn({ categories }: Preference, name: string): Preference['categories'][string] | undefined {
  return Object.hasOwn(categories, name) ? categories[name] : undefined
}
