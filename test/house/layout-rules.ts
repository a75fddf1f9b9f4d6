// The house rules about files and folders: which floor may import which, no cycles, sizes and names.
import { posix } from 'node:path'
import {
  floorOf,
  importsOf,
  inCode,
  inDashboard,
  inSources,
  nameOf,
  nodesOf,
  resolveImport,
  runningImportsOf,
  targetsOf,
  type Node,
  type Rule,
  type SourceFile,
} from './source-files.ts'

export const FILE_LINES_MAX = 400
export const TEST_LINES_MAX = 600
export const FUNCTION_LINES_MAX = 70
export const FOLDER_FILES_MAX = 15
export const TEST_FOLDER_FILES_MAX = 20

/** The folders that do not depend on the product. */
const TOOLS = ['runtime', 'concurrency']
/** The only file of the product that these may import. */
const ERRORS = 'src/core/app-error.ts'
const BASE = ['core', ...TOOLS]
const TABLES = [...BASE, 'store', 'log']
const MOVERS = ['pipeline', 'delivery', 'jobs']

/** Each folder of `src/`, and the floors and files below it that it may import. `main` is the one file directly in `src/`. */
const FLOORS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  runtime: [ERRORS],
  concurrency: [ERRORS],
  store: BASE,
  log: BASE,
  actions: TABLES,
  statistics: TABLES,
  // These do not import each other: they communicate through the log or a table.
  pipeline: [...TABLES, 'actions', 'statistics'],
  delivery: [...TABLES, 'actions', 'statistics'],
  jobs: [...TABLES, 'actions', 'statistics'],
  operations: [...TABLES, 'actions', 'statistics', 'delivery'],
  http: [...TABLES, 'actions', 'delivery', 'operations'],
  app: [...TABLES, 'actions', 'statistics', ...MOVERS, 'operations', 'http'],
  commands: [...TABLES, 'actions', 'statistics', ...MOVERS, 'operations', 'http', 'app'],
  main: ['commands'],
}

/** Floors import only from floors below them, and core from nothing else at all. */
export const floorImports: Rule = (files) =>
  inSources(files).flatMap((file) => {
    const floor = floorOf(file.path)
    const allowed = FLOORS[floor]
    if (!allowed) return [`${file.path} is on no floor: there are ${Object.keys(FLOORS).join(', ')}`]
    return importsOf(file).flatMap((imported) => {
      if (!imported.startsWith('.')) return floor === 'core' ? [`${file.path} (core) must not import ${imported}`] : []
      const target = resolveImport(file, imported)
      const to = target.startsWith('src/') ? floorOf(target) : target
      return to === floor || allowed.includes(to) || allowed.includes(target)
        ? []
        : [`${file.path} (${floor}) must not import ${target}`]
    })
  })

/** Each part of `dashboard/`, and the other parts that it may import. Files beside these folders may import all of them. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  texts: [],
  data: ['texts'],
  components: ['data', 'texts', 'icons'],
  screens: ['components', 'data', 'texts', 'icons'],
}

/** The dashboard calls operations over HTTP. Of the server it imports their types, and functions of the core, which need no server. */
export const dashboardImports: Rule = (files) =>
  inDashboard(files).flatMap((file) => {
    const [, part = '', inside] = file.path.split('/')
    const allowed = inside === undefined ? undefined : PARTS[part]
    if (inside !== undefined && !allowed)
      return [`${file.path} is in no part: there are ${Object.keys(PARTS).join(', ')}`]
    const running = new Set(runningImportsOf(file))
    return importsOf(file)
      .filter((imported) => !mayImport(file, imported, { part, allowed, isType: !running.has(imported) }))
      .map((imported) => `${file.path} must not import ${imported}`)
  })

interface ImportingPart {
  readonly part: string
  /** Undefined: all of the dashboard. */
  readonly allowed: readonly string[] | undefined
  readonly isType: boolean
}

function mayImport(file: SourceFile, imported: string, { part, allowed, isType }: ImportingPart): boolean {
  if (!imported.startsWith('.')) return !imported.startsWith('node:')
  const target = resolveImport(file, imported)
  const to = floorOf(target)
  if (target.startsWith('src/')) return to === 'core' || (isType && to === 'operations')
  return target.startsWith('dashboard/') && (!allowed || to === part || allowed.includes(to))
}

