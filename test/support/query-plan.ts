// Reads how a database would carry out a query, so that tests can demand an index for every search on both stores.
import { CompiledQuery, sql, type Compilable } from 'kysely'
import { expect } from 'vitest'
import type { Database, Store } from '../../src/store/store.ts'

/** One access to one table. */
export interface TableAccess {
  /** The table's name in the query: its alias where it has one. */
  readonly table: string
  /** Null where the table is read as a whole. */
  readonly index: string | null
  /** What the index narrows by, in the words of the database; empty where an index is read from end to end. */
  readonly condition: string
}

export interface QueryPlan {
  /** Only tables: lists given as parameters and results of inner queries are left out. */
  readonly accesses: readonly TableAccess[]
  /** Whether the order is made wholly or partly by sorting; in PostgreSQL, whether there is no other way. */
  readonly sorts: boolean
  /** The plan as the database tells it, for the message of a failed test. */
  readonly text: string
}

/**
 * The plan of a query. PostgreSQL reads small tables as a whole however good their indexes are, so it is told to do that only
 * where there is no other way; between indexes it chooses well from some thousand rows and `analyze` on.
 */
export async function explain(database: Database, query: Compilable): Promise<QueryPlan> {
  const compiled = query.compile()
  if (database.kind === 'sqlite') return explainSqlite(database, compiled)
  return database.write(async (store) => {
    await sql`set local enable_seqscan = off`.execute(store.query)
    return explainPostgres(store, compiled)
  })
}

/** The plan of a query in a PostgreSQL snapshot, as it is carried out there. */
export async function explainInSnapshot(database: Database, query: Compilable): Promise<QueryPlan> {
  return database.readSnapshot((store) => explainPostgres(store, query.compile()))
}

/** The plan of a query on PostgreSQL as the connections of this store carry it out. */
export async function explainAsCarriedOut(database: Database, query: Compilable): Promise<QueryPlan> {
  return database.write((store) => explainPostgres(store, query.compile()))
}

/**
 * Expects that every table of the query is entered through an index and narrowed by at least one of `columns`: by the workspace,
 * so that other workspaces' rows are never touched, or by the key through which another table leads there.
 */
export function expectIndexed(plan: QueryPlan, ...columns: readonly string[]): void {
  const keys = columns.length > 0 ? columns : ['workspace_id']
  const whole = plan.accesses.filter((access) => !keys.some((column) => narrowsBy(access, column)))
  // The plan stands beside what is compared, so that a failure shows it.
  expect({ tables: plan.accesses.length > 0, whole, plan: plan.text }).toEqual({
    tables: true,
    whole: [],
    plan: plan.text,
  })
}

/** Whether an index is entered at values of `column` rather than read past all of them. */
export function narrowsBy({ index, condition }: TableAccess, column: string): boolean {
  // SQLite writes `workspace_id=?`, and `ANY(workspace_id)` where it narrows nothing; PostgreSQL `(workspace_id = 'main'…)`.
  return index !== null && new RegExp(`(^|[ (.])${column} ?[=<>]`).test(condition)
}

async function explainSqlite({ query }: Store, { sql: text, parameters }: CompiledQuery): Promise<QueryPlan> {
  const explanation = CompiledQuery.raw(`explain query plan ${text}`, [...parameters])
  const { rows } = await query.executeQuery<{ detail: string }>(explanation)
  const details = rows.map(({ detail }) => detail)
  const inner = new Set(details.flatMap((detail) => /^(?:MATERIALIZE|CO-ROUTINE) (\S+)/.exec(detail)?.[1] ?? []))
  return {
    accesses: details.flatMap((detail) => sqliteAccess(detail) ?? []).filter(({ table }) => !inner.has(table)),
    sorts: details.some((detail) => detail.includes('TEMP B-TREE FOR') && detail.includes('ORDER BY')),
    text: details.join('\n'),
  }
}

/** `SEARCH t USING COVERING INDEX i (workspace_id=? AND name=?)`, `SCAN t`, and what lies between. */
function sqliteAccess(detail: string): TableAccess | undefined {
  const match = /^(?:SEARCH|SCAN) (\S+)(?: EXISTS)?(?: USING (.*?))?(?: \((.*)\))?(?: LEFT-JOIN)?$/.exec(detail)
  const [, table, using = '', condition = ''] = match ?? []
  if (table === undefined || table.startsWith('(') || detail.includes('VIRTUAL TABLE')) return undefined
  // A row's own number, which our tables call `id`.
  if (using === 'INTEGER PRIMARY KEY') return { table, index: using, condition: condition.replace('rowid', 'id') }
  // The rows of a table that stands in the order of its key.
  if (using === 'PRIMARY KEY') return { table, index: using, condition }
  // An index that SQLite makes for this one query reads the whole table first.
  const index = using.startsWith('AUTOMATIC') ? undefined : /INDEX (\S+)$/.exec(using)?.[1]
  return { table, index: index ?? null, condition }
}

interface PostgresNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly Alias?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly PostgresNode[]
}

async function explainPostgres(store: Store, query: CompiledQuery): Promise<QueryPlan> {
  const chosen = await postgresPlan(store, query)
  // A few rows are sorted faster than they are read in order, which says nothing of many.
  await sql`set local enable_sort = off`.execute(store.query)
  const unsorted = await postgresPlan(store, query)
  return {
    accesses: [...walk(chosen, '')].flatMap(([node, table]) => postgresAccess(node, table) ?? []),
    sorts: [...walk(unsorted, '')].some(([node]) => node['Node Type'].endsWith('Sort')),
    text: JSON.stringify(chosen, null, 2),
  }
}

async function postgresPlan({ query }: Store, { sql: text, parameters }: CompiledQuery): Promise<PostgresNode> {
  const explanation = CompiledQuery.raw(`explain (format json) ${text}`, [...parameters])
  const { rows } = await query.executeQuery<{ 'QUERY PLAN': readonly [{ Plan: PostgresNode }] }>(explanation)
  const root = rows[0]?.['QUERY PLAN'][0].Plan
  if (!root) throw new Error('PostgreSQL gave no plan')
  return root
}

/** Every node with the table it reads; the index of a bitmap stands in a node below that of its table. */
function* walk(node: PostgresNode, above: string): Generator<readonly [PostgresNode, string]> {
  const table = node.Alias ?? above
  yield [node, table]
  for (const below of node.Plans ?? []) yield* walk(below, table)
}

function postgresAccess(node: PostgresNode, table: string): TableAccess | undefined {
  switch (node['Node Type']) {
    case 'Seq Scan':
    case 'Sample Scan':
    case 'Tid Scan':
      return { table, index: null, condition: '' }
    case 'Index Scan':
    case 'Index Only Scan':
    case 'Bitmap Index Scan':
      return { table, index: node['Index Name'] ?? null, condition: node['Index Cond'] ?? '' }
    default:
      return undefined
  }
}
