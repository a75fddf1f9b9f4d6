// The table of senders: from whom messages come, and through which SMTP server they go. A deleted sender keeps its row without its
// secrets, so that its number, which runs refer to, is never used again.
import type { Selectable } from 'kysely'
import {
  SENDER_LIMIT_DEFAULTS,
  type DkimName,
  type Sender,
  type SenderDetails,
  type SenderLimits,
  type SmtpServer,
} from '../../core/senders/sender.ts'
import type { SqlTypes, Store } from '../store.ts'

/** The most senders of a workspace: the listing returns all of them. */
export const SENDERS_MAX = 100

interface SenderRow {
  number: number
  id: string
  workspace_id: string
  name: string
  from_email: string
  from_name: string
  reply_to: string | null
  return_path_domain: string | null
  /** JSON of host, port, security and user name. */
  smtp: string
  /** Encrypted. */
  smtp_password: string | null
  /** JSON of domain and selector. */
  dkim: string | null
  /** The private key, encrypted. */
  dkim_key: string | null
  /** JSON of the limits that differ from the defaults, so that a new default applies to the others. */
  limits: string
  tracking_url: string | null
  created_at: number
  updated_at: number
  deleted_at: number | null
}

declare module '../tables.ts' {
  interface Tables {
    senders: SenderRow
  }
}

/** A sender's secrets, as `sender-secrets.ts` seals and opens them. */
export interface SealedSecrets {
  readonly sealedPassword: string | null
  readonly sealedDkimKey: string | null
}

export interface StoredSender extends Sender, SealedSecrets {}

export async function createSenders({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('senders')
    .addColumn('number', integer, (column) => column.primaryKey())
    .addColumn('id', text, (column) => column.notNull().unique())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('from_email', text, (column) => column.notNull())
    .addColumn('from_name', text, (column) => column.notNull())
    .addColumn('reply_to', text)
    .addColumn('return_path_domain', text)
    .addColumn('smtp', text, (column) => column.notNull())
    .addColumn('smtp_password', text)
    .addColumn('dkim', text)
    .addColumn('dkim_key', text)
    .addColumn('limits', text, (column) => column.notNull())
    .addColumn('tracking_url', text)
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .addColumn('deleted_at', integer)
    .execute()
  await query.schema.createIndex('senders_by_workspace').on('senders').columns(['workspace_id', 'number']).execute()
}

/** Locks all senders until this transaction ends. */
export async function lockSenders(store: Store): Promise<void> {
  await store.lock('senders')
}

/** Keeps all senders from being changed or deleted until this transaction ends; others may keep them at the same time. */
export async function keepSenders(store: Store): Promise<void> {
  await store.lockShared('senders')
}

/** Undefined if this workspace has no such sender, even if another one has. */
export async function findSender(store: Store, workspaceId: string, id: string): Promise<StoredSender | undefined> {
  const row = await present(store).where('id', '=', id).where('workspace_id', '=', workspaceId).executeTakeFirst()
  return row && toSender(row)
}

/** Undefined if there is no such sender, or it was deleted. */
export async function findSenderByNumber(store: Store, number: number): Promise<StoredSender | undefined> {
  const row = await present(store).where('number', '=', number).executeTakeFirst()
  return row && toSender(row)
}

/** All senders of a workspace, newest first. `SENDERS_MAX` limits them. */
export async function listSendersOf(store: Store, workspaceId: string): Promise<StoredSender[]> {
  const rows = await present(store).where('workspace_id', '=', workspaceId).orderBy('number', 'desc').execute()
  return rows.map(toSender)
}

/** Secrets of senders of any workspace, to find out whether a key opens them. */
export async function findSomeSealedSender(store: Store): Promise<StoredSender | undefined> {
  const row = await present(store)
    .where((where) => where.or([where('smtp_password', 'is not', null), where('dkim_key', 'is not', null)]))
    .orderBy('number', 'desc')
    .executeTakeFirst()
  return row && toSender(row)
}

export interface NewSender extends SenderDetails, SealedSecrets {
  readonly id: string
  readonly workspaceId: string
  readonly createdAt: number
}

/** Call it under `lockSenders`. */
export async function addSender(store: Store, sender: NewSender): Promise<StoredSender> {
  const { query } = store
  const last = await query
    .selectFrom('senders')
    .select((select) => select.fn.max<number | null>('number').as('number'))
    .executeTakeFirstOrThrow()
  const row: SenderRow = {
    number: (last.number ?? 0) + 1,
    id: sender.id,
    workspace_id: sender.workspaceId,
    created_at: sender.createdAt,
    deleted_at: null,
    ...toChangeableColumns({ ...sender, updatedAt: sender.createdAt }),
  }
  await query.insertInto('senders').values(row).execute()
  return toSender(row)
}

/** The caller has read it under `lockSenders`. */
export async function saveSender({ query }: Store, sender: StoredSender): Promise<void> {
  await query.updateTable('senders').set(toChangeableColumns(sender)).where('number', '=', sender.number).execute()
}

/** Deletes a sender, and its secrets for good. Call it under `lockSenders`. */
export async function removeSender({ query }: Store, number: number, now: number): Promise<void> {
  const gone = { smtp_password: null, dkim_key: null, deleted_at: now }
  await query.updateTable('senders').set(gone).where('number', '=', number).execute()
}

function present({ query }: Store) {
  return query.selectFrom('senders').selectAll().where('deleted_at', 'is', null)
}

function toChangeableColumns(sender: SenderDetails & SealedSecrets & Pick<Sender, 'updatedAt'>) {
  const given = Object.entries(sender.limits).filter(
    ([name, value]) => value !== SENDER_LIMIT_DEFAULTS[name as keyof SenderLimits],
  )
  return {
    name: sender.name,
    from_email: sender.fromEmail,
    from_name: sender.fromName,
    reply_to: sender.replyTo,
    return_path_domain: sender.returnPathDomain,
    smtp: JSON.stringify(sender.smtp),
    smtp_password: sender.sealedPassword,
    dkim: sender.dkim && JSON.stringify(sender.dkim),
    dkim_key: sender.sealedDkimKey,
    limits: JSON.stringify(Object.fromEntries(given)),
    tracking_url: sender.trackingUrl,
    updated_at: sender.updatedAt,
  }
}

function toSender(row: Selectable<SenderRow>): StoredSender {
  return {
    number: row.number,
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    fromEmail: row.from_email,
    fromName: row.from_name,
    replyTo: row.reply_to,
    returnPathDomain: row.return_path_domain,
    smtp: JSON.parse(row.smtp) as SmtpServer,
    sealedPassword: row.smtp_password,
    dkim: row.dkim === null ? null : (JSON.parse(row.dkim) as DkimName),
    sealedDkimKey: row.dkim_key,
    limits: { ...SENDER_LIMIT_DEFAULTS, ...(JSON.parse(row.limits) as Partial<SenderLimits>) },
    trackingUrl: row.tracking_url,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
