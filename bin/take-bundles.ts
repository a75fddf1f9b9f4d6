// Loaded before everything else, in every thread: from now on imports of packages lead to their bundles, where `npm ci` has made
// bundles of what is installed. What packages require from each other is in the bundles already.
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { areWhole, BUNDLED, bundleOf, bundlesIn, INSTALLED_CACHE } from './bundles.ts'

const { NODE_COMPILE_CACHE: cache = INSTALLED_CACHE } = process.env
// Whoever starts Tidings may keep compiled code elsewhere than whoever installed it; empty where nothing that was kept is wanted.
const folder = cache === '' ? undefined : (wholeIn(cache) ?? wholeIn(INSTALLED_CACHE))
if (folder !== undefined) takeFrom(folder)

function wholeIn(kept: string): string | undefined {
  const folder = bundlesIn(kept)
  return folder !== undefined && areWhole(folder) ? folder : undefined
}

function takeFrom(folder: string): void {
  const urls = new Map<string, string>(BUNDLED.map((name) => [name, pathToFileURL(join(folder, bundleOf(name))).href]))
  registerHooks({
    resolve(specifier, context, next) {
      const url = urls.get(specifier)
      if (url === undefined || !context.conditions.includes('import')) return next(specifier, context)
      return { url, format: 'module', shortCircuit: true }
    },
  })
}
