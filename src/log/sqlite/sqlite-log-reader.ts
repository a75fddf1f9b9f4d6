// Reads the embedded log, from whichever thread needs it; SQLite lets readers go on while the log is written.
import type SqliteFile from 'better-sqlite3'
import type { LogEntry, LogReader } from '../event-log.ts'
import { prepareEnd, prepareFind, toEntries, type GroupRow } from './entry-groups.ts'
import { openLogForReading } from './sqlite-log-file.ts'

type Bounds = Parameters<LogReader['read']>[1]
/** Gives the group that the first entry after a position is in. */
type GroupAfter = SqliteFile.Statement<[number], GroupRow>

export function openSqliteLogReader(path: string): LogReader {
  const file = openLogForReading(path)
  const end = prepareEnd(file)
  const groupAfter: GroupAfter = file.prepare(
    'select * from entry_groups where last_position > ? order by last_position limit 1',
  )
  const groupsAround = prepareFind(file)
  const read: LogReader['read'] = async (position, bounds) => listEntries(groupAfter, position, bounds)
  return {
    partitions: 1,
    read,
    async firstAfter([cursor = 0]) {
      const [first] = await read(cursor, { entries: 1, bytes: 1 })
      return first
    },
    async settledUntil(now) {
      return now
    },
    async lastPosition() {
      return end.get() as number
    },
    async findByRequestId(requestId) {
      for (const group of groupsAround(requestId)) {
        const found = toEntries(group).find((entry) => entry.requestId === requestId)
        if (found) return found
      }
      return undefined
    },
    async close() {
      file.close()
    },
  }
}

/** As `LogReader.read` says. */
function listEntries(groupAfter: GroupAfter, after: number, bounds: Bounds): LogEntry[] {
  const entries: LogEntry[] = []
  let [position, bytes] = [after, 0]
  while (entries.length < bounds.entries) {
    const group = groupAfter.get(position)
    if (!group) break
    for (const entry of toEntries(group, entries.at(-1))) {
      if (entry.position <= after) continue
      bytes += entry.body.byteLength
      if (entries.length > 0 && (bytes > bounds.bytes || entries.length === bounds.entries)) return entries
      entries.push(entry)
    }
    position = group.last_position
  }
  return entries
}
