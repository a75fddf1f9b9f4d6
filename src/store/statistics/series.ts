// The table of series, the numbers that campaigns have. It stores the texts of a series once; a cell has only the number of its
// series.
import { sql, type Expression } from 'kysely'
import {
  ATTRIBUTION_TYPES,
  convertedMetric,
  seriesKey,
  type AttributionType,
  type Series,
} from '../../core/statistics/cells.ts'
import { GAP_COLUMNS, type GenerationGap } from '../campaigns/campaign-generations.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'

/** The most series of one statement, so that none exceeds a megabyte or so. */
const SERIES_PER_STATEMENT_MAX = 5_000

interface SeriesRow {
  /** The number of the campaign. */
  campaign: number
  generation: number
  /** JSON of a `SeriesName`. */
  name: string
  /** The attribution type whose conversions are counted; null for a series that counts no conversions. */
  attribution: AttributionType | null
  /** Never assigned to another series, because cells may outlive this row. */
  number: number
}

/** Identifies a series within one generation of a campaign. */
export type SeriesName = [group: Series['group'], metric: string, platform: string, locale: string, variation: string]

declare module '../tables.ts' {
  interface Tables {
    series: SeriesRow
    /** One row: the last assigned number. Its row lock lets only one transaction at a time add series. */
    series_numbers: { only: number; last_number: number }
  }
}

const KEY = ['campaign', 'generation', 'name'] as const
const KEY_COLUMNS = { campaign: 'integer', generation: 'integer', name: 'text' } as const

export async function createSeries({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('series')
    .addColumn('campaign', integer, (column) => column.notNull())
    .addColumn('generation', integer, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('attribution', text)
    .addColumn('number', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('series_key', [...KEY])
    .modifyEnd(clustered)
    .execute()
  await query.schema
    .createTable('series_numbers')
    .addColumn('only', integer, (column) => column.primaryKey())
    .addColumn('last_number', integer, (column) => column.notNull())
    .execute()
  await query.insertInto('series_numbers').values({ only: 1, last_number: 0 }).execute()
}

/** The numbers of series, by `seriesKey`. Assigns numbers to new series. Needs a transaction. */
export async function numberSeries(store: Store, wanted: Iterable<Series>): Promise<Map<string, number>> {
  const byKey = new Map<string, Series>()
  for (const series of wanted) byKey.set(seriesKey(series), series)
  const numbers = await findNumbers(store, byKey)
  for (const key of numbers.keys()) byKey.delete(key)
  if (byKey.size === 0) return numbers
  await addSeries(store, [...byKey.values()])
  for (const [key, number] of await findNumbers(store, byKey)) numbers.set(key, number)
  return numbers
}

/** The series of a campaign, by their numbers. */
export async function listSeries({ query }: Store, campaign: number): Promise<Map<number, Series>> {
  const rows = await query.selectFrom('series').selectAll().where('campaign', '=', campaign).execute()
  return new Map(rows.map((row) => [row.number, toSeries(row)]))
}

/** The series of a campaign's generation, as a part of queries that know the number of the campaign and the generation. */
export function seriesOf({ query }: Store, number: Expression<number>, generation: Expression<number>) {
  return query.selectFrom('series').where('series.campaign', '=', number).where('series.generation', '=', generation)
}

/** The key of a series in the table, and the number that its cells carry. */
export type StoredSeriesKey = Pick<SeriesRow, 'campaign' | 'generation' | 'name' | 'number'>

/** Series whose generations lie in gaps, at most `max`. */
export async function listSeriesIn(
  store: Store,
  gaps: readonly GenerationGap[],
  max: number,
): Promise<StoredSeriesKey[]> {
  return store.query
    .selectFrom(store.rowsOf('gap', GAP_COLUMNS, gaps))
    .innerJoin('series', 'series.campaign', 'gap.campaign')
    .whereRef('series.generation', '>', 'gap.after')
    .whereRef('series.generation', '<', 'gap.before')
    .select(['series.campaign', 'series.generation', 'series.name', 'series.number'])
    .limit(max)
    .execute()
}

/** Deletes series whose cells are gone. */
export async function removeSeries(store: Store, series: readonly StoredSeriesKey[]): Promise<void> {
  const rows = store.rowsOf('removed', { ...KEY_COLUMNS, number: 'integer' }, series)
  const removed = store.query.selectFrom(rows).select(KEY)
  await store.query
    .deleteFrom('series')
    .where((row) => row(row.refTuple(...KEY), 'in', removed.$asTuple(...KEY)))
    .execute()
}

export function toSeries({ campaign, generation, name }: Pick<SeriesRow, (typeof KEY)[number]>): Series {
  const [group, metric, platform, locale, variation] = JSON.parse(name) as SeriesName
  return { campaign, generation, group, metric, platform, locale, variation }
}

export function toName({
  group,
  metric,
  platform,
  locale,
  variation,
}: Omit<Series, 'campaign' | 'generation'>): string {
  const name: SeriesName = [group, metric, platform, locale, variation]
  return JSON.stringify(name)
}

function toKey(series: Series) {
  return { campaign: series.campaign, generation: series.generation, name: toName(series) }
}

async function findNumbers(store: Store, wanted: ReadonlyMap<string, Series>): Promise<Map<string, number>> {
  const keys = [...wanted.keys()]
  const rows = [...wanted.values()].map((series, ordinal) => ({ ...toKey(series), ordinal }))
  const numbers = new Map<string, number>()
  for (let first = 0; first < rows.length; first += SERIES_PER_STATEMENT_MAX) {
    const chunk = rows.slice(first, first + SERIES_PER_STATEMENT_MAX)
    const found = await store.query
      .selectFrom(store.rowsOf('wanted', { ...KEY_COLUMNS, ordinal: 'integer' }, chunk))
      .innerJoin('series', (join) =>
        KEY.reduce((on, column) => on.onRef(`series.${column}`, '=', `wanted.${column}`), join),
      )
      .select(['wanted.ordinal', 'series.number'])
      .execute()
    for (const { ordinal, number } of found) numbers.set(keys[ordinal] as string, number)
  }
  return numbers
}

/** Taking numbers waits for other transactions that have taken some, so this one then sees the series that they added. */
async function addSeries(store: Store, fresh: readonly Series[]): Promise<void> {
  const { last_number: last } = await store.query
    .updateTable('series_numbers')
    .set({ last_number: sql`last_number + ${fresh.length}` })
    .where('only', '=', 1)
    .returning('last_number')
    .executeTakeFirstOrThrow()
  const columns = { ...KEY_COLUMNS, attribution: 'text', number: 'integer' } as const
  const rows = fresh.map((series, index) => ({
    ...toKey(series),
    attribution: attributionOf(series),
    number: last - index,
  }))
  for (let first = 0; first < rows.length; first += SERIES_PER_STATEMENT_MAX) {
    const chunk = rows.slice(first, first + SERIES_PER_STATEMENT_MAX)
    await insertRows(store, 'series', { columns, rows: chunk })
      .onConflict((conflict) => conflict.columns(KEY).doNothing())
      .execute()
  }
}

function attributionOf({ metric }: Series): AttributionType | null {
  return ATTRIBUTION_TYPES.find((type) => metric.startsWith(convertedMetric(type, ''))) ?? null
}
