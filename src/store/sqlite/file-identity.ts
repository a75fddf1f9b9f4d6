// The mark in the header of each file of an embedded store: which of the two files it is, and a random id that both share. It shows
// files that were swapped, that are from different stores, or that lie beside the write-ahead log of another file.
import { randomInt } from 'node:crypto'
import SqliteFile from 'better-sqlite3'
import { BACKUP_ID } from './sqlite-backup.ts'
import { readUserVersion, sizeOf } from './sqlite-header.ts'

/** Application ids of SQLite: `tdns` and `tdnl`. */
const KINDS = { state: 0x74646e73, log: 0x74646e6c, backup: BACKUP_ID } as const
const STORE_ID_MAX = 2 ** 31
const BUSY_WAIT_MS = 5_000

type MarkedKind = keyof typeof KINDS

export interface FileIdentity {
  /** Undefined for a file without a mark. */
  readonly kind: MarkedKind | undefined
  /** 0 if the file has none. */
  readonly storeId: number
  /** The id in the file itself. It differs from `storeId` if the write-ahead log has another one; 0 until a checkpoint. */
  readonly storeIdInFile: number
  /** Whether the file has no tables. */
  readonly isEmpty: boolean
}

/** Reads the mark, and changes nothing. Undefined if the file is missing, has no content, or is no SQLite file. */
export function readFileIdentity(path: string): FileIdentity | undefined {
  if (sizeOf(path) === 0) return undefined
  try {
    const file = new SqliteFile(path, { readonly: true, timeout: BUSY_WAIT_MS })
    try {
      const applicationId = file.pragma('application_id', { simple: true })
      const kind = (Object.keys(KINDS) as MarkedKind[]).find((name) => KINDS[name] === applicationId)
      return {
        kind,
        storeId: kind === undefined ? 0 : readStoreId(file),
        storeIdInFile: kind === undefined ? 0 : readUserVersion(path),
        isEmpty: file.prepare('select 1 from sqlite_master').get() === undefined,
      }
    } finally {
      file.close()
    }
  } catch (error) {
    // The code that opens the file for its work reports what is wrong with it.
    if (error instanceof SqliteFile.SqliteError) return undefined
    throw error
  }
}

/**
 * Marks the two files of a store as belonging together, unless they are marked. Several processes may do so at once: the id of the
 * state file decides.
 */
export function markStoreFiles(statePath: string, logPath: string): void {
  const storeId = markFile(statePath, 'state', randomInt(1, STORE_ID_MAX))
  markFile(logPath, 'log', storeId)
}

/** Returns the id that the file has afterwards. */
function markFile(path: string, kind: MarkedKind, storeId: number): number {
  const file = new SqliteFile(path, { fileMustExist: true, timeout: BUSY_WAIT_MS })
  try {
    const mark = file.transaction(() => {
      if (file.pragma('application_id', { simple: true }) === KINDS[kind]) return readStoreId(file)
      file.pragma(`application_id = ${KINDS[kind]}`)
      file.pragma(`user_version = ${storeId}`)
      return storeId
    })
    return mark.immediate()
  } finally {
    file.close()
  }
}

function readStoreId(file: SqliteFile.Database): number {
  return file.pragma('user_version', { simple: true }) as number
}
