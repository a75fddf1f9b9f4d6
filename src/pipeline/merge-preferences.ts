// Gives the survivor of two users found to be one the email preferences of both, with a proof of what that changed. Their
// own proofs stay under the ids they had.
import { isDeepStrictEqual } from 'node:util'
import {
  mergePreferences,
  nothingSetFor,
  recordChange,
  toOptIn,
  type PreferenceChange,
  type UserPreference,
} from '../core/users/preference.ts'
import { findPreferences, lockPreferences, removePreferences, savePreferences } from '../store/users/preferences.ts'
import type { Store } from '../store/store.ts'
import type { Merge } from '../store/users/users.ts'
import type { Batch } from './batch.ts'
import type { ResolvedUsers } from './resolve-users.ts'

export async function mergeUserPreferences(store: Store, batch: Batch, users: Survivors): Promise<void> {
  const { merges } = users
  if (merges.length === 0) return
  // A change of preferences that found a user before this batch merged it has either been made by now, or will find the survivor.
  await lockPreferences(store, workspacesOf(batch, users))
  const involved = new Set(merges.flatMap(({ from, into }) => [from, into]))
  const known = await findPreferences(store, [...involved])
  if (known.size === 0) return
  const changes: PreferenceChange[] = []
  for (const merge of merges) {
    const outcome = mergeOne(known, merge, batch.now)
    if (!outcome) continue
    known.set(merge.into, outcome.current)
    known.delete(merge.from)
    if (outcome.change) changes.push(outcome.change)
  }
  await savePreferences(store, [...known.values()], changes)
  await removePreferences(
    store,
    merges.map(({ from }) => from),
  )
}

type Survivors = Pick<ResolvedUsers, 'merges' | 'userOf'>

/** Undefined when there is nothing to take over; without `change` when the survivor's preferences stay what they are. */
function mergeOne(
  known: ReadonlyMap<number, UserPreference>,
  { from, into }: Merge,
  now: number,
): { readonly current: UserPreference; readonly change?: PreferenceChange } | undefined {
  const younger = known.get(from)
  if (!younger) return undefined
  const survivor = known.get(into) ?? nothingSetFor(into)
  const merged = mergePreferences(survivor.preference, younger.preference)
  // Proofs of both are read as one history, in which the survivor's next ones must come last.
  const lastChange = Math.max(survivor.lastChange, younger.lastChange)
  if (isDeepStrictEqual(toOptIn(merged), toOptIn(survivor.preference))) {
    return { current: { userId: into, preference: merged, lastChange } }
  }
  const updatedAt = Math.max(now, merged.updatedAt ?? now)
  return recordChange({ ...survivor, lastChange }, { ...merged, updatedAt }, { by: 'merge', ip: null })
}

/** The workspaces of the entries whose users had others merged into them. */
function workspacesOf({ entries }: Batch, { merges, userOf }: Survivors): string[] {
  const survivors = new Set(merges.map(({ into }) => into))
  const subjects = entries.flatMap((read) => read.subjects)
  const concerned = subjects.filter((subject) => survivors.has(userOf.get(subject) ?? -1))
  return [...new Set(concerned.map(({ workspaceId }) => workspaceId))]
}
