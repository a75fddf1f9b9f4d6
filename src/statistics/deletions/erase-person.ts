// Erases a person: everything that Tidings stores of it, except what the law asks to keep. The numbers of campaigns stay as they were:
// what the person contributed to them becomes kept cells, which tell nothing of the person (`docs/decisions/0032`).
import { v7 as newErasureId } from 'uuid'
import { AppError } from '../../core/app-error.ts'
import { CellSum } from '../../core/statistics/cells.ts'
import { removeActivityOf } from '../../store/campaigns/campaign-activity.ts'
import { removeMembershipsOf } from '../../store/campaigns/memberships.ts'
import { removeMessageEventsOf } from '../../store/campaigns/message-events.ts'
import { hasParkedEntries } from '../../store/entries/parked-entries.ts'
import { addKeptCells } from '../../store/statistics/kept-cells.ts'
import { removeUncountedEvents } from '../../store/statistics/uncounted-events.ts'
import type { Database, Store } from '../../store/store.ts'
import {
  addErasure,
  findUnfinishedErasure,
  KEPT_PROOFS_MAX,
  saveErasedEvents,
  type KeptProof,
} from '../../store/users/erasures.ts'
import { removeEventsOf } from '../../store/users/event-deletions.ts'
import { listUserPreferenceChanges, removePreferenceChanges, removePreferences } from '../../store/users/preferences.ts'
import { removeIdentitiesOf } from '../../store/users/user-identities.ts'
import { findUsersWithAliases, removeUsers, type User, type UserWithAliases } from '../../store/users/users.ts'
import { addHistory } from '../difference.ts'
import { GoalCatalogs } from '../goal-catalog.ts'
import { loadHistories } from '../histories.ts'

/** Events that one transaction deletes: other writers wait some 50 ms. */
const EVENTS_PER_PORTION = 2_000

/** Who erases, and when. */
export interface ErasedBy {
  readonly by: string
  readonly now: number
}

/**
 * Erases everything of a user but its events, which nothing finds any more; `removeErasedEvents` deletes them. Returns the id of the
 * erasure. Needs a transaction with the locks of the tables and of the preferences. Throws AppError `conflict` while entries are
 * parked, which would bring the user back when they are replayed, and for a user with more facts than memory may hold.
 */
export async function erasePerson(store: Store, user: User, { by, now }: ErasedBy): Promise<string> {
  if (await hasParkedEntries(store, user.workspaceId)) throw entriesAreParked()
  const found = await findUsersWithAliases(store, [user.id])
  const aliases = found.get(user.id) as UserWithAliases
  await keepCounts(store, user.workspaceId, aliases)
  const { customers, userIds } = aliases
  await removeMembershipsOf(store, customers)
  await removeMessageEventsOf(store, customers)
  await removeActivityOf(store, customers)
  await removeUncountedEvents(store, userIds)
  const proofs = await takeProofs(store, userIds)
  await removeIdentitiesOf(store, user.id)
  await removeUsers(store, userIds)
  const id = newErasureId()
  const { workspaceId, customerId } = user
  await addErasure(store, { id, workspaceId, customerId, erasedAt: now, erasedBy: by, proofs, userIds })
  return id
}

/** Turns what the user contributed to the statistics into kept cells. */
async function keepCounts(store: Store, workspaceId: string, user: UserWithAliases): Promise<void> {
  const catalog = await new GoalCatalogs().open(store, workspaceId)
  if (!catalog) return
  const histories = await loadHistories(store, catalog, [{ user }])
  const kept = new CellSum()
  for (const history of histories ?? []) addHistory(kept, catalog, history, 1)
  await addKeptCells(store, kept)
}

async function takeProofs(store: Store, userIds: readonly number[]): Promise<KeptProof[]> {
  const changes = await listUserPreferenceChanges(store, userIds, { before: undefined, max: KEPT_PROOFS_MAX })
  await removePreferences(store, userIds)
  await removePreferenceChanges(store, userIds)
  return changes.map(({ at, by, before, after }) => ({ at, by, before, after }))
}

/**
 * Deletes a portion of the events of an erased person: of the erasure with this id, else of the oldest unfinished one. Returns false
 * when nothing is left to delete.
 */
export function removeErasedEvents(database: Database, id?: string): Promise<boolean> {
  return database.write(async (store) => {
    const erasure = await findUnfinishedErasure(store, id)
    if (!erasure) return false
    const events = await removeEventsOf(store, erasure.userIds, EVENTS_PER_PORTION)
    await saveErasedEvents(store, { id: erasure.id, events, isComplete: events < EVENTS_PER_PORTION })
    return true
  })
}

function entriesAreParked(): AppError {
  const message =
    'The workspace has parked entries, which may hold data of this user. Replay or drop them with `tidings parked`, then erase ' +
    'the user.'
  return new AppError('conflict', message)
}
