// Reads any table of an SQLite file in pages, in the order of its primary key, and writes and reads such pages in PostgreSQL. Takes
// the columns from the file; must not depend on what they mean.
import { createHash } from 'node:crypto'
import type SqliteFile from 'better-sqlite3'
import { sql, type RawBuilder } from 'kysely'
import type { RowsDigest } from './moves.ts'
import type { BulkColumns, ColumnType, Store } from '../store.ts'

/** Limits of one page, and so of the memory a copy needs: rows, and characters of their texts. */
const PAGE_ROWS = 5_000
const PAGE_CHARACTERS = 4 * 1024 * 1024

/** The file with the source table, and the names of source and target. */
export interface TableMapping {
  readonly file: SqliteFile.Database
  readonly source: string
  readonly target: string
  /** Columns that only the target has, each with one value for all rows. */
  readonly added?: Readonly<Record<string, number>>
}

export interface CopiedTable extends TableMapping {
  readonly columns: BulkColumns<Record<string, Value>>
  /** The columns of the primary key, in its order. */
  readonly key: readonly string[]
}

type Value = string | number | null
/** The values of the columns, in their order. */
export type CopiedRow = readonly Value[]

/** Consecutive rows. */
export interface RowPage {
  readonly rows: readonly CopiedRow[]
  /** The key of the last row before this page; undefined for the first page. */
  readonly after: CopiedRow | undefined
  /** The key of the last row of this page. */
  readonly last: CopiedRow
}

interface ColumnInfo {
  readonly name: string
  readonly type: string
  /** Its position in the primary key, from 1; 0 if it is not part of the key. */
  readonly pk: number
}

const COLUMN_TYPES: readonly string[] = ['integer', 'text'] satisfies ColumnType[]

/** Reads the columns and the primary key of a table. Throws if it has no key, or a column of an unknown type. */
export function describeTable(mapping: TableMapping): CopiedTable {
  const { file, source, added = {} } = mapping
  const infos = file.prepare('select name, lower(type) as type, pk from pragma_table_info(?)').all(source)
  const found = infos as ColumnInfo[]
  const typed = found.map(({ name, type }) => {
    if (!COLUMN_TYPES.includes(type)) throw new Error(`the column ${source}.${name} has the unknown type ${type}`)
    return [name, type as ColumnType] as const
  })
  const addedColumns = Object.keys(added).map((name) => [name, 'integer'] as const)
  const key = found.filter(({ pk }) => pk > 0).toSorted((left, right) => left.pk - right.pk)
  if (key.length === 0) throw new Error(`the table ${source} has no primary key`)
  return { ...mapping, columns: Object.fromEntries([...typed, ...addedColumns]), key: key.map(({ name }) => name) }
}

export function countRows({ file, source }: CopiedTable): number {
  return file.prepare(`select count(*) from "${source}"`).pluck().get() as number
}

/** All rows of the source table, in pages. The same rows always make the same pages. */
export function* readPages({ file, source, columns, key, added = {} }: CopiedTable): Generator<RowPage, void, void> {
  const names = Object.keys(columns)
  const selected = names.map((name) => added[name] ?? `"${name}"`).join(', ')
  const order = key.map((name) => `"${name}"`).join(', ')
  const all = file.prepare(`select ${selected} from "${source}" order by ${order}`).raw()
  const keyIndexes = key.map((name) => names.indexOf(name))
  const keyOf = (row: CopiedRow): CopiedRow => keyIndexes.map((index) => row[index] ?? null)
  let rows: CopiedRow[] = []
  let characters = 0
  let after: CopiedRow | undefined
  for (const row of all.iterate() as Iterable<CopiedRow>) {
    rows.push(row)
    characters += countCharacters(row)
    if (rows.length < PAGE_ROWS && characters < PAGE_CHARACTERS) continue
    const last = keyOf(row)
    yield { rows, after, last }
    after = last
    rows = []
    characters = 0
  }
  const lastRow = rows.at(-1)
  if (lastRow) yield { rows, after, last: keyOf(lastRow) }
}

/** Adds the rows of a page to a digest. The checksum depends on the values and the order of all rows. */
export function addPage({ rows, checksum }: RowsDigest, page: readonly CopiedRow[]): RowsDigest {
  const text = JSON.stringify(page)
  return { rows: rows + page.length, checksum: createHash('sha256').update(checksum).update(text).digest('hex') }
}

/** Deletes all rows of the target table, including those that migrations inserted. */
export async function emptyTable({ query }: Store, { target }: CopiedTable): Promise<void> {
  await sql`truncate ${sql.table(target)}`.execute(query)
}

export async function insertPage(store: Store, { target, columns }: CopiedTable, { rows }: RowPage): Promise<void> {
  const names = Object.keys(columns)
  const named = rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])))
  const list = toList(names)
  const source = store.rowsOf('moved', columns, named)
  await sql`insert into ${sql.table(target)} (${list}) select ${list} from ${source}`.execute(store.query)
}

/**
 * The rows of the target table in the key range of a page: after the page before it, up to its own last key. At most one more than
 * the page has.
 */
export async function readTargetPage({ query }: Store, table: CopiedTable, page: RowPage): Promise<CopiedRow[]> {
  const { target, columns, key } = table
  const names = Object.keys(columns)
  const behind = page.after ? sql`(${toList(key)}) > (${sql.join(page.after)}) and ` : sql``
  const found = sql<Record<string, Value>>`
    select ${toList(names)} from ${sql.table(target)}
    where ${behind} (${toList(key)}) <= (${sql.join(page.last)})
    order by ${toList(key)} limit ${sql.lit(page.rows.length + 1)}`
  return (await found.execute(query)).rows.map((row) => names.map((name) => row[name] ?? null))
}

/** The number of rows of the target table after a key; without a key, of all its rows. */
export async function countRowsAfter(
  { query }: Store,
  { target, key }: CopiedTable,
  last: CopiedRow | undefined,
): Promise<number> {
  const behind = last ? sql`where (${toList(key)}) > (${sql.join(last)})` : sql``
  const counted = sql<{ count: number }>`select count(*) as count from ${sql.table(target)} ${behind}`
  return (await counted.execute(query)).rows[0]?.count ?? 0
}

/** Updates PostgreSQL's planner statistics of the target table. */
export async function analyzeTable({ query }: Store, { target }: CopiedTable): Promise<void> {
  await sql`analyze ${sql.table(target)}`.execute(query)
}

/** Those of the tables that have rows. */
export async function findNonEmptyTables({ query }: Store, tables: readonly string[]): Promise<string[]> {
  const filled: string[] = []
  for (const table of tables) {
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(query)
    if (rows.length > 0) filled.push(table)
  }
  return filled
}

function toList(names: readonly string[]): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql.ref(name)))
}

function countCharacters(row: CopiedRow): number {
  return row.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0)
}
