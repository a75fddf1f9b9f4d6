// Makes a checkout with only what a start needs: copies of the sources, and links to the packages.
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

const PARTS = ['bin', 'src', 'dashboard', 'package.json', 'package-lock.json']

/** Makes a checkout without packages in a folder that does not exist yet. Returns its `bin/tidings`. */
export function copyCheckout(checkout: string): string {
  mkdirSync(checkout)
  for (const part of PARTS) cpSync(join(ROOT, part), join(checkout, part), { recursive: true })
  return join(checkout, 'bin', 'tidings')
}

/** Links the packages that are installed here, or some of them, into a checkout. Returns the folder of packages. */
export function linkModules(checkout: string, isWanted: (entry: string) => boolean): string {
  const modules = join(checkout, 'node_modules')
  mkdirSync(modules)
  for (const entry of readdirSync(join(ROOT, 'node_modules')).filter(isWanted))
    symlinkSync(join(ROOT, 'node_modules', entry), join(modules, entry))
  return modules
}
