// The common code of the tables of facts: they store each fact of a customer in a campaign once, however often it is reported. The
// file of each table defines its rows.
import type { InsertQueryBuilder, InsertResult, Kysely, SelectQueryBuilder } from 'kysely'
import { winnersByIdentity, type CustomerCampaign } from '../../core/campaigns/facts.ts'
import { addCampaignActivity, type CampaignInstant } from './campaign-activity.ts'
import { countStagedFacts, moveStagedFacts, uncountStagedFacts } from './staging-table.ts'
import { insertRows } from '../insert-rows.ts'
import type { BulkColumns, Store } from '../store.ts'
import type { Tables } from '../tables.ts'
import { wantedValues } from '../wanted-values.ts'

export interface FactTableSpec<
  Row extends object,
  Fact extends CustomerCampaign,
  Table extends keyof Tables = keyof Tables,
> {
  /** Its rows have the columns `customer` and `campaign`. */
  readonly table: Table
  /** The staging table (`staging-table.ts`). */
  readonly staging?: keyof Tables
  /** The columns of the primary key. */
  readonly key: readonly (keyof Row & string)[]
  readonly columns: BulkColumns<Row>
  /** Reports with the same identity are one fact. Must agree with the key. */
  readonly identityOf: (fact: Fact) => string
  /** Compares different reports of one fact: negative when `left` wins. */
  readonly compare: (left: Fact, right: Fact) => number
  /** The instant at which the fact makes its campaign active for its customer; undefined if it does not. */
  readonly activeAt: (fact: Fact) => number | undefined
  readonly toRow: (fact: Fact) => Row
  readonly fromRow: (row: Row) => Fact
}

export interface FactTable<Fact, Table extends keyof Tables = keyof Tables> {
  /** One statement that answers `question` from the table and its staging table. */
  readonly ask: <Sources, Source extends keyof Sources, Output>(
    store: Store,
    question: (table: Table) => SelectQueryBuilder<Sources, Source, Output>,
  ) => SelectQueryBuilder<Sources, Source, Output>
  /** Moves up to `max` facts out of the staging table; returns how many remain there. */
  readonly moveStaged: (store: Store, max: number) => Promise<number>
  /** The facts of customers in campaigns, at most `max`. */
  readonly listIn: (store: Store, wanted: readonly CustomerCampaign[], max?: number) => Promise<Fact[]>
  /** The facts of customers in any campaign, at most `max`. */
  readonly listOf: (store: Store, customers: readonly number[], max?: number) => Promise<Fact[]>
  /** Stores facts, each once: of different reports, the one that wins. Returns the identities of the new facts. */
  readonly add: (store: Store, reports: readonly Fact[]) => Promise<Set<string>>
  /** Deletes the facts of customers in any campaign. Needs a transaction. */
  readonly removeOf: (store: Store, customers: readonly number[]) => Promise<void>
}

/** Any table of facts, as Kysely sees it. */
type FactTables = Record<string, Record<string, unknown>>
type FactInsert = InsertQueryBuilder<FactTables, string, InsertResult>

export function factTable<Row extends object, Fact extends CustomerCampaign, Table extends keyof Tables>(
  spec: FactTableSpec<Row, Fact, Table>,
): FactTable<Fact, Table> {
  return {
    ask: (store, question) => ask(spec, store, question),
    moveStaged: async (store, max) =>
      spec.staging ? moveStagedFacts(store, { ...spec, staging: spec.staging }, max) : 0,
    listIn: (store, wanted, max = NO_LIMIT) => listIn(spec, store, { wanted, max }),
    listOf: (store, customers, max = NO_LIMIT) => listOf(spec, store, { customers, max }),
    add: (store, reports) => add(spec, store, reports),
    removeOf: (store, customers) => removeOf(spec, store, customers),
  }
}

