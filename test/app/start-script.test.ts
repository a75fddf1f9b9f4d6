// Checks `bin/tidings`: it finds a Node that can run it, called from any folder, and reports when there is none.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { copyCheckout, linkModules, ROOT } from '../support/setup/checkout.ts'
import { run } from '../support/program.ts'

const NOBODY = 65_534

let folder: string
let made = 0

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidings-bin-'))
  // Users other than the one who runs the tests may read it.
  chmodSync(folder, 0o755)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A checkout without a Node of its own. */
function makeCheckout(name: string, { withModules }: { withModules: boolean }): string {
  const checkout = join(folder, name)
  const bin = copyCheckout(checkout)
  // All packages, but none of their programs.
  if (withModules) linkModules(checkout, (entry) => !entry.startsWith('.'))
  return bin
}

/** A folder with the tools that the script calls and, as `node`, a script of our own. */
function makePath(name: string, node: string | undefined): string {
  const path = join(folder, name)
  mkdirSync(path)
  for (const tool of ['dirname', 'readlink']) {
    writeFileSync(join(path, tool), `#!/bin/sh\nPATH=/usr/bin:/bin exec ${tool} "$@"\n`)
    chmodSync(join(path, tool), 0o755)
  }
  if (node !== undefined) {
    writeFileSync(join(path, 'node'), node)
    chmodSync(join(path, 'node'), 0o755)
  }
  return path
}

it('bin/tidings runs through symbolic links, from any folder, with the Node of its own checkout', async () => {
  const direct = join(folder, 'direct')
  const relative = join(folder, 'relative')
  symlinkSync(join(ROOT, 'bin/tidings'), direct)
  symlinkSync('direct', relative)
  const { status, stdout } = await run(['--version'], { PATH: makePath('no-node', undefined) }, relative)
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string })
})

it('bin/tidings uses the Node on PATH if the checkout has none', async () => {
  const bin = makeCheckout('own-node', { withModules: true })
  const path = makePath('good-node', `#!/bin/sh\nexec "${process.execPath}" "$@"\n`)
  expect(await run(['--version'], { PATH: path }, bin)).toMatchObject({ status: 0, stderr: '' })
})

const heaps: [line: string, options: string, isOwn: boolean][] = [
  ['serve', '', true],
  ['serve --role http', '--no-warnings', true],
  ['--json serve', '', true],
  ['serve', '--max-old-space-size=4096', false],
  ['serve', '--max_old_space_size=4096', false],
  ['--json serve', '--no-warnings --max-old_space-size=4096', false],
  ['workspace show serve', '', false],
  ['', '', false],
]
it.each(heaps)(
  'bin/tidings limits the heap of a server, unless NODE_OPTIONS does: %s, %s',
  async (line, options, isOwn) => {
    const name = `heap-${++made}`
    const bin = makeCheckout(name, { withModules: true })
    const path = makePath(`${name}-path`, '#!/bin/sh\necho "$@"\n')
    const args = line.split(' ').filter((word) => word !== '')
    const { status, stdout } = await run(args, { PATH: path, NODE_OPTIONS: options }, bin)
    expect({ status, isOwn: stdout.includes('--max-old-space-size=1024') }).toEqual({ status: 0, isOwn })
  },
)

describe('the compile cache of bin/tidings', () => {
  const home = { HOME: '/where/ann' }
  const cases: [where: string, environment: Record<string, string>, cache: string][] = [
    [
      'is where systemd puts caches',
      { ...home, CACHE_DIRECTORY: '/var/cache/tidings:/var/cache/more' },
      '/var/cache/tidings',
    ],
    ['is in the home folder', home, '/where/ann/.cache/tidings'],
    ['is in XDG_CACHE_HOME', { ...home, XDG_CACHE_HOME: '/where/ann/kept' }, '/where/ann/kept/tidings'],
    ['is off without a home folder', {}, 'unset'],
    ['is in NODE_COMPILE_CACHE', { ...home, NODE_COMPILE_CACHE: '/kept' }, '/kept'],
    ['is off if NODE_COMPILE_CACHE is empty', { ...home, NODE_COMPILE_CACHE: '' }, ''],
  ]

  /** Runs the script as a user who may write to `node_modules`, or may not. Returns the cache that it sets for Node. */
  function findCache(environment: Record<string, string>, { mayWrite }: { mayWrite: boolean }) {
    const name = `kept-${++made}`
    const bin = makeCheckout(name, { withModules: false })
    mkdirSync(join(folder, name, 'node_modules'), { mode: mayWrite ? 0o755 : 0o555 })
    const PATH = makePath(`${name}-path`, '#!/bin/sh\necho "${NODE_COMPILE_CACHE-unset}"\n')
    // File modes do not restrict root.
    const user = !mayWrite && process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
    const { stdout, stderr } = spawnSync(bin, ['--version'], {
      env: { PATH, ...environment },
      encoding: 'utf8',
      ...user,
    })
    return { cache: stdout.trim(), stderr, modules: join(folder, name, 'node_modules') }
  }

  it('is beside the packages for a user who may write there', () => {
    const { cache, stderr, modules } = findCache(home, { mayWrite: true })
    expect({ cache, stderr }).toEqual({ cache: join(modules, '.cache/tidings'), stderr: '' })
  })

  it.each(cases)('%s for a user who may not write to node_modules', (_, environment, wanted) => {
    const { cache, stderr } = findCache(environment, { mayWrite: false })
    expect({ cache, stderr }).toEqual({ cache: wanted, stderr: '' })
  })
})

it('bin/tidings runs even if the folder of the compile cache cannot be made', async () => {
  const file = join(folder, 'no-folder')
  writeFileSync(file, '')
  expect(await run(['--version'], { NODE_COMPILE_CACHE: join(file, 'kept') })).toMatchObject({ status: 0, stderr: '' })
})

it('bin/tidings runs the sources of a checkout even if it was built', async () => {
  const bin = makeCheckout('built', { withModules: true })
  const dist = join(folder, 'built/dist')
  mkdirSync(dist)
  writeFileSync(join(dist, 'main.js'), 'process.exit(3)')
  const path = makePath('built-path', `#!/bin/sh\nexec "${process.execPath}" "$@"\n`)
  expect(await run(['--version'], { PATH: path }, bin)).toMatchObject({ status: 0 })
  rmSync(join(folder, 'built/src'), { recursive: true })
  expect(await run(['--version'], { PATH: path }, bin)).toMatchObject({ status: 3 })
})

it('bin/tidings refuses an older Node in one sentence, with exit status 1', async () => {
  const bin = makeCheckout('old-node', { withModules: true })
  const pretend = join(folder, 'pretend.cjs')
  writeFileSync(pretend, `Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } })`)
  const path = makePath('older-node', `#!/bin/sh\nexec "${process.execPath}" --require "${pretend}" "$@"\n`)
  const { status, stdout, stderr } = await run(['--version'], { PATH: path }, bin)
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(/^Tidings needs Node 24 or newer, and .*\n$/)
})

it('bin/tidings reports that there is no Node', async () => {
  const bin = makeCheckout('no-node-at-all', { withModules: true })
  const { status, stderr } = await run(['--version'], { PATH: makePath('empty', undefined) }, bin)
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'Tidings needs Node 24 or newer, but PATH has no node.\n',
  })
})

it('bin/tidings asks for npm ci if no packages are installed', async () => {
  const { status, stderr } = await run(['--version'], {}, makeCheckout('not-installed', { withModules: false }))
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('npm ci') as string })
})
