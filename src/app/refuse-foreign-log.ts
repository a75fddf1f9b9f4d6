// Refuses a log that belongs to other tables, before a server or a move applies its entries.
import { AppError } from '../core/app-error.ts'
import { describeLogLocation } from '../log/describe-log-location.ts'
import type { LogReader } from '../log/event-log.ts'
import { listPipelineCursors } from '../store/entries/cursors.ts'
import type { Database } from '../store/store.ts'
import type { Config } from './config.ts'

/**
 * Throws AppError `conflict` if the log ends before the cursors of the tables: it then belongs to other tables, and its new entries
 * would never be applied.
 */
export async function refuseForeignLog(database: Database, logReader: LogReader, config: Config): Promise<void> {
  const cursor = Math.max(...(await listPipelineCursors(database, logReader.partitions)))
  const last = await logReader.lastPosition()
  if (last >= cursor) return
  const what = `The log ends at position ${last}, but entries up to ${cursor} have been applied`
  const conclusion = `the log in ${describeLogLocation(config)} does not belong to these tables`
  throw new AppError('conflict', `${what}: ${conclusion}. Restore the log and the tables from the same backup.`)
}
