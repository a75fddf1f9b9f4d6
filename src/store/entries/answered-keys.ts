// The table of idempotency keys of requests that create something in the tables. A key is saved with the answer, in the transaction
// that creates. Requests that go through the log have their keys there.
import { sql, type Selectable } from 'kysely'
import type { SqlTypes, Store } from '../store.ts'

const FORGOTTEN_PER_STEP_MAX = 2_000

interface AnsweredKeyRow {
  workspace_id: string
  key: string
  hash: string
  request_id: string
  /** JSON. */
  answer: string
  received_at: number
}

declare module '../tables.ts' {
  interface Tables {
    answered_keys: AnsweredKeyRow
  }
}

export interface AnsweredKey {
  readonly workspaceId: string
  readonly key: string
  /** Of the request. */
  readonly hash: string
  readonly requestId: string
  readonly answer: unknown
  readonly receivedAt: number
}

const KEY = ['workspace_id', 'key'] as const

export async function createAnsweredKeys({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('answered_keys')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('key', text, (column) => column.notNull())
    .addColumn('hash', text, (column) => column.notNull())
    .addColumn('request_id', text, (column) => column.notNull())
    .addColumn('answer', text, (column) => column.notNull())
    .addColumn('received_at', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('answered_keys_by_name', [...KEY])
    .execute()
  await query.schema.createIndex('answered_keys_by_age').on('answered_keys').column('received_at').execute()
}

/** The key as the last request used it, however long ago; undefined if it was never used or is forgotten. */
export async function findAnsweredKey(
  { query }: Store,
  workspaceId: string,
  key: string,
): Promise<AnsweredKey | undefined> {
  const keys = query.selectFrom('answered_keys').selectAll().where('workspace_id', '=', workspaceId)
  const row = await keys.where('key', '=', key).executeTakeFirst()
  return row && toAnsweredKey(row)
}

/** Saves a key. False if a request received less than `keptMs` earlier holds it. */
export async function saveAnsweredKey({ query }: Store, key: AnsweredKey, keptMs: number): Promise<boolean> {
  const saved = await query
    .insertInto('answered_keys')
    .values({
      workspace_id: key.workspaceId,
      key: key.key,
      hash: key.hash,
      request_id: key.requestId,
      answer: JSON.stringify(key.answer),
      received_at: key.receivedAt,
    })
    .onConflict((conflict) =>
      conflict
        .columns([...KEY])
        .doUpdateSet((set) => ({
          hash: set.ref('excluded.hash'),
          request_id: set.ref('excluded.request_id'),
          answer: set.ref('excluded.answer'),
          received_at: set.ref('excluded.received_at'),
        }))
        .where(sql<boolean>`answered_keys.received_at <= excluded.received_at - ${sql.lit(keptMs)}`),
    )
    .executeTakeFirst()
  return Number(saved.numInsertedOrUpdatedRows ?? 0) > 0
}

/** Deletes a bounded number of keys received before an instant; true when there may be more. */
export async function forgetAnsweredKeys({ query }: Store, receivedBefore: number): Promise<boolean> {
  const deleted = await query
    .deleteFrom('answered_keys')
    .where((row) => {
      const old = row
        .selectFrom('answered_keys')
        .select([...KEY])
        .where('received_at', '<', receivedBefore)
      return row(row.refTuple(...KEY), 'in', old.limit(FORGOTTEN_PER_STEP_MAX).$asTuple(...KEY))
    })
    .executeTakeFirst()
  return Number(deleted.numDeletedRows) >= FORGOTTEN_PER_STEP_MAX
}

function toAnsweredKey(row: Selectable<AnsweredKeyRow>): AnsweredKey {
  return {
    workspaceId: row.workspace_id,
    key: row.key,
    hash: row.hash,
    requestId: row.request_id,
    answer: JSON.parse(row.answer) as unknown,
    receivedAt: row.received_at,
  }
}
