// Loaded by `warm-up.ts` before a command: loads every source, even what only some settings need.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const SOURCES = join(import.meta.dirname, '../src')
/** These do something when they are loaded; a start of the server loads them too. */
const ENTRANCES = /(?:-thread|^main)\.ts$/

const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
const sources = files.filter((file) => file.endsWith('.ts') && !ENTRANCES.test(file))
await Promise.all(sources.map((file) => import(pathToFileURL(join(SOURCES, file)).href)))
