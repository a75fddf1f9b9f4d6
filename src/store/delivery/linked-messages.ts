// What requests to links need to know of runs and messages. Runs do not change in what is read here, so callers may cache them.
import { userRows } from '../users/users.ts'
import type { Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import { findDelivery } from './deliveries.ts'
import { messageRows, toRunMessage, type RunMessage } from './messages.ts'
import { listRunLinks, runRows } from './runs.ts'

export interface LinkedRun extends LinkedCampaign {
  readonly number: number
  /** Null: the campaign has none. */
  readonly category: string | null
  /** The targets of the links 1, 2, …; Liquid where it differs between people. */
  readonly links: readonly string[]
}

/** Undefined if there is no such run. */
export async function findLinkedRun(store: Store, number: number): Promise<LinkedRun | undefined> {
  const run = await runRows(store)
    .select(['run.workspace_id', 'run.campaign'])
    .where('run.number', '=', number)
    .executeTakeFirst()
  if (!run) return undefined
  const { workspace_id: workspaceId, campaign } = run
  const delivery = await findDelivery(store, campaign)
  const links = await listRunLinks(store, number)
  return { number, workspaceId, campaign, category: delivery?.settings.category ?? null, links }
}

/** The campaign of a run. */
export interface LinkedCampaign {
  readonly workspaceId: string
  /** `campaigns.number`. */
  readonly campaign: number
}

/** Run → its campaign; runs that do not exist are left out. */
export async function findRunCampaigns(store: Store, numbers: readonly number[]): Promise<Map<number, LinkedCampaign>> {
  if (numbers.length === 0) return new Map()
  const rows = await runRows(store)
    .innerJoin(wantedValues(store, 'number', 'integer', numbers), 'wanted.number', 'run.number')
    .select(['run.number', 'run.workspace_id', 'run.campaign'])
    .execute()
  return new Map(rows.map((row) => [row.number, { workspaceId: row.workspace_id, campaign: row.campaign }]))
}

/** A message and its person. */
export interface MessageOwner {
  readonly run: number
  readonly number: number
  /** The customer id under which the message's facts are reported. */
  readonly customerId: string
  /** The user, after all merges. Undefined if the person was erased. */
  readonly userId: number | undefined
}

type MessageKey = Pick<MessageOwner, 'run' | 'number'>

/** The target of a link that differs between people; undefined if the message has none. */
export async function findOwnTarget(
  store: Store,
  { run, number }: MessageKey,
  link: number,
): Promise<string | undefined> {
  const row = await messageRows(store)
    .select('message.targets')
    .where('message.run', '=', run)
    .where('message.number', '=', number)
    .executeTakeFirst()
  return row?.targets ? (JSON.parse(row.targets) as Readonly<Record<string, string>>)[link] : undefined
}

/** Undefined if there is no such message. */
export async function findMessage(store: Store, { run, number }: MessageKey): Promise<RunMessage | undefined> {
  const found = messageRows(store).selectAll('message').where('message.run', '=', run)
  const row = await found.where('message.number', '=', number).executeTakeFirst()
  return row && toRunMessage(row)
}

/** The owners of messages; messages that do not exist are left out. */
export async function findMessageOwners(store: Store, keys: readonly MessageKey[]): Promise<MessageOwner[]> {
  if (keys.length === 0) return []
  const wanted = store.rowsOf('wanted', { run: 'integer', number: 'integer' }, keys)
  const rows = await messageRows(store)
    .innerJoin(wanted, (join) =>
      join.onRef('wanted.run', '=', 'message.run').onRef('wanted.number', '=', 'message.number'),
    )
    .select(['message.run', 'message.number', 'message.user_id', 'message.customer_id'])
    .execute()
  const users = await findSurvivors(
    store,
    rows.map(({ user_id }) => user_id),
  )
  return rows.map(({ run, number, user_id, customer_id: customerId }) => {
    return { run, number, customerId, userId: users.get(user_id) }
  })
}

/** User → the user into which it was merged, or itself; erased users are left out. */
export async function findSurvivors(store: Store, userIds: readonly number[]): Promise<Map<number, number>> {
  if (userIds.length === 0) return new Map()
  const wanted = wantedValues(store, 'id', 'integer', [...new Set(userIds)])
  const rows = await userRows(store)
    .innerJoin(wanted, 'wanted.id', 'user.id')
    .select(['user.id', 'user.merged_into'])
    .execute()
  return new Map(rows.map(({ id, merged_into }) => [id, merged_into ?? id]))
}
