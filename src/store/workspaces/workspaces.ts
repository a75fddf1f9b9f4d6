// The tables of workspaces: their settings and the hashes of their API keys. Keys themselves are never stored.
import { randomBytes } from 'node:crypto'
import { sql, type Selectable } from 'kysely'
import { DELIVERY_SETTING_DEFAULTS, type DeliverySettings } from '../../core/delivery/delivery-settings.ts'
import {
  DEFAULT_SETTINGS,
  LIMIT_DEFAULTS,
  type Limits,
  type Workspace,
  type WorkspaceSettings,
} from '../../core/workspace.ts'
import type { SqlTypes, Store } from '../store.ts'
import type { ApiKey, ApiKeys } from './api-key.ts'

/** The length of `global_control_seed` and `link_key`. */
const SECRET_BYTES = 32

interface WorkspaceRow {
  id: string
  name: string
  timezone: string
  suspended: number
  email_protection: string
  identity_resolution: string
  project_codes: string
  categories: string
  clock_skew_seconds: number
  /** Null: events are kept for ever. */
  event_retention_days: number | null
  /** Null for the default, so that a new default applies to workspaces that never changed it. */
  joined_customer_ids_max: number | null
  /** JSON of the settings of delivery that differ from the defaults. */
  delivery: string
  /** Of the hashes that decide the global control group. Never changes. */
  global_control_seed: string
  /** Signs the tokens in links of messages. Never changes, because sent messages have these links. */
  link_key: string
  /** JSON of the limits that differ from the defaults, so that a new default applies to workspaces that never changed it. */
  limits: string
  data_key_hash: string
  reports_key_hash: string
  /** JSON of what is known of each key besides its hash: tile → `KeyDetails`. */
  key_details: string
  created_at: number
  /** Grows with each change of any workspace, in the order of commits. */
  revision: number
}

declare module '../tables.ts' {
  interface Tables {
    workspaces: WorkspaceRow
    /** One row: the last revision. Its row lock makes transactions commit in the order of revisions. */
    workspace_revisions: { only: number; revision: number }
  }
}

type KeyDetails = Omit<ApiKey, 'hash'>

export interface StoredWorkspace {
  readonly workspace: Workspace
  readonly keys: ApiKeys
  readonly revision: number
}

