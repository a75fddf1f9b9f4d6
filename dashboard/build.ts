// Builds the dashboard: bundles its scripts and styles, makes the sprite of its icons, and writes all of it, also compressed, with a
// manifest into one folder. Nothing is downloaded. `npm ci` runs it, `npm run build`, and a server of a checkout whose files changed.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { OutputChunk } from 'rolldown'
import {
  MANIFEST_FILE,
  PAGE_FILE,
  readInput,
  type BuiltFile,
  type DashboardManifest,
} from '../src/http/dashboard/manifest.ts'
import { ICONS } from './icons.ts'

const DASHBOARD = import.meta.dirname
const ROOT = dirname(DASHBOARD)
/** Where a server of this checkout looks for the built files. */
const OUT_FOLDER = join(ROOT, 'node_modules/.cache/tidings-dashboard')
const ASSETS = 'assets'
/** The addresses of the entries as `index.html` has them, before their names have hashes. */
const MAIN_SCRIPT = `/dashboard/${ASSETS}/main.js`
const MAIN_STYLES = `/dashboard/${ASSETS}/main.css`

const TYPES = {
  html: 'text/html; charset=utf-8',
  script: 'text/javascript; charset=utf-8',
  styles: 'text/css; charset=utf-8',
  sprite: 'image/svg+xml',
} as const

/** A file to write, and what it was made from. */
interface Made extends BuiltFile {
  readonly content: Buffer
}

/** What a part of the build made, from which files of the checkout. */
interface Part {
  readonly files: readonly Made[]
  readonly inputs: readonly string[]
}

/** Builds the dashboard into a folder, which it replaces. Throws if a file cannot be compiled, or a package is missing. */
export async function buildDashboard(outFolder: string): Promise<void> {
  const startedAt = Date.now()
  const sprite = makeSprite()
  const [scripts, styles] = await Promise.all([bundleScripts(sprite.files[0] as Made), bundleStyles()])
  const page = makePage(scripts, styles)
  const parts = [page, scripts, styles, sprite]
  const own = ['dashboard/build.ts', 'package-lock.json']
  const paths = [...own, ...parts.flatMap(({ inputs }) => inputs)].toSorted()
  const found = await Promise.all(paths.map((path) => readInput(ROOT, path)))
  // What was changed meanwhile may have been read before, so the next start builds again.
  const inputs = found.map((input) => (input.modifiedMs < startedAt ? input : { ...input, bytes: -1 }))
  const files = parts.flatMap((part) => part.files)
  const manifest: DashboardManifest = { files: files.map(({ path, type }) => ({ path, type })), inputs }
  const variants = (await Promise.all(files.map(withVariants))).flat()
  replaceFolder(outFolder, [...variants, { path: MANIFEST_FILE, content: Buffer.from(JSON.stringify(manifest)) }])
}

