// The table of idempotency keys for the log in NATS, which cannot store keys in one transaction with entries. The logs in SQLite
// and PostgreSQL have such tables of their own and do not use this one.
import { sql } from 'kysely'
import { insertRows } from '../insert-rows.ts'
import type { Database, SqlTypes, Store } from '../store.ts'

export const PUBLISHED_KEYS_TABLE = 'published_keys'
const FORGOTTEN_PER_STEP_MAX = 2_000

interface PublishedKeyRow {
  workspace_id: string
  key: string
  hash: string
  request_id: string
  received_at: number
  /** 0 once the key is claimed, 1 once the request is in the log. */
  is_published: number
}

declare module '../tables.ts' {
  interface Tables {
    published_keys: PublishedKeyRow
  }
}

export interface IdempotencyKey {
  readonly workspaceId: string
  readonly key: string
  readonly hash: string
  readonly requestId: string
  readonly receivedAt: number
}

export interface HeldIdempotencyKey {
  readonly hash: string
  readonly requestId: string
  readonly isPublished: boolean
}

export async function createIdempotencyKeys({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('published_keys')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('key', text, (column) => column.notNull())
    .addColumn('hash', text, (column) => column.notNull())
    .addColumn('request_id', text, (column) => column.notNull())
    .addColumn('received_at', integer, (column) => column.notNull())
    .addColumn('is_published', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('published_keys_by_name', [...KEY])
    .modifyEnd(clustered)
    .execute()
  await query.schema.createIndex('published_keys_by_age').on('published_keys').column('received_at').execute()
}

const KEY = ['workspace_id', 'key'] as const
const COLUMNS = {
  workspace_id: 'text',
  key: 'text',
  hash: 'text',
  request_id: 'text',
  received_at: 'integer',
  is_published: 'integer',
} as const

/** The keys for the log in NATS. Each call is one transaction. */
export function idempotencyKeysIn(database: Database) {
  return {
    claim: (claims: readonly IdempotencyKey[], keptMs: number) => {
      return database.write((store) => claimKeys(store, claims, keptMs))
    },
    markPublished: (claims: readonly IdempotencyKey[]) => {
      return database.write((store) => markPublished(store, claims))
    },
    forget: (receivedBefore: number) => database.write((store) => forgetKeys(store, receivedBefore)),
  }
}

/**
 * Gives each key to its claim, unless a request received less than `keptMs` earlier holds it. Returns the holder of each key, in
 * the order of the claims. All keys must differ.
 */
async function claimKeys(
  store: Store,
  claims: readonly IdempotencyKey[],
  keptMs: number,
): Promise<HeldIdempotencyKey[]> {
  // All processes claim in the same order, so that no two deadlock.
  const rows = claims.map(toRow).toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1))
  await insertRows(store, 'published_keys', { columns: COLUMNS, rows })
    .onConflict((conflict) =>
      conflict
        .columns([...KEY])
        .doUpdateSet((set) => ({
          hash: set.ref('excluded.hash'),
          request_id: set.ref('excluded.request_id'),
          received_at: set.ref('excluded.received_at'),
          is_published: set.ref('excluded.is_published'),
        }))
        .where(sql<boolean>`published_keys.received_at <= excluded.received_at - ${sql.lit(keptMs)}`),
    )
    .execute()
  const wanted = store.rowsOf('wanted', { workspace_id: 'text', key: 'text' }, rows.map(toName))
  const held = await store.query
    .selectFrom('published_keys')
    .innerJoin(wanted, (join) =>
      join
        .onRef('wanted.workspace_id', '=', 'published_keys.workspace_id')
        .onRef('wanted.key', '=', 'published_keys.key'),
    )
    .selectAll('published_keys')
    .execute()
  const holders = new Map(held.map((row) => [nameOf(row), row]))
  return claims.map((claim) => toHeld(holders.get(nameOf(toRow(claim))) as PublishedKeyRow))
}

/** Marks the keys of these claims as published. Skips a key that another request holds by now. */
async function markPublished(store: Store, claims: readonly IdempotencyKey[]): Promise<void> {
  const wanted = { workspace_id: 'text', key: 'text', request_id: 'text' } as const
  const rows = claims.map((claim) => ({ ...toName(toRow(claim)), request_id: claim.requestId }))
  const columns = [...KEY, 'request_id'] as const
  await store.query
    .updateTable('published_keys')
    .set({ is_published: 1 })
    .where((row) => {
      const published = row
        .selectFrom(store.rowsOf('published', wanted, rows))
        .select(columns)
        .$asTuple(...columns)
      return row(row.refTuple(...columns), 'in', published)
    })
    .execute()
}

/** Deletes a bounded number of keys received before an instant; true when there may be more. */
async function forgetKeys({ query }: Store, receivedBefore: number): Promise<boolean> {
  const deleted = await query
    .deleteFrom('published_keys')
    .where((row) => {
      const old = row
        .selectFrom('published_keys')
        .select([...KEY])
        .where('received_at', '<', receivedBefore)
      return row(row.refTuple(...KEY), 'in', old.limit(FORGOTTEN_PER_STEP_MAX).$asTuple(...KEY))
    })
    .executeTakeFirst()
  return Number(deleted.numDeletedRows) >= FORGOTTEN_PER_STEP_MAX
}

function toRow(claim: IdempotencyKey): PublishedKeyRow {
  return {
    workspace_id: claim.workspaceId,
    key: claim.key,
    hash: claim.hash,
    request_id: claim.requestId,
    received_at: claim.receivedAt,
    is_published: 0,
  }
}

function toName({ workspace_id, key }: PublishedKeyRow): Pick<PublishedKeyRow, 'workspace_id' | 'key'> {
  return { workspace_id, key }
}

function toHeld({ hash, request_id, is_published }: PublishedKeyRow): HeldIdempotencyKey {
  return { hash, requestId: request_id, isPublished: is_published === 1 }
}

function nameOf({ workspace_id, key }: Pick<PublishedKeyRow, 'workspace_id' | 'key'>): string {
  return `${workspace_id}\n${key}`
}
