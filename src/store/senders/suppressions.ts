// The table of suppressions: addresses that must not be sent to.
import { sql, type Selectable } from 'kysely'
import {
  isStronger,
  SUPPRESSION_REASONS,
  type Suppression,
  type SuppressionReason,
} from '../../core/delivery/suppression.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'

interface SuppressionRow {
  workspace_id: string
  /** As `users.email_key`: the normalised address, or its keyed hash where emails are encrypted. */
  email_key: string
  /** The address as it is shown; encrypted where emails are. Null where only its keyed hash is known. */
  email: string | null
  reason: string
  since: number
  /** What shows the reason, such as the reply of a server. */
  evidence: string | null
}

declare module '../tables.ts' {
  interface Tables {
    suppressions: SuppressionRow
  }
}

export async function createSuppressions({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('suppressions')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('email_key', text, (column) => column.notNull())
    .addColumn('email', text)
    .addColumn('reason', text, (column) => column.notNull())
    .addColumn('since', integer, (column) => column.notNull())
    .addColumn('evidence', text)
    .addPrimaryKeyConstraint('suppressions_key', ['workspace_id', 'email_key'])
    .modifyEnd(clustered)
    .execute()
  const index = query.schema.createIndex.bind(query.schema)
  // For pages of the list, and for those of one reason.
  await index('suppressions_by_time').on('suppressions').columns(['workspace_id', 'since', 'email_key']).execute()
  await index('suppressions_by_reason')
    .on('suppressions')
    .columns(['workspace_id', 'reason', 'since', 'email_key'])
    .execute()
}

/** The suppressions of those of the addresses that have one, by email key. */
export async function findSuppressions(
  store: Store,
  workspaceId: string,
  emailKeys: readonly string[],
): Promise<Map<string, Suppression>> {
  if (emailKeys.length === 0) return new Map()
  const wanted = store.query.selectFrom(wantedValues(store, 'email_key', 'text', emailKeys)).select('wanted.email_key')
  const rows = await suppressionRows(store, workspaceId).where('suppression.email_key', 'in', wanted).execute()
  return new Map(rows.map((row) => [row.email_key, toSuppression(row)]))
}

/** The suppressions of a workspace, as a query that callers narrow or join. */
export function suppressionRows({ query }: Store, workspaceId: string) {
  return query
    .selectFrom('suppressions as suppression')
    .selectAll('suppression')
    .where('suppression.workspace_id', '=', workspaceId)
}

/** The place of a suppression in the list. */
export type SuppressionKey = Pick<Suppression, 'since' | 'emailKey'>

/** At most `max` suppressions, newest first, behind the one with the key `before`. */
export async function listSuppressionPage(
  store: Store,
  workspaceId: string,
  page: {
    readonly reason?: SuppressionReason | undefined
    readonly before: SuppressionKey | undefined
    readonly max: number
  },
): Promise<Suppression[]> {
  const { reason, before, max } = page
  const all = suppressionRows(store, workspaceId)
  const some = reason === undefined ? all : all.where('suppression.reason', '=', reason)
  const rest = before
    ? some.where((where) => {
        const key = where.refTuple('suppression.since', 'suppression.email_key')
        return where.eb(key, '<', where.tuple(before.since, before.emailKey))
      })
    : some
  const ordered = rest.orderBy('suppression.since', 'desc').orderBy('suppression.email_key', 'desc')
  return (await ordered.limit(max).execute()).map(toSuppression)
}

/** At most `max` suppressions in the order of their email keys, behind the key `after`. For exports. */
export async function listSuppressionsAfter(
  store: Store,
  workspaceId: string,
  { after, max }: { readonly after: string; readonly max: number },
): Promise<Suppression[]> {
  const rows = suppressionRows(store, workspaceId).where('suppression.email_key', '>', after)
  return (await rows.orderBy('suppression.email_key').limit(max).execute()).map(toSuppression)
}

const COLUMNS = {
  workspace_id: 'text',
  email_key: 'text',
  email: 'text',
  reason: 'text',
  since: 'integer',
  evidence: 'text',
} as const

/**
 * Suppresses addresses. Of two reasons for one address the stronger stays, of equal ones the first. Returns the email keys of the
 * suppressions that are new or became stronger, of all workspaces.
 */
export async function addSuppressions(store: Store, suppressions: readonly Suppression[]): Promise<string[]> {
  if (suppressions.length === 0) return []
  const rows = strongest(suppressions).map(toRow)
  const added = await insertRows(store, 'suppressions', {
    columns: COLUMNS,
    rows,
    orderBy: ['workspace_id', 'email_key'],
  })
    .onConflict((conflict) =>
      conflict
        .columns(['workspace_id', 'email_key'])
        .doUpdateSet((set) => ({
          email: set.fn.coalesce('excluded.email', 'suppressions.email'),
          reason: set.ref('excluded.reason'),
          since: set.ref('excluded.since'),
          evidence: set.ref('excluded.evidence'),
        }))
        .where(sql<boolean>`${rankOf('excluded.reason')} < ${rankOf('suppressions.reason')}`),
    )
    .returning('suppressions.email_key')
    .execute()
  return added.map(({ email_key: key }) => key)
}

/** One statement must not change a row twice. */
function strongest(suppressions: readonly Suppression[]): Suppression[] {
  const byAddress = new Map<string, Suppression>()
  for (const suppression of suppressions) {
    const key = `${suppression.workspaceId}\0${suppression.emailKey}`
    const other = byAddress.get(key)
    if (!other || isStronger(suppression.reason, other.reason)) byAddress.set(key, suppression)
  }
  return [...byAddress.values()]
}

/** The smaller, the stronger. */
function rankOf(column: string) {
  const ranks = SUPPRESSION_REASONS.map((reason, rank) => sql`when ${sql.lit(reason)} then ${sql.lit(rank)}`)
  return sql`case ${sql.ref(column)} ${sql.join(ranks, sql` `)} end`
}

/** Whether the address was suppressed. Its soft bounces begin again: see `removeSoftBounces`. */
export async function deleteSuppression(store: Store, workspaceId: string, emailKey: string): Promise<boolean> {
  const deleted = await store.query
    .deleteFrom('suppressions')
    .where('workspace_id', '=', workspaceId)
    .where('email_key', '=', emailKey)
    .executeTakeFirst()
  return deleted.numDeletedRows > 0n
}

function toSuppression(row: Selectable<SuppressionRow>): Suppression {
  return {
    workspaceId: row.workspace_id,
    emailKey: row.email_key,
    email: row.email,
    reason: row.reason as SuppressionReason,
    since: row.since,
    evidence: row.evidence,
  }
}

function toRow(suppression: Suppression): SuppressionRow {
  return {
    workspace_id: suppression.workspaceId,
    email_key: suppression.emailKey,
    email: suppression.email,
    reason: suppression.reason,
    since: suppression.since,
    evidence: suppression.evidence,
  }
}
