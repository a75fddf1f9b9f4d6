// Makes the bundles that `take-bundles.ts` takes packages from: for each package one file with everything that it loads, and
// shared files with what several of them load.
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown, type Plugin } from 'rolldown'
import { areWhole, BUNDLED, bundleOf, bundlesIn, SIZES } from './bundles.ts'

/** Does nothing where they are there already, or where it cannot be told what is installed. */
export async function bundlePackages(cache: string): Promise<void> {
  const folder = bundlesIn(cache)
  if (folder === undefined || areWhole(folder)) return
  // Whoever may read the rest of the cache may read this too: a temporary folder would be for its maker only.
  const making = `${folder}-${randomUUID()}`
  mkdirSync(making)
  try {
    await writeBundles(making)
    await loadBundles(making)
    writeSizes(making)
    // What is left of bundles that are no longer whole.
    if (!areWhole(folder)) rmSync(folder, { recursive: true, force: true })
    // Whoever starts meanwhile sees all of them or none.
    renameSync(making, folder)
  } catch (error) {
    rmSync(making, { recursive: true, force: true })
    // Another installation may have made them meanwhile.
    if (!areWhole(folder)) throw error
  }
}

async function writeBundles(folder: string): Promise<void> {
  const sources = new Map<string, string>()
  for (const name of BUNDLED) sources.set(`${ENTRANCE}${name}`, await writeEntrance(name))
  const bundle = await rolldown({
    input: Object.fromEntries(BUNDLED.map((name) => [bundleOf(name), `${ENTRANCE}${name}`])),
    cwd: join(import.meta.dirname, '..'),
    platform: 'node',
    // Loaded only where it is installed, and then it is compiled code.
    external: ['pg-native'],
    treeshake: false,
    plugins: [entrances(sources)],
    logLevel: 'silent',
  })
  await bundle.write({ dir: folder, format: 'esm', entryFileNames: '[name]', chunkFileNames: 'shared-[hash].mjs' })
  await bundle.close()
}

/** A bundle that cannot be loaded from where it is must not be found by a start. */
async function loadBundles(folder: string): Promise<void> {
  await Promise.all(BUNDLED.map((name) => import(pathToFileURL(join(folder, bundleOf(name))).href)))
}

function writeSizes(folder: string): void {
  const sizes = readdirSync(folder).map((file) => [file, statSync(join(folder, file)).size])
  writeFileSync(join(folder, SIZES), JSON.stringify(Object.fromEntries(sizes)))
}

const ENTRANCE = 'entrance:'

/** A module with the exports that Node finds in a package: of a CommonJS package the bundler would only know the whole. */
async function writeEntrance(name: string): Promise<string> {
  const exported = Object.keys((await import(name)) as object)
  const from = JSON.stringify(name)
  if (!exported.includes('module.exports')) {
    return [`export * from ${from}`, ...(exported.includes('default') ? [`export { default } from ${from}`] : [])].join(
      '\n',
    )
  }
  const named = exported.filter((one) => one !== 'module.exports' && one !== 'default')
  return `import whole from ${from}\nexport default whole\nexport const { ${named.join(', ')} } = whole`
}

function entrances(sources: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'entrances',
    resolveId: (id) => (sources.has(id) ? id : null),
    load: (id) => sources.get(id) ?? null,
  }
}
