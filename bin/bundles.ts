// Where the bundles of packages and of our own sources are: a few files instead of hundreds. `bundle-packages.ts` and
// `bundle-sources.ts` make them, and `take-bundles.ts` has them loaded.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { areWhole } from './whole-folders.ts'

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
export const SOURCES = join(import.meta.dirname, '../src')

/** What npm has installed, with the version of everything; it writes this anew with every change. */
const INSTALLED = join(import.meta.dirname, '../node_modules/.package-lock.json')
/** The makers of the bundles: what a newer version of one makes must not be confused with what an older one made. */
const PACKAGES_MAKER = join(import.meta.dirname, 'bundle-packages.ts')
const SOURCES_MAKER = join(import.meta.dirname, 'bundle-sources.ts')
/** How the names of files begin that hold what several others of a bundle load, or what is loaded when it is needed. */
export const SHARED = 'shared-'
const ENTRANCES = /(?:-thread|^main)\.ts$/

/** The folder in the cache for bundles of exactly what is installed now; undefined where npm did not install it. */
export function packagesIn(cache: string, installed = INSTALLED, maker = PACKAGES_MAKER): string | undefined {
  if (!existsSync(installed)) return undefined
  const hash = createHash('sha256').update(readFileSync(installed)).update(BUNDLED.join()).update(readFileSync(maker))
  return resolve(cache, `packages-${hash.digest('hex').slice(0, 16)}`)
}

/** The folder beside bundles of packages for a bundle of exactly the sources that are there now, in this place. */
export function sourcesBeside(packages: string, sources = SOURCES, maker = SOURCES_MAKER): string {
  const hash = createHash('sha256').update(`${sources}\0${packages}\0`).update(readFileSync(maker))
  for (const file of listSources(sources)) hash.update(`${file}\0`).update(readFileSync(join(sources, file)))
  return resolve(packages, `../sources-${hash.digest('hex').slice(0, 16)}`)
}

/** Every source, relative to the folder of all. */
function listSources(sources: string): string[] {
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' })
  return files.filter((file) => file.endsWith('.ts')).toSorted()
}

/** Sources that do nothing when they are loaded. */
export function listModules(): string[] {
  return listSources(SOURCES).filter((file) => !ENTRANCES.test(file))
}

/** Sources with which a process begins, or a thread. */
export function listEntrances(): string[] {
  return listSources(SOURCES).filter((file) => ENTRANCES.test(file))
}

/** The bundles in one cache, as far as they are whole. */
export interface Bundles {
  readonly packages: string
  readonly sources: string | undefined
}

export function findBundles(cache: string): Bundles | undefined {
  const packages = packagesIn(cache)
  if (packages === undefined || !areWhole(packages)) return undefined
  const sources = sourcesBeside(packages)
  return { packages, sources: areWhole(sources) ? sources : undefined }
}

/** What is imported → the address of what is loaded for it. */
export function addressesIn({ packages, sources }: Bundles): Map<string, string> {
  const addresses = new Map<string, string>(BUNDLED.map((name) => [name, addressOf(join(packages, bundleOf(name)))]))
  if (sources === undefined) return addresses
  for (const file of listEntrances())
    addresses.set(addressOf(join(SOURCES, file)), addressOf(join(sources, entranceOf(file))))
  return addresses
}

export function addressOf(path: string): string {
  return pathToFileURL(path).href
}

/** The name of a package's bundle. */
export function bundleOf(name: string): string {
  return `${name.replaceAll(/[@/]/g, '_')}.mjs`
}

/** Where in a bundle of sources a process or thread begins. */
export function entranceOf(file: string): string {
  return file.replaceAll('/', '_').replace(/\.ts$/, '.mjs')
}

/** The files of a bundle of sources that do nothing when they are loaded. */
export function listShared(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.startsWith(SHARED))
    .map((file) => join(folder, file))
}
