// Follows the log of a store to its end in a process that may have no other thread; prints what failed as JSON.
import { join } from 'node:path'
import { LOG_FILE } from '../src/log/open-log.ts'
import { openSqliteLogReader } from '../src/log/sqlite/sqlite-log-reader.ts'
import { LogFollower } from '../src/pipeline/follower/follow-log.ts'
import { findCursor, PIPELINE_CURSOR } from '../src/store/entries/cursors.ts'
import { openDatabase } from '../src/store/open-database.ts'
import { pause, Turnstile } from '../src/store/turnstile.ts'

const LOOK_MS = 20

const [dataDir = ''] = process.argv.slice(2)
const database = openDatabase({ dataDir, databaseUrl: undefined })
const logReader = openSqliteLogReader(join(dataDir, LOG_FILE))
const failures: string[] = []
const follower = new LogFollower({
  database,
  logReader,
  aheadIn: dataDir,
  turnstile: new Turnstile(),
  clock: Date.now,
  onBatch: () => {},
  onFailure: (error, what) => void failures.push(`${what}: ${String(error)}`),
})
const end = await logReader.lastPosition()
follower.start()
while ((await findCursor(database, PIPELINE_CURSOR)) < end) await pause(LOOK_MS)
await follower.stop()
await logReader.close()
await database.close()
process.stdout.write(JSON.stringify(failures))
