// Moves pages from the write-ahead logs of SQLite files into the files, a round at a time: often while much is written, seldom
// while little is. Started by `sqlite-checkpoints.ts`. A write-ahead log can begin anew only when none of it waits to be moved,
// which never happens by itself while somebody writes without pause. Whoever commits moves pages too when very many wait.
import { closeSync, openSync, readSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import SqliteFile from 'better-sqlite3'

/** Between two rounds. */
const PAUSE_MS_MIN = 50
const PAUSE_MS_MAX = 1_600
/**
 * A write-ahead log of this size begins anew as soon as all of it is moved. Its writers wait a moment for that; otherwise they
 * would do it themselves later, with much more, and wait for that. Rounds come about as often as so much is written: a page that
 * is written again and again is moved once a round.
 */
const BEGIN_ANEW_BYTES = 8 * 1024 * 1024

/** Where the write-ahead log says how often it has begun anew. */
const CHECKPOINT_SEQUENCE_AT = 12

/** What SQLite answers: all pages in the write-ahead log; -1 when the file is held by someone else. */
interface Checkpoint {
  readonly log: number
}

class CheckpointedFile {
  readonly #path: string
  #file: SqliteFile.Database | undefined
  /** Pages in the write-ahead log when it was last looked at, and which of its beginnings that was behind. */
  #known = 0
  #beginning: number | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** Moves what no reader needs in the write-ahead log any more; gives how many bytes were new. */
  checkpoint(): number {
    try {
      const file = (this.#file ??= openFile(this.#path))
      const pageBytes = file.pragma('page_size', { simple: true }) as number
      return this.#bringInPages(file, BEGIN_ANEW_BYTES / pageBytes) * pageBytes
    } catch {
      // A disk that refuses, or has the file no more, is noticed and reported by those who commit.
      return 0
    }
  }

  #bringInPages(file: SqliteFile.Database, beginAnewPages: number): number {
    const fresh = this.#bringIn(file, 'PASSIVE')
    // Little was written meanwhile, and next to nothing while that little is moved: only for the last do writers have to wait.
    if (fresh === 0 || this.#known < beginAnewPages) return fresh
    return fresh + this.#bringIn(file, 'PASSIVE') + this.#bringIn(file, 'FULL')
  }

  /** `FULL` does nothing while somebody writes, or reads what is older. */
  #bringIn(file: SqliteFile.Database, mode: 'PASSIVE' | 'FULL'): number {
    const [{ log } = { log: -1 }] = file.pragma(`wal_checkpoint(${mode})`) as Checkpoint[]
    if (log < 0) return 0
    const beginning = readBeginning(this.#path)
    const fresh = beginning === this.#beginning ? Math.max(0, log - this.#known) : log
    this.#known = log
    this.#beginning = beginning
    return fresh
  }

  close(): void {
    this.#file?.close()
  }
}

/** A number that grows each time the write-ahead log begins anew ("Checkpoint sequence number" in SQLite's file format). */
function readBeginning(path: string): number {
  const file = openSync(`${path}-wal`, 'r')
  try {
    const number = Buffer.alloc(4)
    readSync(file, number, 0, number.length, CHECKPOINT_SEQUENCE_AT)
    return number.readUInt32BE()
  } finally {
    closeSync(file)
  }
}

/** Throws where there is no such file: it was removed since the server has opened it, and a new one would be taken for it. */
function openFile(path: string): SqliteFile.Database {
  const file = new SqliteFile(path, { timeout: 0, fileMustExist: true })
  file.pragma('query_only = ON')
  return file
}

const port = parentPort
if (!port) throw new Error('sqlite-checkpoints-thread.ts is started as a thread')
const files = (workerData as { paths: readonly string[] }).paths.map((path) => new CheckpointedFile(path))
let pauseMs = PAUSE_MS_MIN
let lastRoundAt = performance.now()
let timer = setTimeout(checkpointAll, pauseMs)

port.once('message', () => {
  clearTimeout(timer)
  for (const file of files) file.close()
  port.close()
})

function checkpointAll(): void {
  const most = Math.max(...files.map((file) => file.checkpoint()))
  const now = performance.now()
  const untilWritten = ((now - lastRoundAt) * BEGIN_ANEW_BYTES) / most
  pauseMs = Math.max(PAUSE_MS_MIN, Math.min(PAUSE_MS_MAX, pauseMs * 2, untilWritten))
  lastRoundAt = now
  timer = setTimeout(checkpointAll, pauseMs)
}