export async function createWorkspaces({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('workspaces')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('timezone', text, (column) => column.notNull())
    .addColumn('suspended', integer, (column) => column.notNull())
    .addColumn('email_protection', text, (column) => column.notNull())
    .addColumn('identity_resolution', text, (column) => column.notNull())
    .addColumn('project_codes', text, (column) => column.notNull())
    .addColumn('categories', text, (column) => column.notNull())
    .addColumn('clock_skew_seconds', integer, (column) => column.notNull())
    .addColumn('limits', text, (column) => column.notNull())
    .addColumn('data_key_hash', text, (column) => column.notNull())
    .addColumn('reports_key_hash', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('revision', integer, (column) => column.notNull())
    .execute()
  await query.schema.createIndex('workspaces_by_revision').on('workspaces').column('revision').execute()
  await query.schema
    .createTable('workspace_revisions')
    .addColumn('only', integer, (column) => column.primaryKey())
    .addColumn('revision', integer, (column) => column.notNull())
    .execute()
  await query.insertInto('workspace_revisions').values({ only: 1, revision: 0 }).execute()
}

/** For tables of the first version. */
export async function addEventRetention({ query }: Store, { integer }: SqlTypes): Promise<void> {
  await query.schema.alterTable('workspaces').addColumn('event_retention_days', integer).execute()
}

/** Older workspaces have the default. */
export async function addJoinedCustomerIdsMax({ query }: Store, { integer }: SqlTypes): Promise<void> {
  await query.schema.alterTable('workspaces').addColumn('joined_customer_ids_max', integer).execute()
}

/** Each older workspace gets secrets of its own. */
export async function addDeliverySettings({ query }: Store, { text }: SqlTypes): Promise<void> {
  for (const [name, value] of [
    ['delivery', '{}'],
    ['global_control_seed', ''],
    ['link_key', ''],
  ] as const) {
    await query.schema
      .alterTable('workspaces')
      .addColumn(name, text, (column) => column.notNull().defaultTo(sql.lit(value)))
      .execute()
  }
  for (const { id } of await query.selectFrom('workspaces').select('id').execute()) {
    await query.updateTable('workspaces').set(newSecrets()).where('id', '=', id).execute()
  }
}

/** Nothing is known of older keys. */
export async function addKeyDetails({ query }: Store, { text }: SqlTypes): Promise<void> {
  await query.schema
    .alterTable('workspaces')
    .addColumn('key_details', text, (column) => column.notNull().defaultTo(sql.lit('{}')))
    .execute()
}

function newSecrets() {
  return {
    global_control_seed: randomBytes(SECRET_BYTES).toString('base64url'),
    link_key: randomBytes(SECRET_BYTES).toString('base64url'),
  }
}

/** Of `Workspace`; its secrets are made here. */
export type AddedWorkspace = WorkspaceSettings & Pick<Workspace, 'id' | 'createdAt'>

/** Adds a workspace. Throws StoreError `unique` if the id is taken. */
export async function addWorkspace(store: Store, workspace: AddedWorkspace, keys: ApiKeys): Promise<void> {
  const row: WorkspaceRow = {
    id: workspace.id,
    ...toSettingsRow(workspace),
    ...newSecrets(),
    ...toKeysRow(keys),
    created_at: workspace.createdAt,
    revision: await nextRevision(store),
  }
  await store.query.insertInto('workspaces').values(row).execute()
}

/** Replaces all settings. The caller has read them in the same transaction, under `lockWorkspaces`. */
export async function saveSettings(store: Store, id: string, settings: WorkspaceSettings): Promise<void> {
  const row = { ...toSettingsRow(settings), revision: await nextRevision(store) }
  await store.query.updateTable('workspaces').set(row).where('id', '=', id).execute()
}

/** Replaces all keys. The caller has read them in the same transaction, under `lockWorkspaces`. */
export async function saveKeys(store: Store, id: string, keys: ApiKeys): Promise<void> {
  const row = { ...toKeysRow(keys), revision: await nextRevision(store) }
  await store.query.updateTable('workspaces').set(row).where('id', '=', id).execute()
}

/** Locks all workspaces against changes until this transaction ends. */
export async function lockWorkspaces(store: Store): Promise<void> {
  await nextRevision(store)
}

export async function findWorkspace({ query }: Store, id: string): Promise<StoredWorkspace | undefined> {
  const row = await query.selectFrom('workspaces').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toStored(row)
}

/** The active email preference categories of a workspace, from the table and not from a cache. */
export async function findCategories({ query }: Store, id: string): Promise<ReadonlySet<string>> {
  const row = await query.selectFrom('workspaces').select('categories').where('id', '=', id).executeTakeFirst()
  return new Set(row && (JSON.parse(row.categories) as string[]))
}

/** Workspace id → its revision; workspaces that do not exist are left out. */
export async function findRevisions({ query }: Store, ids: readonly string[]): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await query.selectFrom('workspaces').select(['id', 'revision']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, revision }) => [id, revision]))
}

/** All workspaces, oldest first, without pages: operators create few of them. */
export async function listWorkspaces({ query }: Store): Promise<StoredWorkspace[]> {
  const rows = await query.selectFrom('workspaces').selectAll().orderBy('created_at').orderBy('id').execute()
  return rows.map(toStored)
}

/** The workspaces that changed after a revision, in the order of the changes. */
export async function listWorkspacesChangedSince({ query }: Store, revision: number): Promise<StoredWorkspace[]> {
  const changed = query.selectFrom('workspaces').selectAll().where('revision', '>', revision)
  return (await changed.orderBy('revision').execute()).map(toStored)
}

