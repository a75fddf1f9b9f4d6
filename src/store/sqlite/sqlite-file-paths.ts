// The files of an SQLite database.

/** The paths of an SQLite file and of the files that SQLite may create beside it. */
export function sqliteFilePaths(path: string): string[] {
  return ['', '-wal', '-shm', '-journal'].map((suffix) => path + suffix)
}
