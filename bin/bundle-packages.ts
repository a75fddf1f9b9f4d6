// Makes the bundles that `take-bundles.ts` takes packages from: for each package one file with everything that it loads, and
// shared files with what several of them load.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown, type Plugin } from 'rolldown'
import { BUNDLED, bundleOf, packagesIn } from './bundles.ts'
import { makeWhole } from './whole-folders.ts'

/**
 * Does nothing where they are there already. Gives their folder; undefined where none is made, because it cannot be told what is
 * installed.
 */
export async function bundlePackages(cache: string): Promise<string | undefined> {
  const folder = packagesIn(cache)
  if (folder === undefined) return undefined
  await makeWhole(folder, async (making) => {
    await writeBundles(making)
    await loadBundles(making)
  })
  return folder
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