/** More than any table has rows. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER

function tablesOf({ query }: Store): Kysely<FactTables> {
  return query as unknown as Kysely<FactTables>
}

/**
 * The tables that hold the facts. Only SQLite uses the staging table: it has one writer, so of two transactions that add the same
 * fact, the second sees both tables as the first left them.
 */
function tablesWith<Table extends keyof Tables>(
  { table, staging }: { readonly table: Table; readonly staging?: keyof Tables },
  { locksRows }: Store,
): readonly [Table, ...Table[]] {
  // Both have the same columns.
  return staging && !locksRows ? [table, staging as Table] : [table]
}

/** One statement, so that no fact is missed while it is moved from one table to the other. */
function ask<Table extends keyof Tables, Sources, Source extends keyof Sources, Output>(
  spec: { readonly table: Table; readonly staging?: keyof Tables },
  store: Store,
  question: (table: Table) => SelectQueryBuilder<Sources, Source, Output>,
): SelectQueryBuilder<Sources, Source, Output> {
  const [table, ...others] = tablesWith(spec, store)
  return others.reduce((all, other) => all.unionAll(question(other)), question(table))
}

async function listIn<Row extends object, Fact extends CustomerCampaign>(
  spec: FactTableSpec<Row, Fact>,
  store: Store,
  { wanted, max }: { readonly wanted: readonly CustomerCampaign[]; readonly max: number },
): Promise<Fact[]> {
  if (wanted.length === 0) return []
  const pairs = store.rowsOf('wanted', { customer: 'integer', campaign: 'integer' }, wanted)
  const rows = await ask(spec, store, (table) =>
    tablesOf(store)
      .selectFrom(pairs)
      .innerJoin(`${table} as fact`, (join) =>
        join.onRef('fact.customer', '=', 'wanted.customer').onRef('fact.campaign', '=', 'wanted.campaign'),
      )
      .selectAll('fact'),
  )
    .limit(max)
    .execute()
  return (rows as Row[]).map(spec.fromRow)
}

async function listOf<Row extends object, Fact extends CustomerCampaign>(
  spec: FactTableSpec<Row, Fact>,
  store: Store,
  { customers, max }: { readonly customers: readonly number[]; readonly max: number },
): Promise<Fact[]> {
  if (customers.length === 0) return []
  const wanted = wantedValues(store, 'customer', 'integer', customers)
  const rows = await ask(spec, store, (table) =>
    tablesOf(store)
      .selectFrom(wanted)
      .innerJoin(`${table} as fact`, 'fact.customer', 'wanted.customer')
      .selectAll('fact'),
  )
    .limit(max)
    .execute()
  return (rows as Row[]).map(spec.fromRow)
}

async function add<Row extends object, Fact extends CustomerCampaign>(
  spec: FactTableSpec<Row, Fact>,
  store: Store,
  reports: readonly Fact[],
): Promise<Set<string>> {
  const winners = winnersByIdentity(reports, spec.identityOf, spec.compare)
  const added = await insertNew(spec, store, winners)
  const [fresh, repeated]: [Fact[], Fact[]] = [[], []]
  for (const [identity, fact] of winners) (added.has(identity) ? fresh : repeated).push(fact)
  await replaceBeaten(spec, store, repeated)
  await addActivity(spec, store, fresh)
  return added
}

async function removeOf<Row extends object, Fact extends CustomerCampaign>(
  spec: FactTableSpec<Row, Fact>,
  store: Store,
  customers: readonly number[],
): Promise<void> {
  if (customers.length === 0) return
  for (const table of tablesWith(spec, store)) {
    const wanted = store.query.selectFrom(wantedValues(store, 'customer', 'integer', customers))
    const removed = await tablesOf(store)
      .deleteFrom(table)
      .where('customer', 'in', wanted.select('wanted.customer'))
      .executeTakeFirst()
    if (table === spec.staging) await uncountStagedFacts(store, table, Number(removed.numDeletedRows))
  }
}