/** The icons in one file, each a symbol. */
function makeSprite(): Part {
  const symbols = ICONS.map((name) => {
    const drawn = readFileSync(join(ROOT, `node_modules/lucide-static/icons/${name}.svg`), 'utf8')
    const [, shapes = ''] = /<svg[^>]*>([^]*)<\/svg>/.exec(drawn) ?? []
    return `<symbol id="${name}" viewBox="0 0 24 24" ${STROKE}>${shapes.replaceAll(/\s*\n\s*/g, '')}</symbol>`
  })
  const content = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${symbols.join('')}</svg>`)
  const path = `${ASSETS}/icons-${hashOf(content)}.svg`
  return { files: [{ path, type: TYPES.sprite, content }], inputs: ['dashboard/icons.ts'] }
}

const STROKE = 'fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"'

/** What every screen needs is one file: each further one would be a request of the first load. */
const SHARED =
  /node_modules\/(preact|preact-iso|@tanstack)\/|dashboard\/(components(?!\/frame\/(find|found)\.)|data|icons)|dashboard\/texts\/(form|format|frame|shown)\./

interface Scripts extends Part {
  /** The scripts that the page needs first: the entry, then what it imports. */
  readonly first: readonly string[]
}

/** The entry, and a file for each screen that it loads later. */
async function bundleScripts(sprite: Made): Promise<Scripts> {
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({
    cwd: ROOT,
    input: { main: 'dashboard/main.tsx' },
    platform: 'browser',
    tsconfig: false,
    transform: {
      target: 'es2022',
      jsx: { runtime: 'automatic', importSource: 'preact' },
      define: { SPRITE_ADDRESS: JSON.stringify(`/dashboard/${sprite.path}`) },
    },
  })
  try {
    const name = `${ASSETS}/[name]-[hash].js`
    const { output } = await bundle.generate({
      entryFileNames: name,
      chunkFileNames: name,
      minify: true,
      codeSplitting: { groups: [{ name: 'shared', test: SHARED }] },
    })
    const chunks = output.filter((made) => made.type === 'chunk')
    const entry = chunks.find(({ isEntry }) => isEntry) as OutputChunk
    return {
      files: chunks.map(({ fileName, code }) => ({ path: fileName, type: TYPES.script, content: Buffer.from(code) })),
      inputs: (await bundle.watchFiles).map(toInput).filter((path) => !path.includes('node_modules/')),
      first: [entry.fileName, ...entry.imports],
    }
  } finally {
    await bundle.close()
  }
}

/** `main.css` with everything that it imports. */
async function bundleStyles(): Promise<Part> {
  const { bundleAsync } = await import('lightningcss')
  const inputs: string[] = []
  const { code } = await bundleAsync({
    filename: join(DASHBOARD, 'styles/main.css'),
    minify: true,
    resolver: {
      read(path) {
        inputs.push(toInput(path))
        return readFileSync(path, 'utf8')
      },
    },
  })
  const content = Buffer.from(code)
  return { files: [{ path: `${ASSETS}/main-${hashOf(content)}.css`, type: TYPES.styles, content }], inputs }
}

/** The page with the names that the build gave to its files. The browser asks for all first scripts at once. */
function makePage({ first: [entry = '', ...imported] }: Scripts, { files: [styles] }: Part): Part {
  const preloads = imported.map((path) => `<link rel="modulepreload" href="/dashboard/${path}" />`)
  const text = readFileSync(join(DASHBOARD, PAGE_FILE), 'utf8')
    .replace(MAIN_SCRIPT, `/dashboard/${entry}`)
    .replace(MAIN_STYLES, `/dashboard/${styles?.path}`)
    .replace('</head>', `${preloads.join('')}</head>`)
  return {
    files: [{ path: PAGE_FILE, type: TYPES.html, content: Buffer.from(text) }],
    inputs: [`dashboard/${PAGE_FILE}`],
  }
}

type Written = Pick<Made, 'path' | 'content'>

/** A file and its compressed variants, `CODINGS`. */
async function withVariants({ path, content }: Made): Promise<Written[]> {
  const best = { params: { [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }
  const [brotli, gzipped] = await Promise.all([
    promisify(brotliCompress)(content, best),
    promisify(gzip)(content, { level: constants.Z_BEST_COMPRESSION }),
  ])
  return [
    { path, content },
    { path: `${path}.br`, content: brotli },
    { path: `${path}.gz`, content: gzipped },
  ]
}

/** Writes all files beside the folder, then puts them in its place, so that no server reads half of them. */
function replaceFolder(folder: string, files: readonly Written[]): void {
  const next = `${folder}.${process.pid}`
  try {
    mkdirSync(join(next, ASSETS), { recursive: true })
    for (const { path, content } of files) writeFileSync(join(next, path), content)
    rmSync(folder, { recursive: true, force: true })
    renameSync(next, folder)
  } catch (error) {
    rmSync(next, { recursive: true, force: true })
    // Another process that builds the same was faster.
    if (!OCCUPIED.has((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

const OCCUPIED = new Set(['ENOTEMPTY', 'EEXIST'])

function hashOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 8)
}

/** A path of the checkout from its root, with slashes. */
function toInput(path: string): string {
  return relative(ROOT, path).split(sep).join('/')
}

/** What must be installed, and is not in an installation for production only. */
const PACKAGES = ['rolldown', 'lightningcss', 'lucide-static', 'preact']

async function runAsProgram(): Promise<void> {
  const missing = PACKAGES.filter((name) => !isInstalled(name))
  if (missing.length > 0) {
    const names = missing.join(', ')
    process.stderr.write(
      `The dashboard is not built: ${names} not installed. \`npm ci\` without --omit installs all.\n`,
    )
    return
  }
  try {
    await buildDashboard(resolve(process.argv[2] ?? OUT_FOLDER))
  } catch (error) {
    process.stderr.write(`The dashboard cannot be built. ${stripVTControlCharacters((error as Error).message)}\n`)
    process.exitCode = 1
  }
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}

if (import.meta.main) await runAsProgram()
