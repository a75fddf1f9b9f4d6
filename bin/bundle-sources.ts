// Makes the bundle that `take-bundles.ts` takes our own sources from: a file for the process and for each of its threads, and
// shared files with what several of them load, or what is loaded only when it is needed.
import { join } from 'node:path'
import { rolldown, type Plugin } from 'rolldown'
import {
  addressOf,
  BUNDLED,
  bundleOf,
  entranceOf,
  listEntrances,
  listShared,
  SHARED,
  SOURCES,
  sourcesBeside,
} from './bundles.ts'
import { makeWhole } from './whole-folders.ts'

/** Does nothing where it is there already. `packages`: where the bundles of packages are. */
export async function bundleSources(packages: string): Promise<void> {
  await makeWhole(sourcesBeside(packages), async (folder) => {
    await writeBundle(folder, packages)
    await Promise.all(listShared(folder).map((file) => import(addressOf(file))))
  })
}

async function writeBundle(folder: string, packages: string): Promise<void> {
  const bundle = await rolldown({
    input: Object.fromEntries(listEntrances().map((file) => [entranceOf(file), join(SOURCES, file)])),
    platform: 'node',
    // What is loaded, and when, is decided by who writes the sources.
    treeshake: false,
    plugins: [asWhereItIs(packages)],
    logLevel: 'silent',
  })
  await bundle.write({ dir: folder, format: 'esm', entryFileNames: '[name]', chunkFileNames: `${SHARED}[hash].mjs` })
  await bundle.close()
}

/** Sources find packages, and other files, as if they were loaded from where they are. */
function asWhereItIs(packages: string): Plugin {
  return {
    name: 'as where it is',
    resolveId: (id, importer) => {
      if (id.startsWith('.') || importer === undefined) return null
      if (BUNDLED.some((name) => name === id)) return { id: addressOf(join(packages, bundleOf(id))), external: true }
      return { id: import.meta.resolve(id), external: true }
    },
    transform: (code, id) =>
      id.startsWith(SOURCES) ? code.replaceAll('import.meta.url', JSON.stringify(addressOf(id))) : null,
  }
}
