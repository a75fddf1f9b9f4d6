// Where a server gets the dashboard from: a checkout builds it again after a change, and a server starts whatever comes of that.
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { BuiltDashboard } from '../../../src/http/dashboard/built-dashboard.ts'
import { readDashboard } from '../../../src/http/dashboard/dashboard-files.ts'
import { UNBUILT_PAGE } from '../../../src/http/dashboard/unbuilt-page.ts'
import { copyCheckout, linkModules } from '../../support/setup/checkout.ts'
import { run } from '../../support/program.ts'

let root: string
let checkout: string
let modules: string
let lines: string[] = []

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'tidings-dashboard-test-'))
  checkout = join(root, 'checkout')
  copyCheckout(checkout)
  modules = linkModules(checkout, (entry) => entry !== '.cache')
})
afterAll(() => rmSync(root, { recursive: true }))
afterEach(() => void (lines = []))

const diagnostics = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })

/** The dashboard as a new start of the server finds it. */
const start = (folder = join(modules, '.cache/tidings-dashboard')) =>
  new BuiltDashboard({ folder, checkout }, diagnostics)

const findPage = async (dashboard: BuiltDashboard) => (await dashboard.findFiles())?.page.content.toString()

/** The address of the script in a page: it changes with any source. */
const scriptIn = (page: string | undefined) => /src="([^"]+)"/.exec(page ?? '')?.[1]

it('is built at the first start, and at the next one after a change', async () => {
  const first = scriptIn(await findPage(start()))
  expect(first).toMatch(/main-[\w-]{8}\.js$/)
  expect(lines).toHaveLength(1)
  expect(scriptIn(await findPage(start()))).toBe(first)
  expect(lines).toHaveLength(1)
  appendFileSync(join(checkout, 'dashboard/main.tsx'), `\nconsole.info('changed')\n`)
  const next = scriptIn(await findPage(start()))
  expect(next).not.toBe(first)
  expect(lines).toHaveLength(2)
})

it('is built again after a change of a style, an icon, the page or the lock file', async () => {
  await findPage(start())
  for (const input of [
    'dashboard/styles/main.css',
    'dashboard/icons.ts',
    'dashboard/index.html',
    'package-lock.json',
  ]) {
    const before = lines.length
    appendFileSync(join(checkout, input), '\n')
    await start().prepare()
    expect([input, lines.length]).toEqual([input, before + 1])
  }
})

it('is not built again where only the times of the files are others', async () => {
  await start().prepare()
  lines = []
  const input = join(checkout, 'dashboard/app.tsx')
  utimesSync(input, 0, 0)
  await start().prepare()
  expect([lines, statSync(input).mtimeMs]).toEqual([[], 0])
})

it('is served from memory where the checkout cannot be written', async () => {
  const file = join(root, 'a-file')
  writeFileSync(file, '')
  // Nobody can make a folder in a file; modes do not keep root from it.
  const page = await findPage(start(join(file, 'tidings-dashboard')))
  expect(scriptIn(page)).toMatch(/main-[\w-]{8}\.js$/)
  expect(lines.join('')).toContain('built the dashboard')
})

it('cannot be shown if it does not compile, until it does', async () => {
  const folder = join(root, 'elsewhere/tidings-dashboard')
  const main = join(checkout, 'dashboard/main.tsx')
  const text = readFileSync(main, 'utf8')
  writeFileSync(main, `${text}\nimport './missing.ts'`)
  const dashboard = start(folder)
  expect(await findPage(dashboard)).toBeUndefined()
  expect(lines.join('')).toMatch(/The dashboard cannot be built\. .*missing\.ts/s)
  writeFileSync(main, text)
  expect(await findPage(dashboard)).toBeUndefined()
  const built = await run([join(checkout, 'dashboard/build.ts'), folder], {}, process.execPath)
  expect(built).toEqual({ status: 0, stdout: '', stderr: '' })
  expect(scriptIn(await findPage(dashboard))).toMatch(/main-[\w-]{8}\.js$/)
})

it('is left out, with a word, where the packages that build it are not installed', async () => {
  const link = join(modules, 'rolldown')
  unlinkSync(link)
  try {
    const folder = join(root, 'never/tidings-dashboard')
    expect(await findPage(start(folder))).toBeUndefined()
    expect(existsSync(folder)).toBe(false)
    expect(lines.join('')).toContain('The dashboard is not built: rolldown')
    expect(UNBUILT_PAGE).toContain('npm ci')
  } finally {
    symlinkSync(join(import.meta.dirname, '../../../node_modules/rolldown'), link)
  }
})

it('ends a build when the server stops', async () => {
  const folder = join(root, 'stopped/tidings-dashboard')
  const dashboard = start(folder)
  const prepared = dashboard.prepare()
  dashboard.stop()
  await prepared
  expect([lines, existsSync(folder)]).toEqual([[], false])
})

it('of an image is what the build made, and nothing is built', async () => {
  const folder = join(modules, '.cache/tidings-dashboard')
  await start(folder).prepare()
  lines = []
  appendFileSync(join(checkout, 'dashboard/main.tsx'), '\n')
  const image = new BuiltDashboard({ folder, checkout: undefined }, diagnostics)
  expect(await findPage(image)).toBe((await readDashboard(folder)).page.content.toString())
  expect(lines).toEqual([])
})
