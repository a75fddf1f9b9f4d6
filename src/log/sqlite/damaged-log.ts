// Reads what can be read of an embedded log with damaged pages, and says which positions are lost.
import SqliteFile from 'better-sqlite3'
import { AppError } from '../../core/app-error.ts'
import type { EntryRow } from '../entry-row.ts'
import { toRows, type RecordBatchRow } from './record-batch.ts'
import { appendRows, lastPosition, prepareBatchAfter, type PositionRange } from './record-batches.ts'
import { openLogForReading } from './sqlite-log-file.ts'

/** SQLite's codes for content that it cannot make sense of. Others, such as those for locks, may pass. */
const DAMAGED = /^SQLITE_(?:CORRUPT|NOTADB|IOERR_SHORT_READ|IOERR_DATA)/

/** The result of reading the batch after a position: its entries, none at the end of the log, or that it cannot be read. */
type BatchRead = readonly EntryRow[] | 'damaged'

export interface LogCheck {
  readonly entries: number
  /** The positions that cannot be read, in order. */
  readonly damaged: readonly PositionRange[]
}

/** Reads the whole log. */
export function checkLogFile(path: string): LogCheck {
  const file = openLogForReading(path)
  try {
    let entries = 0
    const damaged: PositionRange[] = []
    for (const part of scanLog(file, { after: 0, through: lastPosition(file) })) {
      if ('rows' in part) entries += part.rows.length
      else damaged.push(part)
    }
    return { entries, damaged }
  } catch (error) {
    if (!isDamage(error)) throw error
    throw new AppError(
      'conflict',
      `The end of the log in ${path} is damaged, so it takes no entries. Restore a backup.`,
    )
  } finally {
    file.close()
  }
}

/**
 * Copies the entries of a range that can be read to another log. Throws AppError `conflict` if others than those up to `applied` are
 * damaged: the copy would lose them without a word.
 */
export function copyReadable(
  from: SqliteFile.Database,
  to: SqliteFile.Database,
  { applied, ...range }: PositionRange & { readonly applied: number },
): void {
  for (const part of scanLog(from, range)) {
    if ('rows' in part) appendRows(to, part.rows)
    else if (part.through > applied) {
      const what = `The log is damaged between the positions ${part.after + 1} and ${part.through}`
      throw new AppError('conflict', `${what}, which are not applied. Run \`tidings log check\`.`)
    }
  }
}

/** The entries of a range batch by batch, and between them the ranges that cannot be read. */
export function* scanLog(
  file: SqliteFile.Database,
  { after, through }: PositionRange,
): Generator<{ readonly rows: readonly EntryRow[] } | PositionRange> {
  const readAfter = batchReader(file)
  let position = after
  while (position < through) {
    let read = readAfter(position)
    let probed = position
    // Each position is probed, because nothing tells how many entries a damaged page holds.
    while (read === 'damaged' && ++probed < through) read = readAfter(probed)
    const [first] = read === 'damaged' ? [] : read
    if (probed > position) yield { after: position, through: Math.min(through, (first?.position ?? through + 1) - 1) }
    if (read === 'damaged' || !first) return
    const rows = read.filter((row) => row.position <= through)
    yield { rows }
    position = rows.at(-1)?.position ?? through
  }
}

/** Whether an error of SQLite, or of decoding a batch, means that the file is damaged. */
export function isDamage(error: unknown): boolean {
  if (error instanceof SqliteFile.SqliteError) return DAMAGED.test(error.code)
  return error instanceof Error && !(error instanceof AppError)
}

/** AppError `unavailable` in words if the file is damaged after a position; any other error unchanged. */
export function explainDamage(error: unknown, after?: number): unknown {
  if (!isDamage(error)) return error
  const where = after === undefined ? '' : ` after position ${after}`
  const message = `The log is damaged${where} and cannot be read further. An operator must run \`tidings log check\`.`
  return new AppError('unavailable', message)
}

function batchReader(file: SqliteFile.Database): (after: number) => BatchRead {
  const batchAfter: SqliteFile.Statement<[number], RecordBatchRow> = prepareBatchAfter(file)
  return (after) => {
    try {
      const batch = batchAfter.get(after)
      if (!batch) return []
      const rows = toRows(batch).filter(({ position }) => position > after)
      return rows.length > 0 ? rows : 'damaged'
    } catch (error) {
      if (isDamage(error)) return 'damaged'
      throw error
    }
  }
}
