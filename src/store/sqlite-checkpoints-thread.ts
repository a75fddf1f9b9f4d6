// Brings pages into SQLite files, a round at a time: soon again while much is written, seldom while little is. Started by
// `sqlite-checkpoints.ts`. What is beside a file can begin anew only when nothing of it waits, which never happens by itself
// while somebody writes without pause. Whoever commits does it too when very much waits.
import { parentPort, workerData } from 'node:worker_threads'
import SqliteFile from 'better-sqlite3'

/** Between two rounds. */
const PAUSE_MS_MIN = 50
const PAUSE_MS_MAX = 1_600
/** A round with less that is new waits longer for the next. */
const FEW_BYTES = 2 * 1024 * 1024

/**
 * So much beside a file begins anew as soon as all is brought in, for which its writers wait a moment: they would do it
 * themselves later, with much more, and wait for that.
 */
const BEGIN_ANEW_BYTES = 8 * 1024 * 1024

/** What SQLite answers: pages beside the file in all; -1 when the file is held by someone else. */
interface Checkpoint {
  readonly log: number
}

class CheckpointedFile {
  readonly #file: SqliteFile.Database
  readonly #pageBytes: number
  /** Pages beside the file when it was last looked at. */
  #known = 0

  constructor(path: string) {
    this.#file = new SqliteFile(path, { timeout: 0 })
    this.#file.pragma('query_only = ON')
    this.#pageBytes = this.#file.pragma('page_size', { simple: true }) as number
  }

  /** Brings in what no reader needs beside the file any more; gives how many bytes were new. */
  checkpoint(): number {
    return this.#bringInPages() * this.#pageBytes
  }

  #bringInPages(): number {
    try {
      const fresh = this.#bringIn('PASSIVE')
      // What was written meanwhile is little, and after it once more all but nothing: only for that must writers wait.
      if (fresh === 0 || this.#known * this.#pageBytes < BEGIN_ANEW_BYTES) return fresh
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
  pauseMs = most < FEW_BYTES ? Math.min(PAUSE_MS_MAX, pauseMs * 2) : PAUSE_MS_MIN
  timer = setTimeout(checkpointAll, pauseMs)
}
