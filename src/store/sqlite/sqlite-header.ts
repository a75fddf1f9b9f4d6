// Reads the header of an SQLite file without SQLite, which also reads the write-ahead log and waits for locks.
import { closeSync, openSync, readSync, statSync } from 'node:fs'

/** The offset of the user version in SQLite's file format. */
const USER_VERSION_AT = 60

/** The user version in the file itself; 0 if the file is shorter than a header. */
export function readUserVersion(path: string): number {
  const file = openSync(path, 'r')
  try {
    const version = Buffer.alloc(4)
    readSync(file, version, 0, version.length, USER_VERSION_AT)
    return version.readInt32BE()
  } finally {
    closeSync(file)
  }
}

/** The size of a file in bytes; 0 if it is missing. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
