// Loaded before everything else, in every thread: from now on imports of packages, and the starts of threads, lead to bundles
// where `npm ci` has made bundles of exactly what is there. What they import from each other is in the bundles already.
import { registerHooks } from 'node:module'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'
import { addressesIn, findBundles, INSTALLED_CACHE } from './bundles.ts'

/** What a process has found for its threads. */
const FOUND = 'addresses of bundles'

const addresses = isMainThread ? find() : (getEnvironmentData(FOUND) as Map<string, string> | undefined)
if (addresses) takeFrom(addresses)

function find(): Map<string, string> | undefined {
  const { NODE_COMPILE_CACHE: cache = INSTALLED_CACHE } = process.env
  // Whoever starts Tidings may keep compiled code elsewhere than whoever installed it; empty where nothing that was kept is wanted.
  const bundles = cache === '' ? undefined : (findBundles(cache) ?? findBundles(INSTALLED_CACHE))
  const found = bundles && addressesIn(bundles)
  setEnvironmentData(FOUND, found)
  return found
}

function takeFrom(addresses: ReadonlyMap<string, string>): void {
  registerHooks({
    resolve(specifier, context, next) {
      const url = addresses.get(specifier)
      if (url === undefined || !context.conditions.includes('import')) return next(specifier, context)
      return { url, format: 'module', shortCircuit: true }
    },
  })
}
