// The bundles that `npm ci` makes of packages: the same packages, in fewer files, and nothing of them where they do not fit.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BUNDLED, bundleOf, bundlesIn } from '../bin/bundles.ts'
import { run } from './program.ts'

const TEST_WAIT_MS = 60_000

let folder: string
let made: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidings-bundles-'))
  await makeBundles()
  made = join(folder, readdirSync(folder)[0] as string)
}, TEST_WAIT_MS)
afterAll(() => rmSync(folder, { recursive: true }))

/** By a plain Node, as an installation does: within a suite packages seem to export other names. */
async function runCode(code: string): Promise<string> {
  const { stdout, stderr } = await run(['--input-type=module', '--eval', code], {}, process.execPath)
  expect(stderr).toBe('')
  return stdout
}

async function makeBundles(): Promise<void> {
  const maker = new URL('../bin/bundle-packages.ts', import.meta.url).href
  await runCode(`(await import(${JSON.stringify(maker)})).bundlePackages(${JSON.stringify(folder)})`)
}

/** What modules export, without the name that Node gives the whole of one that is CommonJS. */
async function kindsIn(urls: readonly string[]): Promise<unknown> {
  const kinds = await runCode(`
    const kindsIn = async (url) => Object.entries(await import(url)).map(([name, value]) => [name, typeof value])
    const named = (kinds) => Object.fromEntries(kinds.filter(([name]) => name !== 'module.exports'))
    const kinds = await Promise.all(${JSON.stringify(urls)}.map(kindsIn))
    process.stdout.write(JSON.stringify(kinds.map(named)))`)
  return JSON.parse(kinds)
}

it('export what the packages export', async () => {
  const bundles = await kindsIn(BUNDLED.map((name) => pathToFileURL(join(made, bundleOf(name))).href))
  expect(bundles).toEqual(await kindsIn(BUNDLED))
  expect(JSON.stringify(bundles)).toContain('"Kysely":"function"')
})

it('are made once', async () => {
  const before = readdirSync(folder)
  await makeBundles()
  expect(before).toHaveLength(1)
  expect(readdirSync(folder)).toEqual(before)
})

it('go with exactly what is installed', () => {
  const installed = join(folder, 'installed.json')
  writeFileSync(installed, '{ "packages": { "node_modules/pg": { "version": "1.0.0" } } }')
  const first = bundlesIn(folder, installed)
  expect(bundlesIn(folder, installed)).toBe(first)
  writeFileSync(installed, '{ "packages": { "node_modules/pg": { "version": "1.0.1" } } }')
  const second = bundlesIn(folder, installed)
  expect(new Set([first, second, bundlesIn(folder)]).size).toBe(3)
  expect(bundlesIn(folder, join(folder, 'nothing.json'))).toBeUndefined()
})

describe('a command', () => {
  /** The addresses of all modules that `workspace list --help` and what it prints took. */
  async function listLoaded(cache: string): Promise<string> {
    const script = join(folder, 'tell-loaded.mjs')
    const tell = `load(url, context, next) { process.stderr.write(url + '\\n'); return next(url, context) }`
    writeFileSync(script, `import { registerHooks } from 'node:module'\nregisterHooks({ ${tell} })\n`)
    const options = `--import=${pathToFileURL(script).href}`
    const { status, stderr } = await run(['workspace', 'list', '--help'], {
      NODE_COMPILE_CACHE: cache,
      NODE_OPTIONS: options,
    })
    expect(status).toBe(0)
    return stderr
  }

  it('takes packages from them', async () => {
    const loaded = await listLoaded(folder)
    expect(loaded).toContain(pathToFileURL(join(made, bundleOf('kysely'))).href)
    expect(loaded).not.toContain('/node_modules/kysely/')
  })

  it.each([
    ['there are none', 'nothing'],
    ['nothing is to be kept', ''],
  ])('takes them as they are where %s', async (_, cache) => {
    const loaded = await listLoaded(cache === '' ? '' : join(folder, cache))
    expect(loaded).toContain('/node_modules/kysely/')
    expect(loaded).not.toContain(bundleOf('kysely'))
  })
})
