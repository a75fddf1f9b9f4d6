// A checkout with only what a start needs: copies of the sources, and links to the packages.
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BIN } from '../support/program.ts'

const ROOT = dirname(dirname(BIN))

/** Makes it in a folder that is not there yet, without any packages; returns its `bin/tidings`. */
export function copyCheckout(checkout: string): string {
  mkdirSync(checkout)
  for (const part of ['bin', 'src', 'package.json']) cpSync(join(ROOT, part), join(checkout, part), { recursive: true })
  return join(checkout, 'bin', 'tidings')
}

/** Links what is installed here, or some of it, into it; returns the folder. */
export function linkModules(checkout: string, isWanted: (entry: string) => boolean): string {
  const modules = join(checkout, 'node_modules')
  mkdirSync(modules)
  for (const entry of readdirSync(join(ROOT, 'node_modules')).filter(isWanted))
    symlinkSync(join(ROOT, 'node_modules', entry), join(modules, entry))
  return modules
}
