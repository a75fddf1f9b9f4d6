// Brings pages into SQLite files, a round at a time: soon again while much is written, seldom while little is. Started by
// `sqlite-checkpoints.ts`. Whoever commits does it too when very much waits.
import { parentPort, workerData } from 'node:worker_threads'
import SqliteFile from 'better-sqlite3'

/** Between two rounds. */
const PAUSE_MS_MIN = 50
const PAUSE_MS_MAX = 1_600
/** A round with fewer new pages than this waits longer for the next. */
const FEW_PAGES = 500

/** What SQLite answers: pages beside the file in all; -1 when the file is held by someone else. */
interface Checkpoint {
  readonly log: number
}

class CheckpointedFile {
  readonly #file: SqliteFile.Database
  #known = 0

  constructor(path: string) {
    this.#file = new SqliteFile(path, { timeout: 0 })
    this.#file.pragma('query_only = ON')
  }

  /** Brings in what no reader needs beside the file any more; gives how many pages were new. */
  checkpoint(): number {
    try {
      const [{ log } = { log: -1 }] = this.#file.pragma('wal_checkpoint(PASSIVE)') as Checkpoint[]
      if (log < 0) return 0
      // Fewer than before: the file beside it was begun anew.
      const fresh = log < this.#known ? log : log - this.#known
      this.#known = log
      return fresh
    } catch {
      // A disk that refuses is found, and reported, by those who commit.
      return 0
    }
  }

  close(): void {
    this.#file.close()
  }
}

const port = parentPort
if (!port) throw new Error('sqlite-checkpoints-thread.ts is started as a thread')
const files = (workerData as { paths: readonly string[] }).paths.map((path) => new CheckpointedFile(path))
let pauseMs = PAUSE_MS_MIN
let timer = setTimeout(checkpointAll, pauseMs)

port.once('message', () => {
  clearTimeout(timer)
  for (const file of files) file.close()
  port.close()
})

function checkpointAll(): void {
  const most = Math.max(...files.map((file) => file.checkpoint()))
  pauseMs = most < FEW_PAGES ? Math.min(PAUSE_MS_MAX, pauseMs * 2) : PAUSE_MS_MIN
  timer = setTimeout(checkpointAll, pauseMs)
}
