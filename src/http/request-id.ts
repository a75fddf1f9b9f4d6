// The id of every request: a UUID of version 7, which begins with the time, so that rows stored by it stand together.
import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'

const ID_BYTES = 16
/** Random bytes fetched at once: one system call for 256 ids instead of one for each. */
const pool = new Uint8Array(256 * ID_BYTES)
let used = pool.byteLength

export function newRequestId(): string {
  return v7({ rng: nextRandomBytes })
}

function nextRandomBytes(): Uint8Array {
  if (used >= pool.byteLength) {
    randomFillSync(pool)
    used = 0
  }
  const bytes = pool.slice(used, used + ID_BYTES)
  used += ID_BYTES
  return bytes
}
