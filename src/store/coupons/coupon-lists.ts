// The table of coupon lists. The counts of a list always match its codes in `coupons.ts`: both change in one transaction.
import { expressionBuilder, sql, type Expression, type Selectable } from 'kysely'
import type { SentAlerts } from '../../core/coupons/coupon-alerts.ts'
import type { AlertConditions, CouponList, CouponListDetails } from '../../core/coupons/coupon-list.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import type { Tables } from '../tables.ts'

/** The most lists of a workspace, archived ones included: the listing returns all of them. */
export const COUPON_LISTS_MAX = 10_000

/**
 * The most bytes of JSON that the subscribers of all lists of a workspace may take, for the same reason. A hundred of the longest
 * addresses in every list made a listing of 343 MB, which took 2 GB of memory; with this limit the largest has 36 MB and takes 200
 * MB. A dozen addresses in each of `COUPON_LISTS_MAX` lists use a fifth of it.
 */
export const SUBSCRIBERS_BYTES_MAX = 16 * 1024 * 1024

interface CouponListRow {
  /** Short, because every code has it. Grows in the order in which lists are created. */
  number: number
  id: string
  workspace_id: string
  name: string
  label: string
  expires_at: string
  archived_at: number | null
  total_coupons: number
  available_coupons: number
  /** Codes that belong to messages that are not sent yet. */
  held_coupons: number
  /** Codes that belong to messages that were sent, or may have been. */
  issued_coupons: number
  /**
   * Somebody holds or held each code of recorded uploads up to this id, or it was deleted. Those that are available all the same are
   * in `released-coupons.ts`.
   */
  taken_through: number
  /** Codes with a higher id belong to an incomplete upload and do not count. */
  last_coupon_id: number
  created_by: string
  email_alert_subscribers: string
  alert_conditions: string
  /** 1 once the shortage alert was sent, until the list has more codes than the threshold. */
  shortage_told: number
  /** The last day of an expiry alert, as `YYYY-MM-DD`. */
  expiry_told_on: string | null
  created_at: number
  updated_at: number
}

declare module '../tables.ts' {
  interface Tables {
    coupon_lists: CouponListRow
  }
}

export interface StoredCouponList extends CouponList {
  readonly number: number
  readonly lastCouponId: number
  readonly takenThrough: number
  readonly sentAlerts: SentAlerts
}

