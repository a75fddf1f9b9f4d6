// Where tests keep their stores: in memory if the system has a folder there with enough room. Suites with stores on disk wait for it about
// half of their time.
import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** Linux has it; a container may have little room there. */
const MEMORY = '/dev/shm'
/** Several times what all suites hold at once. */
const ROOM_BYTES_MIN = 4 * 1024 ** 3

/** The environment variable TMPDIR chooses another. */
export const TEMPORARY_FOLDER = process.env['TMPDIR'] ?? (hasRoomInMemory() ? MEMORY : tmpdir())

function hasRoomInMemory(): boolean {
  if (!existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize >= ROOM_BYTES_MIN
}
