// Settles the email preferences of users whom a batch changed, with a proof of each change: merges those of merged users, gives
// users who get an opted-out address its opt-out ("Opted-out addresses"), and sets those that imports and links in messages brought.
// Does all in the order of the log, so that the outcome does not depend on how the log is cut. Proofs of merged users stay under
// their former ids.
import { isDeepStrictEqual } from 'node:util'
import { messageIdOfRun } from '../core/delivery/delivery-entry.ts'
import { inheritOptOut, type AddressOptOut } from '../core/users/address-opt-out.ts'
import { changeByLink } from '../core/users/change-by-link.ts'
import {
  changeByImport,
  mergePreferences,
  nothingSetFor,
  recordPreferenceChange,
  toOptIn,
  type ChangedBy,
  type Preference,
  type PreferenceChange,
  type UserPreference,
} from '../core/users/preference.ts'
import { addressKey, findOptOuts, lockNewAddresses } from '../store/users/address-opt-outs.ts'
import { findPreferences, lockPreferences, removePreferences, savePreferences } from '../store/users/preferences.ts'
import type { Store } from '../store/store.ts'
import type { Merge } from '../core/users/merge.ts'
import { findCategories } from '../store/workspaces/workspaces.ts'
import {
  importsOf,
  isReport,
  type Batch,
  type ImportEntry,
  type LinkOptIn,
  type ReportedOptIn,
  type ReportEntry,
  type Subject,
} from './batch.ts'
import type { ResolvedUsers } from './resolve-users.ts'
import { TooMuchAtOnce } from './users-at-once.ts'
import { inLogOrder } from './users/identity-graph.ts'
import type { NewAddress } from './users/new-addresses.ts'

/**
 * The most characters of categories that users of a batch may inherit. A user's categories are written three times, with those of
 * the proof.
 */
const INHERITED_CHARACTERS_MAX = 1024 * 1024

interface SettleInput {
  readonly users: Pick<ResolvedUsers, 'merges' | 'userOf' | 'userAt'>
  /** The addresses that users got. */
  readonly newAddresses: readonly NewAddress[]
}

/** Chunk of an import → how many of its rows contradicted an opt-out, which was kept. */
export type KeptOptOuts = ReadonlyMap<ImportEntry, number>

/** The decisions behind links that ended something. */
export type Unsubscribes = ReadonlySet<ReportEntry>

export interface SettledPreferences {
  readonly keptOptOuts: KeptOptOuts
  readonly unsubscribes: Unsubscribes
}

const NOTHING_SETTLED: SettledPreferences = { keptOptOuts: new Map(), unsubscribes: new Set() }

/** Call it after the users and their addresses are stored. Throws TooMuchAtOnce. */
export async function settlePreferences(store: Store, batch: Batch, input: SettleInput): Promise<SettledPreferences> {
  const { merges } = input.users
  const inheritances = await findInheritances(store, input)
  const imported = importedOptIns(batch, input)
  const linked = linkedOptIns(batch, input)
  const decided = [...imported, ...linked]
  if (merges.length === 0 && inheritances.length === 0 && decided.length === 0) return NOTHING_SETTLED
  // A concurrent change of preferences has either committed by now, or will find the survivor.
  const inheriting = inheritances.map(({ workspaceId }) => workspaceId)
  const deciding = decided.map(({ read }) => read.entry.workspaceId)
  await lockPreferences(store, [...workspacesOfMerges(batch, input), ...inheriting, ...deciding])
  const changed = [...inheritances, ...decided].map(({ userId }) => userId)
  const stored = await findPreferences(store, [
    ...new Set([...merges.flatMap(({ from, into }) => [from, into]), ...changed]),
  ])
  if (stored.size === 0 && changed.length === 0) return NOTHING_SETTLED
  const categories = await findCategoriesOf(store, batch, inheriting)
  const settlement = new Settlement(stored, batch.now)
  for (const step of inLogOrder(merges, [...inheritances, ...decided])) {
    if ('optOut' in step) settlement.inherit(step, categories.get(step.workspaceId) as ReadonlySet<string>)
    else if ('request' in step) settlement.import(step)
    else if ('optIn' in step) settlement.decideByLink(step)
    else settlement.merge(step)
  }
  await savePreferences(store, [...stored.values()], settlement.changes)
  await removePreferences(
    store,
    merges.map(({ from }) => from),
  )
  return settlement
}

/** A user who gets an address with an opt-out. */
interface Inheritance {
  readonly number: number
  readonly workspaceId: string
  /** The user at that entry, who may have been merged since. */
  readonly userId: number
  readonly optOut: AddressOptOut
}

/** The consent in a row of an import. */
interface ImportedOptIn {
  readonly number: number
  readonly read: ImportEntry
  /** As in `Inheritance`. */
  readonly userId: number
  readonly request: ReportedOptIn['request']
}

function importedOptIns(batch: Batch, { users: { userAt } }: SettleInput): ImportedOptIn[] {
  return importsOf(batch).flatMap((read) =>
    read.optIns.map(({ subject, request }) => {
      return { number: subject.number, read, userId: userAt.get(subject) as number, request }
    }),
  )
}

/** What a person decided on a page behind a link. */
interface LinkedOptIn {
  readonly number: number
  readonly read: ReportEntry
  /** As in `Inheritance`. */
  readonly userId: number
  readonly optIn: LinkOptIn
}

