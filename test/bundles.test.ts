// The bundles that `npm ci` makes of packages and sources: the same, in fewer files, and none of them where they do not fit.
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BUNDLED, bundleOf, packagesIn } from '../bin/bundles.ts'
import { copyCheckout, linkModules } from './checkout.ts'
import { run, start, type Environment } from './program.ts'
import { until } from './server.ts'

const TEST_WAIT_MS = 60_000

let folder: string
let cache: string
let made: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidings-bundles-'))
  cache = makeCache('cache')
  await makeBundles(cache)
  made = join(cache, readdirSync(cache)[0] as string)
}, TEST_WAIT_MS)
afterAll(() => rmSync(folder, { recursive: true }))

/** Run by a plain Node, as an installation does: within a suite packages seem to export other names. */
async function runCode(code: string): Promise<string> {
  const { stdout, stderr } = await run(['--input-type=module', '--eval', code], {}, process.execPath)
  expect(stderr).toBe('')
  return stdout
}

function makeCache(name: string): string {
  const made = join(folder, name)
  mkdirSync(made)
  return made
}

/** Of packages alone; prints the code of the error where they cannot be made. */
function makeBundles(path: string): Promise<string> {
  const maker = new URL('../bin/bundle-packages.ts', import.meta.url).href
  return runCode(`
    const { bundlePackages } = await import(${JSON.stringify(maker)})
    process.chdir(${JSON.stringify(folder)})
    await bundlePackages(${JSON.stringify(path)}).catch(({ code }) => process.stdout.write(code))`)
}

/** Of the sources of a checkout, beside bundles of packages. */
function makeSources(checkout: string, packages: string): Promise<string> {
  const maker = pathToFileURL(join(checkout, 'bin/bundle-sources.ts')).href
  return runCode(`
    const { bundleSources } = await import(${JSON.stringify(maker)})
    await bundleSources(${JSON.stringify(packages)})`)
}

/** What modules export, without the name that Node gives to the whole of a CommonJS module. */
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
  const before = statSync(made).mtimeMs
  await makeBundles(cache)
  expect(readdirSync(cache)).toHaveLength(1)
  expect(statSync(made).mtimeMs).toBe(before)
})

it('are for everybody who may read what else is kept', () => {
  expect(statSync(made).mode).toBe(statSync(cache).mode)
})

it('are made where they are looked for, wherever they are made from', async () => {
  const relative = makeCache('relative')
  await makeBundles('relative')
  expect(readdirSync(join(relative, basename(made)))).toEqual(readdirSync(made))
})

it('are not kept where they could not be loaded', async () => {
  const unloadable = makeCache('back\\slash')
  expect(await makeBundles(unloadable)).toBe('ERR_INVALID_MODULE_SPECIFIER')
  expect(readdirSync(unloadable)).toEqual([])
})

it('go with exactly what is installed', () => {
  const installed = join(folder, 'installed.json')
  writeFileSync(installed, '{ "packages": { "node_modules/pg": { "version": "1.0.0" } } }')
  const first = packagesIn(folder, installed)
  expect(packagesIn(folder, installed)).toBe(first)
  writeFileSync(installed, '{ "packages": { "node_modules/pg": { "version": "1.0.1" } } }')
  const second = packagesIn(folder, installed)
  const madeElse = packagesIn(folder, installed, installed)
  expect(new Set([first, second, madeElse, packagesIn(folder)]).size).toBe(4)
  expect(packagesIn(folder, join(folder, 'nothing.json'))).toBeUndefined()
})

