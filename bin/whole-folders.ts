// Folders in the cache that are there whole or not at all.
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Says how large every file of a folder is; written last. */
const SIZES = 'sizes.json'

/**
 * Whether everything that was made is there and may be read. It may not be where power failed, old files were cleared away or
 * another user made it for nobody else; no start may fail because of that.
 */
export function areWhole(folder: string): boolean {
  try {
    const sizes = JSON.parse(readFileSync(join(folder, SIZES), 'utf8')) as Readonly<Record<string, number>>
    return Object.entries(sizes).every(([file, size]) => statSync(join(folder, file)).size === size)
  } catch {
    return false
  }
}

/** Makes a folder if it is not there, of the files that `fill` writes; rejects with what that rejects with. */
export async function makeWhole(folder: string, fill: (making: string) => Promise<void>): Promise<void> {
  if (areWhole(folder)) return
  // Whoever may read the rest of the cache may read this too: a temporary folder would be for its maker only.
  const making = `${folder}-${randomUUID()}`
  mkdirSync(making)
  try {
    await fill(making)
    writeSizes(making)
    // What is left of one that is no longer whole.
    if (!areWhole(folder)) rmSync(folder, { recursive: true, force: true })
    // Whoever starts meanwhile sees all of it or nothing.
    renameSync(making, folder)
  } catch (error) {
    rmSync(making, { recursive: true, force: true })
    // Another installation may have made it meanwhile.
    if (!areWhole(folder)) throw error
  }
}

function writeSizes(folder: string): void {
  const sizes = readdirSync(folder).map((file) => [file, statSync(join(folder, file)).size])
  writeFileSync(join(folder, SIZES), JSON.stringify(Object.fromEntries(sizes)))
}
