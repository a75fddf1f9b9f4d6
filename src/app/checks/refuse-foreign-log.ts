// Refuses a log that belongs to other tables, before a server or a move applies its entries.
import { AppError } from '../../core/app-error.ts'
import { describeLogLocation } from '../../log/describe-log-location.ts'
import type { LogReader } from '../../log/event-log.ts'
import { isEmbedded } from '../../log/open-log.ts'
import { listPipelineCursors } from '../../store/entries/cursors.ts'
import type { Database } from '../../store/store.ts'
import type { Config } from '../config.ts'

/** A backup of tables without their log makes a log that continues after the cursor. */
const GO_ON =
  'or go on with the tables alone, without accepted entries that were not applied: run `tidings backup`, then `tidings restore` ' +
  'into an empty folder'

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
  const restore = 'Restore the log and the tables from the same backup'
  throw new AppError('conflict', `${what}: ${conclusion}. ${isEmbedded(config) ? `${restore}, ${GO_ON}` : restore}.`)
}