function linkedOptIns({ entries }: Batch, { users: { userAt } }: SettleInput): LinkedOptIn[] {
  return entries.filter(isReport).flatMap((read) => {
    if (!read.optIn) return []
    const subject = read.subjects[0] as Subject
    return [{ number: subject.number, read, userId: userAt.get(subject) as number, optIn: read.optIn }]
  })
}

/** Locks the new addresses. An opt-out that commits later finds the users who have got them. */
async function findInheritances(store: Store, { users, newAddresses }: SettleInput): Promise<Inheritance[]> {
  if (newAddresses.length === 0) return []
  await lockNewAddresses(
    store,
    newAddresses.map(({ subject }) => subject.workspaceId),
  )
  const addresses = newAddresses.map(({ subject: { workspaceId }, emailKey }) => ({ workspaceId, emailKey }))
  const optOuts = await findOptOuts(store, addresses)
  if (optOuts.size === 0) return []
  return newAddresses.flatMap(({ subject, emailKey }) => {
    const { number, workspaceId } = subject
    const optOut = optOuts.get(addressKey({ workspaceId, emailKey }))
    const userId = users.userAt.get(subject)
    return optOut && userId !== undefined ? [{ number, workspaceId, userId, optOut }] : []
  })
}

/** The workspaces of the entries whose users survived a merge. */
function workspacesOfMerges({ entries }: Batch, { users: { merges, userOf } }: SettleInput): string[] {
  if (merges.length === 0) return []
  const survivors = new Set(merges.map(({ into }) => into))
  const subjects = entries.flatMap((read) => read.subjects)
  const concerned = subjects.filter((subject) => survivors.has(userOf.get(subject) ?? -1))
  return concerned.map(({ workspaceId }) => workspaceId)
}

/** Workspace → its active categories. Throws TooMuchAtOnce, but not for a single entry. */
async function findCategoriesOf(
  store: Store,
  { entries }: Batch,
  workspaceIds: readonly string[],
): Promise<Map<string, ReadonlySet<string>>> {
  const categories = new Map<string, ReadonlySet<string>>()
  for (const id of new Set(workspaceIds)) categories.set(id, await findCategories(store, id))
  const charactersOf = (id: string) => [...(categories.get(id) ?? [])].reduce((sum, name) => sum + name.length, 0)
  const characters = workspaceIds.reduce((sum, id) => sum + charactersOf(id), 0)
  if (entries.length > 1 && characters > INHERITED_CHARACTERS_MAX) throw new TooMuchAtOnce()
  return categories
}

/** Changes the preferences in `stored`, and collects the proofs. */
class Settlement implements SettledPreferences {
  readonly changes: PreferenceChange[] = []
  readonly keptOptOuts = new Map<ImportEntry, number>()
  readonly unsubscribes = new Set<ReportEntry>()
  readonly #stored: Map<number, UserPreference>
  readonly #now: number

  constructor(stored: Map<number, UserPreference>, now: number) {
    this.#stored = stored
    this.#now = now
  }

  merge({ from, into }: Merge): void {
    const younger = this.#stored.get(from)
    if (!younger) return
    const survivor = this.#preferenceOf(into)
    // The proofs of both users are read as one history, in which the next proofs of the survivor must come last.
    const lastChange = Math.max(survivor.lastChange, younger.lastChange)
    this.#change({ ...survivor, lastChange }, mergePreferences(survivor.preference, younger.preference), 'merge')
    this.#stored.delete(from)
  }

  inherit({ userId, optOut }: Inheritance, activeCategories: ReadonlySet<string>): void {
    const before = this.#preferenceOf(userId)
    this.#change(before, inheritOptOut(before.preference, optOut, activeCategories), 'address')
  }

  import({ userId, read: chunk, request }: ImportedOptIn): void {
    const { receivedAt, context } = chunk.entry
    const { activeCategories } = chunk
    const before = this.#preferenceOf(userId)
    const { preference, isKept } = changeByImport(before.preference, request, { activeCategories, receivedAt })
    if (isKept) this.keptOptOuts.set(chunk, (this.keptOptOuts.get(chunk) ?? 0) + 1)
    if (!preference) return
    this.#record(before, preference, { by: `import:${chunk.importId}`, ip: context.ip ?? null })
  }

  decideByLink({ userId, read, optIn: { body, activeCategories } }: LinkedOptIn): void {
    const { receivedAt, context } = read.entry
    const before = this.#preferenceOf(userId)
    const changed = changeByLink(before.preference, body.request, { activeCategories, receivedAt })
    if (!changed) return
    if (changed.isEnding || body.action === 'unsubscribe') this.unsubscribes.add(read)
    const by = `link:${messageIdOfRun(body.run, body.message)}` as const
    this.#record(before, changed.preference, { by, ip: context.ip ?? null })
  }

  #preferenceOf(userId: number): UserPreference {
    return this.#stored.get(userId) ?? nothingSetFor(userId)
  }

  /** Adds a proof if the preferences look different after the change. */
  #change(before: UserPreference, after: Preference, by: ChangedBy): void {
    const { userId, lastChange } = before
    if (isDeepStrictEqual(toOptIn(after), toOptIn(before.preference))) {
      this.#stored.set(userId, { userId, preference: after, lastChange })
      return
    }
    const updatedAt = Math.max(this.#now, after.updatedAt ?? this.#now)
    this.#record(before, { ...after, updatedAt }, { by, ip: null })
  }

  #record(...recorded: Parameters<typeof recordPreferenceChange>): void {
    const { current, change } = recordPreferenceChange(...recorded)
    this.#stored.set(current.userId, current)
    this.changes.push(change)
  }
}
