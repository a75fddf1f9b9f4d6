// Makes the folder of a store.
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { codeOf } from '../core/thrown.ts'

/**
 * Makes a folder and its parents unless they exist. Throws the system's error. `mkdir` with `recursive` never returns for a path in
 * a folder that cannot hold folders, such as /proc.
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