describe('a command', () => {
  const isNoCache = (entry: string) => entry !== '.cache'
  /** A checkout that has all packages, and no bundles of its own, and its `bin/tidings`. */
  let checkout: string
  let bin: string
  beforeAll(() => {
    checkout = join(folder, 'checkout')
    bin = copyCheckout(checkout)
    linkModules(checkout, isNoCache)
  })

  /** With these settings a program tells the addresses of all modules that it loads. */
  function tellingLoaded(kept: string): Environment {
    const script = join(folder, 'tell-loaded.mjs')
    const tell = `load(url, context, next) { process.stderr.write(url + '\\n'); return next(url, context) }`
    writeFileSync(script, `import { registerHooks } from 'node:module'\nregisterHooks({ ${tell} })\n`)
    return { NODE_COMPILE_CACHE: kept, NODE_OPTIONS: `--import=${pathToFileURL(script).href}` }
  }

  /** The addresses of all modules that are loaded for `workspace list --help`. */
  async function listLoaded(kept: string, program = bin): Promise<string> {
    const { status, stderr } = await run(['workspace', 'list', '--help'], tellingLoaded(kept), program)
    expect(status).toBe(0)
    return stderr
  }

  it('takes packages from them', async () => {
    const loaded = await listLoaded(cache)
    expect(loaded).toContain(pathToFileURL(join(made, bundleOf('kysely'))).href)
    expect(loaded).not.toContain('/node_modules/kysely/')
  })

  it('takes packages from those of the installation where somebody else keeps what is compiled', async () => {
    const checkout = join(folder, 'installed')
    const installed = copyCheckout(checkout)
    const own = join(linkModules(checkout, isNoCache), '.cache/tidings')
    cpSync(cache, own, { recursive: true })
    const loaded = await listLoaded(makeCache('of somebody else'), installed)
    expect(loaded).toContain(pathToFileURL(join(own, basename(made), bundleOf('kysely'))).href)
    expect(await listLoaded('', installed)).not.toContain(bundleOf('kysely'))
  })

  it.each([
    ['there are none', 'nothing'],
    ['nothing is to be kept', ''],
  ])('takes them as they are where %s', async (_, name) => {
    const loaded = await listLoaded(name === '' ? '' : join(folder, name))
    expect(loaded).toContain('/node_modules/kysely/')
    expect(loaded).not.toContain(bundleOf('kysely'))
  })

  it.each<[what: string, spoil: (bundle: string) => void]>([
    ['cut off', (bundle) => truncateSync(bundle, 10)],
    ['gone', (bundle) => rmSync(bundle)],
  ])('takes them as they are where a bundle is %s, until they are made anew', async (what, spoil) => {
    const spoiled = makeCache(what)
    const bundle = join(spoiled, basename(made), bundleOf('kysely'))
    cpSync(cache, spoiled, { recursive: true })
    spoil(bundle)
    expect(await listLoaded(spoiled)).toContain('/node_modules/kysely/')
    await makeBundles(spoiled)
    expect(readdirSync(spoiled).filter((name) => name.startsWith('packages-'))).toEqual([basename(made)])
    expect(await listLoaded(spoiled)).toContain(pathToFileURL(bundle).href)
  })

  describe('with bundled sources', () => {
    const SOURCE = 'src/version.ts'
    let kept: string
    let bundle: string
    beforeAll(async () => {
      kept = makeCache('with sources')
      cpSync(cache, kept, { recursive: true })
      await makeSources(checkout, join(kept, basename(made)))
      bundle = readdirSync(kept).find((name) => name.startsWith('sources-')) as string
    }, TEST_WAIT_MS)

    const fromSources = () => pathToFileURL(join(checkout, 'src')).href
    const fromBundle = () => pathToFileURL(join(kept, bundle)).href

    it('takes them from there', async () => {
      const loaded = await listLoaded(kept)
      expect(loaded).toContain(`${fromBundle()}/main.mjs`)
      expect(loaded).not.toContain(fromSources())
    })

    it('takes those of its threads from there', async () => {
      const environment = { ...tellingLoaded(kept), DATA_DIR: join(folder, 'data'), PORT: '0' }
      const server = start(['serve'], environment, bin)
      const threads = ['log_sqlite_sqlite-log', 'pipeline_pipeline', 'store_sqlite_sqlite']
      const beginnings = threads.map((name) => `${fromBundle()}/${name}-thread.mjs`)
      await until('all threads are loaded', () => beginnings.every((url) => server.output().stderr.includes(url)))
      expect(await server.stop()).toMatchObject({ status: 0 })
      expect(server.output().stderr).not.toContain(fromSources())
    })

    it('takes every source as it is once one of them is changed, until that is as it was', async () => {
      const source = join(checkout, SOURCE)
      const before = readFileSync(source, 'utf8')
      // As long as before, and as old.
      const { atime, mtime } = statSync(source)
      writeFileSync(
        source,
        before.replace(/^.*/, (comment) => comment.toUpperCase()),
      )
      utimesSync(source, atime, mtime)
      expect(readFileSync(source, 'utf8')).not.toBe(before)
      const loaded = await listLoaded(kept)
      expect(loaded).toContain(`${fromSources()}/main.ts`)
      expect(loaded).not.toContain(fromBundle())
      writeFileSync(source, before)
      expect(await listLoaded(kept)).toContain(`${fromBundle()}/main.mjs`)
    })

    it.each<[what: string, spoil: (file: string) => void]>([
      ['a file is cut off', (file) => truncateSync(file, 10)],
      ['a file is gone', (file) => rmSync(file)],
    ])('takes them as they are where %s there, until it is made anew', async (_, spoil) => {
      spoil(join(kept, bundle, 'main.mjs'))
      expect(await listLoaded(kept)).toContain(`${fromSources()}/main.ts`)
      await makeSources(checkout, join(kept, basename(made)))
      expect(readdirSync(kept).filter((name) => name.startsWith('sources-'))).toEqual([bundle])
      expect(await listLoaded(kept)).toContain(`${fromBundle()}/main.mjs`)
    })
  })
})
