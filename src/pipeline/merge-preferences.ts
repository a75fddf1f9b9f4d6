// Merges the email preferences of merged users, with a proof of the change. Proofs of merged users stay under their
// former ids.
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
  // A concurrent change of preferences has either committed by now, or will find the survivor.
  await lockPreferences(store, workspacesOf(batch, users))
  const involved = new Set(merges.flatMap(({ from, into }) => [from, into]))
  const stored = await findPreferences(store, [...involved])
  if (stored.size === 0) return
  const changes: PreferenceChange[] = []
  for (const merge of merges) {
    const outcome = mergeOne(stored, merge, batch.now)
    if (!outcome) continue
    stored.set(merge.into, outcome.current)
    stored.delete(merge.from)
    if (outcome.change) changes.push(outcome.change)
  }
  await savePreferences(store, [...stored.values()], changes)
  await removePreferences(
    store,
    merges.map(({ from }) => from),
  )
}

type Survivors = Pick<ResolvedUsers, 'merges' | 'userOf'>

/** Returns undefined when there is nothing to merge; no `change` when the preferences of the survivor stay the same. */
function mergeOne(
  stored: ReadonlyMap<number, UserPreference>,
  { from, into }: Merge,
  now: number,
): { readonly current: UserPreference; readonly change?: PreferenceChange } | undefined {
  const younger = stored.get(from)
  if (!younger) return undefined
  const survivor = stored.get(into) ?? nothingSetFor(into)
  const merged = mergePreferences(survivor.preference, younger.preference)
  // The proofs of both users are read as one history, in which the next proofs of the survivor must come last.
  const lastChange = Math.max(survivor.lastChange, younger.lastChange)
  if (isDeepStrictEqual(toOptIn(merged), toOptIn(survivor.preference))) {
    return { current: { userId: into, preference: merged, lastChange } }
  }
  const updatedAt = Math.max(now, merged.updatedAt ?? now)
  return recordChange({ ...survivor, lastChange }, { ...merged, updatedAt }, { by: 'merge', ip: null })
}

/** The workspaces of the entries whose users survived a merge. */
function workspacesOf({ entries }: Batch, { merges, userOf }: Survivors): string[] {
  const survivors = new Set(merges.map(({ into }) => into))
  const subjects = entries.flatMap((read) => read.subjects)
  const concerned = subjects.filter((subject) => survivors.has(userOf.get(subject) ?? -1))
  return [...new Set(concerned.map(({ workspaceId }) => workspaceId))]
}
