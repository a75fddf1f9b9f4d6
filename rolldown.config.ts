// Builds `dist/`, which the image runs instead of the sources: a file for the process, one for each kind of thread, and what they
// share, all in one folder. Packages are bundled too, except compiled ones.
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { defineConfig, type Plugin } from 'rolldown'

const ENTRIES = ['src/main.ts', ...globSync('src/**/*-thread.ts')]

/** A thread is started by `new URL('./NAME-thread.ts', import.meta.url)`. */
const startBuiltThreads: Plugin = {
  name: 'start built threads',
  transform: (code) => code.replaceAll(/(?<=new URL\('\.\/[\w-]+-thread)\.ts(?=')/g, '.js'),
}

export default defineConfig({
  input: Object.fromEntries(ENTRIES.map((path) => [basename(path, '.ts'), path])),
  platform: 'node',
  // A package's ES modules first: the CommonJS files of jsonc-parser hide what they load from a bundler.
  resolve: { mainFields: ['module', 'main'] },
  // `pg` loads pg-native only if it is installed.
  external: ['better-sqlite3', 'pg-native'],
  plugins: [startBuiltThreads],
  output: { dir: 'dist', cleanDir: true },
})
