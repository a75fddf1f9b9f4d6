// Makes the folder that a store is in.
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { codeOf } from '../core/thrown.ts'

/**
 * Makes a folder, and those above it, unless it is there; throws the system's error. Node's own `recursive` never returns in a
 * folder where there can be no others, such as /proc.
 */
export function makeFolder(path: string): void {
  const above = dirname(resolve(path))
  try {
    mkdirSync(path)
  } catch (error) {
    if (isFolder(path)) return
    if (codeOf(error) !== 'ENOENT' || existsSync(above)) throw error
    makeFolder(above)
    makeFolder(path)
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
