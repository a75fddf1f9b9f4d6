// The table of access links: set-up, invitations, new passwords. Only the hash of a link's token is stored.
import type { AccessLink, AccessLinkKind } from '../../core/accounts/access-link.ts'
import type { Role } from '../../core/accounts/role.ts'
import { normalizeEmail } from '../../core/users/email-address.ts'
import type { SqlTypes, Store } from '../store.ts'

interface AccessLinkRow {
  /** SHA-256 of the token, as lower-case hex. */
  hash: string
  kind: string
  email: string | null
  /** Normalised. */
  email_key: string | null
  role: string | null
  workspace_id: string | null
  created_at: number
  expires_at: number
}

declare module '../tables.ts' {
  interface Tables {
    access_links: AccessLinkRow
  }
}

export async function createAccessLinks({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('access_links')
    .addColumn('hash', text, (column) => column.primaryKey())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('email', text)
    .addColumn('email_key', text)
    .addColumn('role', text)
    .addColumn('workspace_id', text)
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('expires_at', integer, (column) => column.notNull())
    .execute()
  await query.schema
    .createIndex('access_links_by_workspace')
    .on('access_links')
    .columns(['workspace_id', 'created_at'])
    .execute()
}

/** A link that can be used now. */
export async function findAccessLink({ query }: Store, hash: string, now: number): Promise<AccessLink | undefined> {
  const row = await query
    .selectFrom('access_links')
    .selectAll()
    .where('hash', '=', hash)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row && toLink(row)
}

/** The invitations to a workspace that can be used now, newest first. */
export async function listInvitations({ query }: Store, workspaceId: string, now: number): Promise<AccessLink[]> {
  const rows = await query
    .selectFrom('access_links')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('kind', '=', 'invitation')
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .orderBy('hash')
    .execute()
  return rows.map(toLink)
}

/**
 * Adds a link. It replaces those of the same kind for the same address and workspace. Links for the set-up stand beside each other,
 * because several processes may start at once.
 */
export async function addAccessLink(store: Store, hash: string, link: AccessLink): Promise<void> {
  if (link.kind !== 'setup') await removeAccessLinks(store, link)
  const row: AccessLinkRow = {
    hash,
    kind: link.kind,
    email: link.email,
    email_key: link.email === null ? null : normalizeEmail(link.email),
    role: link.role,
    workspace_id: link.workspaceId,
    created_at: link.createdAt,
    expires_at: link.expiresAt,
  }
  await store.query.insertInto('access_links').values(row).execute()
}

/** Removes the links of a kind for an address and workspace. Returns how many there were. */
export async function removeAccessLinks(
  { query }: Store,
  { kind, email, workspaceId }: Pick<AccessLink, 'kind' | 'email' | 'workspaceId'>,
): Promise<number> {
  const { numDeletedRows } = await query
    .deleteFrom('access_links')
    .where('kind', '=', kind)
    .where('email_key', email === null ? 'is' : '=', email === null ? null : normalizeEmail(email))
    .where('workspace_id', workspaceId === null ? 'is' : '=', workspaceId)
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

/** When somebody has set the server up. */
export async function removeSetupLinks({ query }: Store): Promise<void> {
  await query.deleteFrom('access_links').where('kind', '=', 'setup').execute()
}

/** Uses a link up. Returns false if another request did so first. */
export async function takeAccessLink({ query }: Store, hash: string): Promise<boolean> {
  const { numDeletedRows } = await query.deleteFrom('access_links').where('hash', '=', hash).executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Deletes the links that have expired. There are few: `INVITATIONS_MAX` limits those of a workspace. */
export async function forgetAccessLinks({ query }: Store, now: number): Promise<void> {
  await query.deleteFrom('access_links').where('expires_at', '<=', now).execute()
}

function toLink(row: AccessLinkRow): AccessLink {
  return {
    kind: row.kind as AccessLinkKind,
    email: row.email,
    role: row.role as Role | null,
    workspaceId: row.workspace_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}
