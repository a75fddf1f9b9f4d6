// Loaded by `warm-up.ts` before a command: every source, also what only some settings need.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const SOURCES = join(import.meta.dirname, '../src')
/** They do something when they are loaded; to start the server loads them too. */
const ENTRANCES = /(?:-thread|^main)\.ts$/

const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
const sources = files.filter((file) => file.endsWith('.ts') && !ENTRANCES.test(file))
await Promise.all(sources.map((file) => import(pathToFileURL(join(SOURCES, file)).href)))