async function nextRevision({ query }: Store): Promise<number> {
  const { revision } = await query
    .updateTable('workspace_revisions')
    .set({ revision: sql`revision + 1` })
    .returning('revision')
    .executeTakeFirstOrThrow()
  return revision
}

function toKeysRow({ data, reports }: ApiKeys) {
  return {
    data_key_hash: data.hash,
    reports_key_hash: reports.hash,
    key_details: JSON.stringify({ data: detailsOf(data), reports: detailsOf(reports) }),
  }
}

function detailsOf({ createdAt, createdBy, previous }: ApiKey): KeyDetails {
  return { createdAt, createdBy, previous }
}

function toSettingsRow(settings: WorkspaceSettings) {
  const limits = Object.entries(settings.limits).filter(
    ([name, units]) => units !== LIMIT_DEFAULTS[name as keyof Limits],
  )
  const { joinedCustomerIdsMax: joinedMax } = settings
  return {
    name: settings.name,
    timezone: settings.timezone,
    suspended: settings.suspended ? 1 : 0,
    email_protection: settings.emailProtection,
    identity_resolution: JSON.stringify(settings.identityResolution),
    project_codes: JSON.stringify(settings.projectCodes),
    categories: JSON.stringify(settings.categories),
    clock_skew_seconds: settings.clockSkewSeconds,
    event_retention_days: settings.eventRetentionDays,
    joined_customer_ids_max: joinedMax === DEFAULT_SETTINGS.joinedCustomerIdsMax ? null : joinedMax,
    delivery: JSON.stringify(Object.fromEntries(changedDelivery(settings))),
    limits: JSON.stringify(Object.fromEntries(limits)),
  }
}

function changedDelivery(settings: DeliverySettings): (readonly [string, unknown])[] {
  return Object.entries(DELIVERY_SETTING_DEFAULTS).flatMap(([name, byDefault]) => {
    const value = settings[name as keyof DeliverySettings]
    return JSON.stringify(value) === JSON.stringify(byDefault) ? [] : [[name, value] as const]
  })
}

function toStored(row: Selectable<WorkspaceRow>): StoredWorkspace {
  const workspace: Workspace = {
    id: row.id,
    name: row.name,
    timezone: row.timezone,
    suspended: row.suspended === 1,
    emailProtection: row.email_protection as Workspace['emailProtection'],
    identityResolution: JSON.parse(row.identity_resolution) as string[],
    projectCodes: JSON.parse(row.project_codes) as string[],
    categories: JSON.parse(row.categories) as string[],
    joinedCustomerIdsMax: row.joined_customer_ids_max ?? DEFAULT_SETTINGS.joinedCustomerIdsMax,
    clockSkewSeconds: row.clock_skew_seconds,
    eventRetentionDays: row.event_retention_days,
    ...DELIVERY_SETTING_DEFAULTS,
    ...(JSON.parse(row.delivery) as Partial<DeliverySettings>),
    limits: { ...LIMIT_DEFAULTS, ...(JSON.parse(row.limits) as Partial<Limits>) },
    createdAt: row.created_at,
    globalControlSeed: row.global_control_seed,
    linkKey: row.link_key,
  }
  return { workspace, keys: toKeys(row), revision: row.revision }
}

const NOTHING_KNOWN: KeyDetails = { createdAt: null, createdBy: null, previous: null }

function toKeys({ data_key_hash, reports_key_hash, key_details }: Selectable<WorkspaceRow>): ApiKeys {
  const details = JSON.parse(key_details) as { readonly [tile in keyof ApiKeys]?: KeyDetails }
  return {
    data: { ...NOTHING_KNOWN, ...details.data, hash: data_key_hash },
    reports: { ...NOTHING_KNOWN, ...details.reports, hash: reports_key_hash },
  }
}
