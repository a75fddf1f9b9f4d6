// Brings pages into SQLite files, a round at a time: soon again while much is written, seldom while little is. Started by
// `sqlite-checkpoints.ts`. What is beside a file can begin anew only when nothing of it waits, which never happens by itself
// while somebody writes without pause. Whoever commits does it too when very much waits.
import { parentPort, workerData } from 'node:worker_threads'
import SqliteFile from 'better-sqlite3'

/** Between two rounds. */
const PAUSE_MS_MIN = 50
const PAUSE_MS_MAX = 1_600
/** A round with fewer new pages than this waits longer for the next. */
const FEW_PAGES = 500

/**
 * So many pages beside a file begin anew as soon as all are brought in, for which its writers wait a moment: they would do it
 * themselves later, with many more pages, and wait for that.
 */
const BEGIN_ANEW_PAGES = 2_000

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
      const fresh = this.#bringIn('PASSIVE')
      // What was written meanwhile is little, and after it once more all but nothing: only for that must writers wait.
      if (fresh === 0 || this.#known < BEGIN_ANEW_PAGES) return fresh
      return fresh + this.#bringIn('PASSIVE') + this.#bringIn('FULL')
    } catch {
      // A disk that refuses is found, and reported, by those who commit.
      return 0
    }
  }

  /** `FULL` does nothing while somebody writes, or reads what is older. */
  #bringIn(mode: 'PASSIVE' | 'FULL'): number {
    const [{ log } = { log: -1 }] = this.#file.pragma(`wal_checkpoint(${mode})`) as Checkpoint[]
    if (log < 0) return 0
    // Fewer than before: the file beside it was begun anew.
    const fresh = log < this.#known ? log : log - this.#known
    this.#known = log
    return fresh
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
