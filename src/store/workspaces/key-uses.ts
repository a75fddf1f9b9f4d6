// The table of key uses: when each API key was last used. One row for each key that was used, by its hash.
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'

interface KeyUseRow {
  workspace_id: string
  key_hash: string
  used_at: number
}

declare module '../tables.ts' {
  interface Tables {
    key_uses: KeyUseRow
  }
}

export interface KeyUse {
  readonly workspaceId: string
  readonly keyHash: string
  readonly usedAt: number
}

export async function createKeyUses({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('key_uses')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('key_hash', text, (column) => column.notNull())
    .addColumn('used_at', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('key_uses_key', ['workspace_id', 'key_hash'])
    .modifyEnd(clustered)
    .execute()
}

const COLUMNS = { workspace_id: 'text', key_hash: 'text', used_at: 'integer' } as const

/** Each key may occur only once. A later use that is stored already stays, because several processes store uses. */
export async function saveKeyUses(store: Store, uses: readonly KeyUse[]): Promise<void> {
  const rows = uses.map(({ workspaceId, keyHash, usedAt }) => {
    return { workspace_id: workspaceId, key_hash: keyHash, used_at: usedAt }
  })
  await insertRows(store, 'key_uses', { columns: COLUMNS, rows, orderBy: ['workspace_id', 'key_hash'] })
    .onConflict((conflict) =>
      conflict
        .columns(['workspace_id', 'key_hash'])
        .doUpdateSet((row) => ({ used_at: row.ref('excluded.used_at') }))
        .whereRef('excluded.used_at', '>', 'key_uses.used_at'),
    )
    .execute()
}

/** Hash of a key → when it was last used. */
export async function findKeyUses({ query }: Store, workspaceId: string): Promise<ReadonlyMap<string, number>> {
  const uses = query.selectFrom('key_uses').select(['key_hash', 'used_at']).where('workspace_id', '=', workspaceId)
  return new Map((await uses.execute()).map(({ key_hash, used_at }) => [key_hash, used_at]))
}

/** Forgets the uses of all keys of a workspace but these. */
export async function forgetOtherUses({ query }: Store, workspaceId: string, kept: readonly string[]): Promise<void> {
  const uses = query.deleteFrom('key_uses').where('workspace_id', '=', workspaceId)
  await uses.where('key_hash', 'not in', kept).execute()
}
