// The cells that the table of statistics should have, counted from the facts. Those of many campaigns do not fit into memory: a few
// stay there, and the rest goes to a temporary SQLite file, one sum per campaign.
import { CellSum } from '../../core/statistics/cells.ts'
import { SqliteConnection } from '../sqlite/sqlite-connection.ts'

/** The most cells in memory, some 400 bytes each; then they are written to the file. */
const CELLS_IN_MEMORY_MAX = 100_000
/** The most cells of one part of the missing cells. */
const CELLS_PER_PART_MAX = 5_000
/** Beyond this, SQLite writes to a file without a name in the system's temporary folder, which disappears with the connection. */
const PAGE_CACHE_KIB = 16 * 1024
const TEMPORARY = ''

/** Both columns hold sums as JSON. */
const TABLES = [
  'create table counted (campaign integer, sum text)',
  'create index counted_campaign on counted (campaign)',
  'create table missing (part integer primary key, sum text)',
]

/** The caller closes it. Every method throws StoreError if the temporary file fails. */
export class ExpectedCells {
  readonly #file = new SqliteConnection(TEMPORARY, { pageCacheKib: PAGE_CACHE_KIB })
  readonly #cellsInMemoryMax: number
  #counted = new CellSum()

  constructor(cellsInMemoryMax = CELLS_IN_MEMORY_MAX) {
    this.#cellsInMemoryMax = cellsInMemoryMax
    // Nothing needs to survive a crash.
    for (const sql of ['pragma journal_mode = off', 'pragma synchronous = off', ...TABLES]) this.#file.execute(sql, [])
  }

  /** Adds what `count` adds to the sum: contributions of a few users, few enough for memory. */
  add(count: (sum: CellSum) => void): void {
    count(this.#counted)
    if (this.#counted.held >= this.#cellsInMemoryMax) this.#flush()
  }

  /** The sum of the cells of a campaign. */
  of(campaign: number): CellSum {
    if (this.#counted.held > 0) this.#flush()
    const sum = new CellSum()
    for (const row of this.#file.execute('select sum from counted where campaign = ?', [campaign]).rows) {
      sum.addAll(toSum(row))
    }
    return sum
  }

  /** Stores the difference between a campaign's expected cells and the table. */
  addMissing(sum: CellSum): void {
    for (const part of partsOf(sum)) {
      this.#file.execute('insert into missing (sum) values (?)', [JSON.stringify(part)])
    }
  }

  /** All differences of `addMissing`, in parts that one transaction can write. */
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