/** Only for new facts: a report that replaces a stored fact has the same instant, because that is a part of the identity. */
async function addActivity<Fact extends CustomerCampaign>(
  { activeAt }: Pick<FactTableSpec<object, Fact>, 'activeAt'>,
  store: Store,
  facts: readonly Fact[],
): Promise<void> {
  const instants: CampaignInstant[] = []
  for (const fact of facts) {
    const instant = activeAt(fact)
    if (instant !== undefined) instants.push({ customer: fact.customer, campaign: fact.campaign, instant })
  }
  await addCampaignActivity(store, instants)
}

/** Returns the identities of the new facts. */
async function insertNew<Row extends object, Fact extends CustomerCampaign>(
  spec: FactTableSpec<Row, Fact>,
  store: Store,
  facts: ReadonlyMap<string, Fact>,
): Promise<Set<string>> {
  if (facts.size === 0) return new Set()
  const { table, staging, key, columns, toRow } = spec
  const isStaged = staging && !store.locksRows
  const rows = new Map([...facts].map(([identity, fact]) => [identity, toRow(fact)]))
  const fresh = {
    columns,
    rows: [...rows.values()],
    orderBy: ['customer', 'campaign'],
    ...(isStaged && { notIn: { table, key } }),
  }
  // Cast as in `tablesOf`: only the table's own file knows which of the tables of facts it is.
  const insert = insertRows(store, isStaged ? staging : table, fresh as never) as unknown as FactInsert
  const added = await insert
    .onConflict((conflict) => conflict.doNothing())
    .returning([...key])
    .execute()
  if (isStaged) await countStagedFacts(store, { ...spec, staging }, added.length)
  if (added.length === rows.size) return new Set(facts.keys())
  const keyOf = (row: object) => key.map((column) => (row as Record<string, unknown>)[column]).join('\0')
  const keys = new Set(added.map(keyOf))
  return new Set([...rows].filter(([, row]) => keys.has(keyOf(row))).map(([identity]) => identity))
}

/** Replaces stored facts that lose against another report. */
async function replaceBeaten<Row extends object, Fact extends CustomerCampaign>(
  spec: FactTableSpec<Row, Fact>,
  store: Store,
  reports: readonly Fact[],
): Promise<void> {
  if (reports.length === 0) return
  const { key, columns, identityOf, compare, toRow } = spec
  const storedFacts = await findStored(spec, store, reports)
  const better = reports.filter((report) => {
    const stored = storedFacts.get(identityOf(report))
    return stored !== undefined && compare(report, stored) < 0
  })
  if (better.length === 0) return
  const rest = Object.keys(columns).filter((column) => !key.some((part) => part === column))
  const winners = store.rowsOf('better', columns, better.map(toRow))
  for (const table of tablesWith(spec, store)) {
    const update = tablesOf(store)
      .updateTable(table)
      .from(winners)
      .set((set) => Object.fromEntries(rest.map((column) => [column, set.ref(`better.${column}`)])))
    await key
      .reduce((narrowed, column) => narrowed.whereRef(`${table}.${column}`, '=', `better.${column}`), update)
      .execute()
  }
}

/** The stored facts, each looked up by its key: one customer may have very many, even in one campaign. */
async function findStored<Row extends object, Fact extends CustomerCampaign>(
  spec: FactTableSpec<Row, Fact>,
  store: Store,
  reports: readonly Fact[],
): Promise<Map<string, Fact>> {
  const { key, columns, identityOf, toRow, fromRow } = spec
  const reported = store.rowsOf('report', columns, reports.map(toRow))
  const rows = await ask(spec, store, (table) =>
    tablesOf(store)
      .selectFrom(reported)
      .innerJoin(`${table} as fact`, (join) =>
        key.reduce((narrowed, column) => narrowed.onRef(`fact.${column}`, '=', `report.${column}`), join),
      )
      .selectAll('fact'),
  ).execute()
  return new Map((rows as Row[]).map(fromRow).map((fact) => [identityOf(fact), fact]))
}
