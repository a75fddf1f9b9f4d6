// Loaded by `warm-up.ts` before a command: loads every source, even what only some settings need.
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isMainThread, Worker } from 'node:worker_threads'
import { keepNewObjectsYoung } from '../src/commands/keep-young.ts'

const SOURCES = join(import.meta.dirname, '../src')
/** These do something when they are loaded; a start of the server loads them too … */
const ENTRANCES = /(?:-thread|^main)\.ts$/
/** … but for these threads, which it starts later. They end when they are told to. */
const STARTED_LATER = {
  'pipeline/ahead/ahead-thread.ts': { dataDir: '' },
  'store/sqlite/sqlite-checkpoints-thread.ts': { paths: [] },
}

// The thread loads this file too, because it inherits the options of its process.
if (isMainThread) {
  await loadAll()
  await startLater()
}

async function loadAll(): Promise<void> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  const sources = files.filter((file) => file.endsWith('.ts') && !ENTRANCES.test(file))
  await Promise.all(sources.map((file) => import(pathToFileURL(join(SOURCES, file)).href)))
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
