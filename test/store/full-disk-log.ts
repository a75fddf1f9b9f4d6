// Appends to the embedded log on a disk that fills up and then has space again. Prints the results of an append and a check at each
// stage. Argument: the file.
import SqliteFile from 'better-sqlite3'
import type { LogWriter } from '../../src/log/event-log.ts'
import { openSqliteLog } from '../../src/log/sqlite/sqlite-log.ts'

export interface LogOutcomes {
  readonly before: Outcome
  readonly full: Outcome
  readonly after: Outcome
}

interface Outcome {
  readonly append: string
  readonly check: string
}

/** Far more entries than fit. */
const ENTRIES_MAX = 10_000
const BODY = Buffer.alloc(2_000, 'x')

const [path = ''] = process.argv.slice(2)
const log = openSqliteLog({ path })
const before = await tryLog(log)
for (let count = 0; count < ENTRIES_MAX; count++) if ((await outcomeOf(append(log))) !== 'done') break
const full = await tryLog(log)
// A checkpoint moves the write-ahead log into the file, which frees its space.
const other = new SqliteFile(path)
other.pragma('wal_checkpoint(TRUNCATE)')
other.close()
const after = await tryLog(log)
await log.close()
process.stdout.write(JSON.stringify({ before, full, after } satisfies LogOutcomes))

async function tryLog(to: LogWriter): Promise<Outcome> {
  return { append: await outcomeOf(append(to)), check: await outcomeOf(to.check()) }
}

async function append(to: LogWriter): Promise<void> {
  await to.append({
    kind: 'track_events',
    workspaceId: 'main',
    requestId: 'r1',
    receivedAt: 0,
    context: {},
    body: BODY,
    events: 1,
    partitionKey: '',
  })
}

async function outcomeOf(attempt: Promise<void>): Promise<string> {
  try {
    await attempt
    return 'done'
  } catch (error) {
    return (error as Error).message
  }
}
