// Says in plain words why the system or SQLite refused to read or write a file, or to connect.
import { codeOf } from '../thrown.ts'

/** Of the errors of a connection. */
export const NETWORK_PROBLEMS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection broke',
  ETIMEDOUT: 'nothing answered in time',
  EHOSTUNREACH: 'no network leads there',
  ENETUNREACH: 'no network leads there',
  ENOTFOUND: 'the host is unknown',
  EAI_AGAIN: 'the host cannot be resolved',
}

const PROBLEMS: Readonly<Record<string, string>> = {
  EACCES: 'this user lacks the permission',
  EPERM: 'this user lacks the permission',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota of this user is used up',
  EFBIG: 'the file would be larger than the system allows',
  EIO: 'the disk failed',
  EMFILE: 'the process has too many open files',
  ENFILE: 'the system has too many open files',
  ENAMETOOLONG: 'the name is too long',
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  EEXIST: 'it is a file',
  ELOOP: 'its symbolic links lead back to it',
  ...NETWORK_PROBLEMS,
  SQLITE_FULL: 'the disk is full',
  SQLITE_CANTOPEN: 'the file cannot be opened',
  SQLITE_READONLY: 'this user may not write to it',
  SQLITE_PERM: 'this user lacks the permission',
  SQLITE_IOERR_SHMSIZE: 'the disk is full',
  SQLITE_IOERR: 'the disk failed',
  SQLITE_BUSY: 'another process uses it',
  SQLITE_LOCKED: 'another process uses it',
  SQLITE_CORRUPT: 'the file is damaged',
  SQLITE_NOTADB: 'the file is damaged or was not written by Tidings',
  SQLITE_NOMEM: 'there is too little memory',
  SQLITE_TOOBIG: 'a value is too large',
}

/** A phrase without a subject before it; undefined for an error that is neither of the system nor of SQLite. */
export function systemProblem(error: unknown): string | undefined {
  const code = codeOf(error)
  if (!(error instanceof Error) || code === undefined) return undefined
  const isSystem = typeof (error as { errno?: unknown }).errno === 'number'
  if (!isSystem && !code.startsWith('SQLITE_')) return undefined
  return problemOfCode(code) ?? error.message
}

/** The same by the code alone; undefined for a code that nothing is known about. */
export function problemOfCode(code: string): string | undefined {
  // Codes of SQLite may have a suffix, such as SQLITE_IOERR_WRITE.
  const [withoutSuffix = code] = /^SQLITE_[A-Z]+/.exec(code) ?? []
  return PROBLEMS[code] ?? PROBLEMS[withoutSuffix]
}
