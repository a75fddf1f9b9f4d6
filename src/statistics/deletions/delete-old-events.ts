// Deletes the events that a workspace no longer keeps (`retention_days.events`). The numbers of campaigns stay as they were: what the
// deleted events contributed to them becomes kept cells.
import { CellSum } from '../../core/statistics/cells.ts'
import { DAY_MS } from '../../core/time-zone.ts'
import { lockTables } from '../../store/entries/lock-tables.ts'
import { addKeptCells } from '../../store/statistics/kept-cells.ts'
import type { Database, Store } from '../../store/store.ts'
import { listOldEvents, removeEvents, type OldEvent } from '../../store/users/event-deletions.ts'
import { findUsersWithAliases, listUserIdsAfter, type UserWithAliases } from '../../store/users/users.ts'
import { addHistory } from '../difference.ts'
import { GoalCatalogs, type GoalCatalog } from '../goal-catalog.ts'
import { loadHistories } from '../histories.ts'
import { inPortions } from '../portions.ts'

/** Users whose events one statement looks through. */
const USERS_PER_STEP = 200
/** Events that one transaction deletes: other writers wait some 50 ms. */
const EVENTS_PER_STEP = 2_000

export interface Retention {
  readonly workspaceId: string
  readonly days: number
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Deletes all events older than the retention, a few users at a time. Ends early when `isStopping`. */
export async function deleteOldEvents(
  database: Database,
  { workspaceId, days, now }: Retention,
  isStopping: () => boolean,
): Promise<void> {
  const before = now - days * DAY_MS
  for (let after = 0; !isStopping();) {
    const page = { workspaceId, after, before }
    const found = await findOld(database, page)
    if (found.last === undefined) return
    if (found.events.length > 0) {
      await database.write((store) => deletePage(store, page))
      await database.yieldToWriters()
    }
    // After a whole step, these users may have more.
    if (found.events.length < EVENTS_PER_STEP) after = found.last
  }
}

/** Some users of a workspace, and the instant before which their events are old. */
interface UsersPage {
  readonly workspaceId: string
  readonly after: number
  readonly before: number
}

interface OldEvents {
  readonly users: readonly UserWithAliases[]
  readonly events: readonly OldEvent[]
  /** The last user; undefined if there are no more users. */
  readonly last: number | undefined
}

async function findOld(store: Store, { workspaceId, after, before }: UsersPage): Promise<OldEvents> {
  const userIds = await listUserIdsAfter(store, workspaceId, { after, max: USERS_PER_STEP })
  const users = [...(await findUsersWithAliases(store, userIds)).values()]
  const ids = users.flatMap((user) => user.userIds)
  return {
    users,
    events: await listOldEvents(store, { userIds: ids, before, max: EVENTS_PER_STEP }),
    last: userIds.at(-1),
  }
}

/** Deletes old events, and keeps what they contribute to the statistics: the contributions before minus those after. */
async function deletePage(store: Store, page: UsersPage): Promise<void> {
  await lockTables(store)
  // Found again under the lock: users may have been merged meanwhile.
  const { users, events } = await findOld(store, page)
  const catalog = await new GoalCatalogs().open(store, page.workspaceId)
  const counted = new Set(events.filter(({ action }) => catalog?.eventNames.has(action)).map(({ userId }) => userId))
  const owners = users.filter(({ userIds }) => userIds.some((id) => counted.has(id)))
  const kept = new CellSum()
  if (catalog) await addContributionsOf(store, catalog, owners, { sum: kept, times: 1 })
  await removeEvents(
    store,
    events.map(({ id }) => id),
  )
  if (catalog) await addContributionsOf(store, catalog, owners, { sum: kept, times: -1 })
  await addKeptCells(store, kept)
}

async function addContributionsOf(
  store: Store,
  catalog: GoalCatalog,
  users: readonly UserWithAliases[],
  { sum, times }: { readonly sum: CellSum; readonly times: 1 | -1 },
): Promise<void> {
  const wanted = users.map((user) => ({ user }))
  for await (const [, history] of inPortions(wanted, (portion) => loadHistories(store, catalog, portion))) {
    addHistory(sum, catalog, history, times)
  }
}