export async function createCouponLists({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('coupon_lists')
    .addColumn('number', integer, (column) => column.primaryKey())
    .addColumn('id', text, (column) => column.notNull().unique())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('label', text, (column) => column.notNull())
    .addColumn('expires_at', text, (column) => column.notNull())
    .addColumn('archived_at', integer)
    .addColumn('total_coupons', integer, (column) => column.notNull())
    .addColumn('available_coupons', integer, (column) => column.notNull())
    .addColumn('last_coupon_id', integer, (column) => column.notNull())
    .addColumn('created_by', text, (column) => column.notNull())
    .addColumn('email_alert_subscribers', text, (column) => column.notNull())
    .addColumn('alert_conditions', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .addUniqueConstraint('coupon_lists_by_name', ['workspace_id', 'name'])
    .addUniqueConstraint('coupon_lists_by_label', ['workspace_id', 'label'])
    .execute()
  await query.schema
    .createIndex('coupon_lists_by_workspace')
    .on('coupon_lists')
    .columns(['workspace_id', 'number'])
    .execute()
}

/** For tables of earlier versions: no code was given to anybody, and no alert was sent. */
export async function addSendingColumns({ query }: Store, { integer, text }: SqlTypes): Promise<void> {
  for (const name of ['held_coupons', 'issued_coupons', 'taken_through', 'shortage_told']) {
    await query.schema
      .alterTable('coupon_lists')
      .addColumn(name, integer, (column) => column.notNull().defaultTo(sql.lit(0)))
      .execute()
  }
  await query.schema.alterTable('coupon_lists').addColumn('expiry_told_on', text).execute()
}

/** Locks all coupon lists and uploads until this transaction ends. */
export async function lockCouponLists(store: Store): Promise<void> {
  await store.lock('coupon_lists')
}

/** Undefined if this workspace has no such list, even if another one has. */
export async function findCouponList(
  { query }: Store,
  workspaceId: string,
  id: string,
): Promise<StoredCouponList | undefined> {
  const lists = query.selectFrom('coupon_lists').selectAll().where('id', '=', id)
  const row = await lists.where('workspace_id', '=', workspaceId).executeTakeFirst()
  return row && toCouponList(row)
}

/** The lists of a workspace with these labels, in no particular order. */
export async function findCouponListsByLabel(
  store: Store,
  workspaceId: string,
  labels: readonly string[],
): Promise<StoredCouponList[]> {
  if (labels.length === 0) return []
  const wanted = store.query.selectFrom(wantedValues(store, 'label', 'text', labels)).select('wanted.label')
  const lists = store.query.selectFrom('coupon_lists').selectAll().where('workspace_id', '=', workspaceId)
  return (await lists.where('label', 'in', wanted).execute()).map(toCouponList)
}

/** Number → label of these lists. */
export async function findCouponLabels({ query }: Store, numbers: readonly number[]): Promise<Map<number, string>> {
  if (numbers.length === 0) return new Map()
  const lists = query.selectFrom('coupon_lists').select(['number', 'label']).where('number', 'in', numbers)
  return new Map((await lists.execute()).map(({ number, label }) => [number, label]))
}

/** All lists of a workspace, as a query that callers narrow. */
export function couponListsOf({ query }: Store, workspaceId: string) {
  return query.selectFrom('coupon_lists').where('workspace_id', '=', workspaceId)
}

/**
 * Lists by their numbers, locked until this transaction ends, so that no other takes, gives back or deletes their codes. Locks them
 * in the order of their numbers. A transaction that also wants `lockCouponLists` takes that lock before.
 */
export async function lockCouponListRows(
  store: Store,
  numbers: readonly number[],
): Promise<Map<number, StoredCouponList>> {
  const lists = new Map<number, StoredCouponList>()
  for (const number of [...new Set(numbers)].toSorted((left, right) => left - right)) {
    const list = store.query.selectFrom('coupon_lists').selectAll().where('number', '=', number)
    const row = await store.lockRows(list).executeTakeFirst()
    if (row) lists.set(number, toCouponList(row))
  }
  return lists
}

/** Whether a code's upload is complete, as a condition of a query. */
export function isCompleteIn({ query }: Store, listNumber: Expression<number>, id: Expression<number>) {
  const list = query
    .selectFrom('coupon_lists as list')
    .select('list.number')
    .where('list.number', '=', listNumber)
    .where('list.last_coupon_id', '>=', id)
  return expressionBuilder<Tables>().exists(list)
}

/** The number of lists of a workspace, and the bytes of their subscribers as JSON. */
export async function measureCouponLists(
  { query }: Store,
  workspaceId: string,
): Promise<{ readonly lists: number; readonly subscribersBytes: number }> {
  const row = await query
    .selectFrom('coupon_lists')
    .select((select) => [
      select.fn.countAll<number>().as('lists'),
      // Both databases take the length from the row's header, without reading the text.
      sql<number>`coalesce(sum(octet_length(email_alert_subscribers)), 0)`.as('bytes'),
    ])
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  return { lists: row.lists, subscribersBytes: row.bytes }
}

/** Those of a name and a label that another list of the workspace has. */
export async function findTakenNames(
  { query }: Store,
  workspaceId: string,
  wanted: { readonly name?: string | undefined; readonly label?: string | undefined },
): Promise<('name' | 'label')[]> {
  const taken: ('name' | 'label')[] = []
  for (const column of ['name', 'label'] as const) {
    const value = wanted[column]
    if (value === undefined) continue
    const lists = query.selectFrom('coupon_lists').select('number').where('workspace_id', '=', workspaceId)
    if (await lists.where(column, '=', value).executeTakeFirst()) taken.push(column)
  }
  return taken
}

export interface NewCouponList extends CouponListDetails {
  readonly id: string
  readonly workspaceId: string
  readonly createdAt: number
}

/** Adds a list without codes. Call it under `lockCouponLists`, after `findTakenNames`. */
export async function addCouponList(store: Store, list: NewCouponList): Promise<StoredCouponList> {
  const { query } = store
  const last = await query
    .selectFrom('coupon_lists')
    .select((select) => select.fn.max<number | null>('number').as('number'))
    .executeTakeFirstOrThrow()
  const row: CouponListRow = {
    number: (last.number ?? 0) + 1,
    id: list.id,
    workspace_id: list.workspaceId,
    label: list.label,
    created_by: list.createdBy,
    created_at: list.createdAt,
    total_coupons: 0,
    held_coupons: 0,
    issued_coupons: 0,
    available_coupons: 0,
    taken_through: 0,
    last_coupon_id: 0,
    shortage_told: 0,
    expiry_told_on: null,
    ...toChangeableColumns({ ...list, archivedAt: null, updatedAt: list.createdAt }),
  }
  await query.insertInto('coupon_lists').values(row).execute()
  return toCouponList(row)
}

/** Replaces the details of a list, but not its counts. The caller has read it under `lockCouponLists`. */
export async function saveCouponList({ query }: Store, list: StoredCouponList): Promise<void> {
  await query.updateTable('coupon_lists').set(toChangeableColumns(list)).where('number', '=', list.number).execute()
}

/** Adds new codes to the counts; codes up to `lastCouponId` count from now on. */
export async function countAddedCoupons(
  { query }: Store,
  number: number,
  added: { readonly count: number; readonly lastCouponId: number; readonly now: number },
): Promise<void> {
  await query
    .updateTable('coupon_lists')
    .set({
      total_coupons: sql`total_coupons + ${added.count}`,
      available_coupons: sql`available_coupons + ${added.count}`,
      last_coupon_id: added.lastCouponId,
      updated_at: laterOf(added.now),
    })
    .where('number', '=', number)
    .execute()
}

/** Takes deleted codes off the counts. All of them were available. */
export async function countDeletedCoupons(
  { query }: Store,
  number: number,
  deleted: { readonly count: number; readonly now: number },
): Promise<void> {
  await query
    .updateTable('coupon_lists')
    .set({
      total_coupons: sql`total_coupons - ${deleted.count}`,
      available_coupons: sql`available_coupons - ${deleted.count}`,
      updated_at: laterOf(deleted.now),
    })
    .where('number', '=', number)
    .execute()
}

/** How codes of a list change hands; each number may be negative. */
export interface CouponTransfer {
  readonly available?: number
  readonly held?: number
  readonly issued?: number
}

/** Changes the counts of a list, whose sum stays the same. `updated_at` does not change: nobody changed the list. */
export async function countTransfer({ query }: Store, number: number, transfer: CouponTransfer): Promise<void> {
  const { available = 0, held = 0, issued = 0 } = transfer
  await query
    .updateTable('coupon_lists')
    .set({
      available_coupons: sql`available_coupons + ${available}`,
      held_coupons: sql`held_coupons + ${held}`,
      issued_coupons: sql`issued_coupons + ${issued}`,
    })
    .where('number', '=', number)
    .execute()
}

/** Records how far codes of a list have been taken. The caller has locked it. */
export async function saveTakenThrough({ query }: Store, number: number, takenThrough: number): Promise<void> {
  await query.updateTable('coupon_lists').set({ taken_through: takenThrough }).where('number', '=', number).execute()
}

/** Records which alerts of a list were sent. The caller has locked it. */
export async function saveSentAlerts(
  { query }: Store,
  number: number,
  { shortage, expiryDay }: SentAlerts,
): Promise<void> {
  const told = { shortage_told: shortage === 'told' ? 1 : 0, expiry_told_on: expiryDay }
  await query.updateTable('coupon_lists').set(told).where('number', '=', number).execute()
}

/** The numbers of the lists that have subscribers and are not archived, in order, after `after`. */
export async function listAlertingLists({ query }: Store, after: number, max: number): Promise<number[]> {
  const lists = query.selectFrom('coupon_lists').select('number').where('number', '>', after)
  const alerting = lists.where('archived_at', 'is', null).where('email_alert_subscribers', '!=', '[]')
  return (await alerting.orderBy('number').limit(max).execute()).map(({ number }) => number)
}

/** Lists by their numbers, in order; those that do not exist are left out. */
export async function findCouponListsByNumber(
  { query }: Store,
  numbers: readonly number[],
): Promise<StoredCouponList[]> {
  if (numbers.length === 0) return []
  const lists = query.selectFrom('coupon_lists').selectAll().where('number', 'in', numbers)
  return (await lists.orderBy('number').execute()).map(toCouponList)
}

/** The time of a change, like `changedAt`. */
function laterOf(now: number) {
  return sql<number>`case when updated_at >= ${now} then updated_at + 1 else ${now} end`
}

function toChangeableColumns(
  list: Pick<
    CouponList,
    'name' | 'expiresAt' | 'archivedAt' | 'emailAlertSubscribers' | 'alertConditions' | 'updatedAt'
  >,
) {
  return {
    name: list.name,
    expires_at: list.expiresAt,
    archived_at: list.archivedAt,
    email_alert_subscribers: JSON.stringify(list.emailAlertSubscribers),
    alert_conditions: JSON.stringify(list.alertConditions),
    updated_at: list.updatedAt,
  }
}

export function toCouponList(row: Selectable<CouponListRow>): StoredCouponList {
  return {
    number: row.number,
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    label: row.label,
    expiresAt: row.expires_at,
    archivedAt: row.archived_at,
    totalCoupons: row.total_coupons,
    availableCoupons: row.available_coupons,
    heldCoupons: row.held_coupons,
    issuedCoupons: row.issued_coupons,
    lastCouponId: row.last_coupon_id,
    takenThrough: row.taken_through,
    createdBy: row.created_by,
    emailAlertSubscribers: JSON.parse(row.email_alert_subscribers) as string[],
    alertConditions: JSON.parse(row.alert_conditions) as AlertConditions,
    sentAlerts: { shortage: row.shortage_told === 1 ? 'told' : 'armed', expiryDay: row.expiry_told_on },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
