// The thread of `sqlite-checkpoints.ts`: checkpoints SQLite files in rounds, often under heavy writes, seldom otherwise. SQLite can
// restart a write-ahead log only when all its pages are checkpointed, which never happens by itself under constant writes. When
// very many pages wait, commits checkpoint too.
import { closeSync, openSync, readSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import SqliteFile from 'better-sqlite3'

/** The pause between two rounds. */
const PAUSE_MS_MIN = 50
const PAUSE_MS_MAX = 1_600
/**
 * From this size on, a full checkpoint lets the write-ahead log restart. Writers wait a moment for it; otherwise a commit would do
 * it later, with far more pages. There is about one round for each so many bytes written: a page written many times is moved once a
 * round.
 */
const WAL_RESTART_BYTES = 8 * 1024 * 1024

/** The offset of the checkpoint sequence number in the header of the write-ahead log. */
const CHECKPOINT_SEQUENCE_AT = 12

/** The result of `wal_checkpoint`: the pages in the write-ahead log; -1 if another connection has locked the file. */
interface Checkpoint {
  readonly log: number
}

class CheckpointedFile {
  readonly #path: string
  #file: SqliteFile.Database | undefined
  /** Pages in the write-ahead log after the last round, and the checkpoint sequence number then. */
  #walPages = 0
  #sequence: number | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** Moves the pages that no reader needs into the file; returns the bytes written since the last round. */
  checkpoint(): number {
    try {
      const file = (this.#file ??= openFile(this.#path))
      const pageBytes = file.pragma('page_size', { simple: true }) as number
      return this.#checkpointPages(file, WAL_RESTART_BYTES / pageBytes) * pageBytes
    } catch {
      // If the disk fails or the file is gone, commits report it.
      return 0
    }
  }

  #checkpointPages(file: SqliteFile.Database, restartPages: number): number {
    const fresh = this.#runCheckpoint(file, 'PASSIVE')
    // Writers wait for FULL only. The second PASSIVE leaves it the few pages written during the first.
    if (fresh === 0 || this.#walPages < restartPages) return fresh
    return fresh + this.#runCheckpoint(file, 'PASSIVE') + this.#runCheckpoint(file, 'FULL')
  }

  /** `FULL` does nothing while a writer, or a reader of an older snapshot, is active. */
  #runCheckpoint(file: SqliteFile.Database, mode: 'PASSIVE' | 'FULL'): number {
    const [{ log } = { log: -1 }] = file.pragma(`wal_checkpoint(${mode})`) as Checkpoint[]
    if (log < 0) return 0
    const sequence = readCheckpointSequence(this.#path)
    const fresh = sequence === this.#sequence ? Math.max(0, log - this.#walPages) : log
    this.#walPages = log
    this.#sequence = sequence
    return fresh
  }

  close(): void {
    this.#file?.close()
  }
}

/** Grows each time the write-ahead log restarts ("Checkpoint sequence number" in SQLite's file format). */
function readCheckpointSequence(path: string): number {
  const file = openSync(`${path}-wal`, 'r')
  try {
    const number = Buffer.alloc(4)
    readSync(file, number, 0, number.length, CHECKPOINT_SEQUENCE_AT)
    return number.readUInt32BE()
  } finally {
    closeSync(file)
  }
}

/** Throws if the file is missing: someone removed it after the server opened it, and a new empty file must not replace it. */
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
  const untilWritten = ((now - lastRoundAt) * WAL_RESTART_BYTES) / most
  pauseMs = Math.max(PAUSE_MS_MIN, Math.min(PAUSE_MS_MAX, pauseMs * 2, untilWritten))
  lastRoundAt = now
  timer = setTimeout(checkpointAll, pauseMs)
}
