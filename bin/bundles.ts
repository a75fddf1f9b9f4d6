// Where the bundles of packages are: one file of each package instead of hundreds. `bundle-packages.ts` makes them, and
// `take-bundles.ts` has them loaded.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Every package of many files that a server loads, or one with a log in NATS. */
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

/** What npm has installed, with the version of everything; it writes this anew with every change. */
const INSTALLED = join(import.meta.dirname, '../node_modules/.package-lock.json')

/** The folder for bundles of exactly what is installed now, among what else is kept; undefined where npm did not install it. */
export function bundlesIn(cache: string, installed = INSTALLED): string | undefined {
  if (!existsSync(installed)) return undefined
  const hash = createHash('sha256').update(readFileSync(installed)).update(BUNDLED.join())
  return join(cache, `packages-${hash.digest('hex').slice(0, 16)}`)
}

/** The name of a package's bundle. */
export function bundleOf(name: string): string {
  return `${name.replaceAll(/[@/]/g, '_')}.mjs`
}
