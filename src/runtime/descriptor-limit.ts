// Reads how many files and sockets this process may have open at once (`ulimit -n`). Node raises the soft limit to the hard one when
// it starts, so this is what holds.
import { existsSync, readFileSync } from 'node:fs'

const LIMITS = '/proc/self/limits'

/** Infinity if the system has no such limit, or no file that says it, as only Linux has. */
export function readDescriptorLimit(): number {
  if (!existsSync(LIMITS)) return Infinity
  const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync(LIMITS, 'utf8')) ?? []
  return soft === undefined ? Infinity : Number(soft)
}
