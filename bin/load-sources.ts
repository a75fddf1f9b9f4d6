// Loaded by `warm-up.ts` before a command: loads every source, even what only some settings need.
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isMainThread, Worker } from 'node:worker_threads'

const SOURCES = join(import.meta.dirname, '../src')
/** These do something when they are loaded; a start of the server loads them too … */
const ENTRANCES = /(?:-thread|^main)\.ts$/
/** … but for this thread, which is started when there is much to do. It ends when it is told to. */
const STARTED_LATER = 'pipeline/ahead/ahead-thread.ts'

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

async function startLater(): Promise<void> {
  const thread = new Worker(join(SOURCES, STARTED_LATER), { workerData: { dataDir: '' } })
  thread.postMessage('stop')
  await once(thread, 'exit')
}