/** The imports of a file never lead back to it, not even through types. */
export const importCycles: Rule = (files) =>
  cyclesIn(new Map(inCode(files).map((file) => [file.path, targetsOf(file)])))

/** Nor do imports between the folders of a floor. Files beside these folders do not count. */
export const folderCycles: Rule = (files) => {
  const graph = new Map<string, string[]>()
  for (const file of inSources(files)) {
    const folder = posix.dirname(file.path)
    const others = targetsOf(file).map((target) => posix.dirname(target))
    const siblings = others.filter((other) => other !== folder && isInside(folder) && areSiblings(folder, other))
    graph.set(folder, [...(graph.get(folder) ?? []), ...siblings])
  }
  return cyclesIn(graph)
}

/** A folder with more files than this is divided by noun. */
export const folderSizes: Rule = (files) => {
  const counts = new Map<string, number>()
  for (const { path } of inCode(files)) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1)
  return [...counts].flatMap(([folder, count]) => {
    const max = folder === 'test' || folder.startsWith('test/') ? TEST_FOLDER_FILES_MAX : FOLDER_FILES_MAX
    return count > max ? [`${folder} has ${count} files, more than ${max}`] : []
  })
}

/** Whether a folder is one that divides a floor. */
function isInside(folder: string): boolean {
  return folder.split('/').length > 2
}

function areSiblings(one: string, other: string): boolean {
  return posix.dirname(one) === posix.dirname(other)
}

/** Each cycle in a graph, as a path from a node back to it. */
function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const seenAt = trail.indexOf(path)
    if (seenAt >= 0) cycles.push([...trail.slice(seenAt), path].join(' → '))
    if (seenAt >= 0 || done.has(path)) return
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return cycles
}

export const fileSizes: Rule = (files) =>
  inCode(files).flatMap(({ path, text }) => {
    const lines = text.trimEnd().split('\n').length
    const max = path.startsWith('test/') ? TEST_LINES_MAX : FILE_LINES_MAX
    return lines > max ? [`${path} has ${lines} lines, more than ${max}: divide it`] : []
  })

/** Suites of tests may be longer: they are functions, but only list tests. */
export const functionSizes: Rule = (files) =>
  inCode(files).flatMap((file) => {
    const nodes = nodesOf(file)
    const suites = new Set(nodes.filter(isSuite).flatMap((call) => call['arguments'] as Node[]))
    return nodes
      .filter((node) => /Function/.test(node.type) && node['body'] && !suites.has(node) && !isNamedSuite(node))
      .flatMap((node) => {
        const lines = file.text.slice(node.start, node.end).split('\n').length
        const at = file.text.slice(0, node.start).split('\n').length
        return lines > FUNCTION_LINES_MAX ? [`${file.path}:${at} is a function of ${lines} lines`] : []
      })
  })

const FORBIDDEN_WORDS = /^(utils?|helpers?|common|managers?|services?|handlers?)$/
const FORBIDDEN_NAMES = new Set(['types', 'index'])

/** Files are kebab-case and named after what they export. */
export const fileNames: Rule = (files) =>
  inCode(files).flatMap(({ path }) => {
    const name = posix.basename(path).replace(/(\.test|\.config)?\.tsx?$/, '')
    if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) return [`${path} is not kebab-case`]
    const isForbidden = FORBIDDEN_NAMES.has(name) || name.split('-').some((word) => FORBIDDEN_WORDS.test(word))
    return isForbidden ? [`${path} does not say what it holds`] : []
  })

/** `describe(…)`, and everything that begins like it: `describe.each(…)(…)`, `describeEachStore(…)`. */
function isSuite({ type, callee }: Node): boolean {
  if (type !== 'CallExpression') return false
  let root = callee as Node
  while (root.type !== 'Identifier') {
    const inner = (root['callee'] ?? root['object']) as Node | undefined
    if (!inner) return false
    root = inner
  }
  return nameOf(root)?.startsWith('describe') ?? false
}

/** A suite that is declared once and used over several implementations. */
function isNamedSuite({ id }: Node): boolean {
  return nameOf(id)?.startsWith('describe') ?? false
}
