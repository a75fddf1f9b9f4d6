// Loaded by `warm-up.ts` before a command: loads every source, even what only some settings need.
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isMainThread, Worker } from 'node:worker_threads'
import { findBundles, INSTALLED_CACHE, listModules, listShared, SOURCES } from './bundles.ts'
import { keepNewObjectsYoung } from '../src/runtime/keep-young.ts'

/** What threads begin with is loaded by a start of the server, but for these, which it starts later. They end when they are told to. */
const STARTED_LATER = {
  'store/sqlite/sqlite-checkpoints-thread.ts': { paths: [] },
}

// The thread loads this file too, because it inherits the options of its process.
if (isMainThread) {
  await loadAll()
  await startLater()
}

async function loadAll(): Promise<void> {
  const { NODE_COMPILE_CACHE: cache = INSTALLED_CACHE } = process.env
  const bundle = findBundles(cache)?.sources
  const files = bundle === undefined ? listModules().map((file) => join(SOURCES, file)) : listShared(bundle)
  await Promise.all(files.map((file) => import(pathToFileURL(file).href)))
}

/** As a server does: code that was compiled under another setting is not taken. */
async function startLater(): Promise<void> {
  keepNewObjectsYoung()
  for (const [source, workerData] of Object.entries(STARTED_LATER)) {
    const thread = new Worker(join(SOURCES, source), { workerData })
    thread.postMessage('stop')
    await once(thread, 'exit')
  }
}
