// Where the bundles of packages are: one file for each package instead of hundreds. `bundle-packages.ts` makes them, and
// `take-bundles.ts` has them loaded.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** Every package with many files that a server loads, also one with its log in NATS. */
export const BUNDLED = [
  '@nats-io/jetstream',
  '@nats-io/transport-node',
  'ajv',
  'fastify',
  'kysely',
  'pg',
  'pino',
  'prom-client',
  'typebox',
  'uuid',
] as const

/** Where an installation keeps what it makes, unless `NODE_COMPILE_CACHE` names another place. */
export const INSTALLED_CACHE = join(import.meta.dirname, '../node_modules/.cache/tidings')

/** What npm has installed, with the version of everything; it writes this anew with every change. */
const INSTALLED = join(import.meta.dirname, '../node_modules/.package-lock.json')
/** The maker of the bundles: what a newer version of it makes must not be confused with what an older one made. */
const MAKER = join(import.meta.dirname, 'bundle-packages.ts')
/** Says how large every file of a folder of bundles is; written last. */
export const SIZES = 'sizes.json'

/** The folder in the cache for bundles of exactly what is installed now; undefined where npm did not install it. */
export function bundlesIn(cache: string, installed = INSTALLED, maker = MAKER): string | undefined {
  if (!existsSync(installed)) return undefined
  const hash = createHash('sha256').update(readFileSync(installed)).update(BUNDLED.join()).update(readFileSync(maker))
  return resolve(cache, `packages-${hash.digest('hex').slice(0, 16)}`)
}

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

/** The name of a package's bundle. */
export function bundleOf(name: string): string {
  return `${name.replaceAll(/[@/]/g, '_')}.mjs`
}
