// Recounted cells, held apart from the table of statistics. Those of many campaigns do not fit into memory: sums go to a temporary
// SQLite file, campaign by campaign, and stay in memory while they are few.
import { CellSum } from '../../core/statistics/cells.ts'
import { SqliteConnection } from '../sqlite/sqlite-connection.ts'

/** How many cells may be counted, some 400 bytes each, before they are put into the file. */
const CELLS_IN_MEMORY_MAX = 100_000
/** How many cells one part of what is missing may have. */
const CELLS_PER_PART_MAX = 5_000
/** Past this, SQLite writes into the system's temporary folder, where the file has no name and is gone with the connection. */
const PAGE_CACHE_KIB = 16 * 1024
const TEMPORARY = ''

/** Both columns hold sums as JSON. */
const TABLES = [
  'create table counted (campaign integer, sum text)',
  'create index counted_campaign on counted (campaign)',
  'create table missing (part integer primary key, sum text)',
]

/** To be closed. Every method throws StoreError when the temporary file fails. */
export class RecountedCells {
  readonly #file = new SqliteConnection(TEMPORARY, { pageCacheKib: PAGE_CACHE_KIB })
  readonly #cellsInMemoryMax: number
  #counted = new CellSum()

  constructor(cellsInMemoryMax = CELLS_IN_MEMORY_MAX) {
    this.#cellsInMemoryMax = cellsInMemoryMax
    // Nothing has to survive a failure.
    for (const sql of ['pragma journal_mode = off', 'pragma synchronous = off', ...TABLES]) this.#file.execute(sql, [])
  }

  /** Adds what `count` adds to a sum: contributions of a few users, which memory can hold beside all else. */
  add(count: (sum: CellSum) => void): void {
    count(this.#counted)
    if (this.#counted.held >= this.#cellsInMemoryMax) this.#flush()
  }

  /** All that was counted in a campaign. */
  of(campaign: number): CellSum {
    if (this.#counted.held > 0) this.#flush()
    const sum = new CellSum()
    for (const row of this.#file.execute('select sum from counted where campaign = ?', [campaign]).rows) {
      sum.addAll(toSum(row))
    }
    return sum
  }

  /** Keeps cells to be added to the table. */
  addMissing(sum: CellSum): void {
    for (const part of partsOf(sum)) {
      this.#file.execute('insert into missing (sum) values (?)', [JSON.stringify(part)])
    }
  }

  /** What `addMissing` was given, in parts that one transaction can write. */
  *missing(): Generator<CellSum, void, undefined> {
    for (let part = 1; ; part++) {
      const [row] = this.#file.execute('select sum from missing where part = ?', [part]).rows
      if (row === undefined) return
      yield toSum(row)
    }
  }

  close(): void {
    this.#file.close()
  }

  #flush(): void {
    this.#file.execute('begin', [])
    for (const [campaign, sum] of this.#counted.byCampaign()) {
      this.#file.execute('insert into counted values (?, ?)', [campaign, JSON.stringify(sum)])
    }
    this.#file.execute('commit', [])
    this.#counted = new CellSum()
  }
}

function toSum(row: unknown): CellSum {
  return CellSum.fromJson((row as { readonly sum: string }).sum)
}

function* partsOf(sum: CellSum): Generator<CellSum, void, void> {
  let part = new CellSum()
  for (const [key, [users, occurrences]] of sum.entries()) {
    part.add(key, users, occurrences)
    if (part.size < CELLS_PER_PART_MAX) continue
    yield part
    part = new CellSum()
  }
  if (part.size > 0) yield part
}
