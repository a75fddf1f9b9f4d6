// The rules of the house that a machine can check, each a function from source files to what breaks it, in sentences.
import { posix } from 'node:path'
import { parseSync } from 'vite'

export interface SourceFile {
  /** From the root of the checkout, with slashes. */
  readonly path: string
  readonly text: string
}

/** Empty when the rule holds. */
export type Rule = (files: readonly SourceFile[]) => string[]

export const FILE_LINES_MAX = 400
export const TEST_LINES_MAX = 600
export const FUNCTION_LINES_MAX = 70
export const FOLDER_FILES_MAX = 15

/** A node of the syntax tree; its members depend on its type. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

/** The folders that know nothing of the product. */
const TOOLS = ['runtime', 'concurrency']
/** The only file of the product that these may import. */
const ERRORS = 'src/core/app-error.ts'
const BASE = ['core', ...TOOLS]
const TABLES = [...BASE, 'store', 'log']
const MOVERS = ['pipeline', 'delivery', 'jobs']

/** Each folder of `src/`, and the floors and files below it that it may import. `main` is the one file that stands in `src/`. */
const FLOORS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  runtime: [ERRORS],
  concurrency: [ERRORS],
  store: BASE,
  log: BASE,
  actions: TABLES,
  statistics: TABLES,
  // Not each other: what one of them has to tell another goes through the log or a table.
  pipeline: [...TABLES, 'actions', 'statistics'],
  delivery: [...TABLES, 'actions', 'statistics'],
  jobs: [...TABLES, 'actions', 'statistics'],
  operations: [...TABLES, 'actions'],
  http: [...TABLES, 'actions', 'operations'],
  // Built files and their one route: the dashboard calls operations over HTTP.
  dashboard: [],
  app: [...TABLES, 'actions', 'statistics', ...MOVERS, 'operations', 'http', 'dashboard'],
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

/** The imports of a file never lead back to it, not even through types. */
export const importCycles: Rule = (files) =>
  cyclesIn(new Map(inCode(files).map((file) => [file.path, targetsOf(file)])))

/** Nor do those between the folders of a floor; files beside these folders belong to all of them. */
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
  for (const { path } of inSources(files)) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1)
  return [...counts].flatMap(([folder, count]) => {
    return count > FOLDER_FILES_MAX ? [`${folder} has ${count} files, more than ${FOLDER_FILES_MAX}`] : []
  })
}

/** Whether a folder is one that divides a floor. */
function isInside(folder: string): boolean {
  return folder.split('/').length > 2
}

function areSiblings(one: string, other: string): boolean {
  return posix.dirname(one) === posix.dirname(other)
}

/** Each way that leads from somewhere back to it. */
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

/** A file defines what it exports. */
export const barrels: Rule = (files) =>
  inCode(files).flatMap((file) =>
    nodesOf(file)
      .filter(({ type, source }) => /^Export(All|Named)Declaration$/.test(type) && Boolean(source))
      .map(() => `${file.path} passes on what another file exports: import it from there`),
  )

export const fileSizes: Rule = (files) =>
  inCode(files).flatMap(({ path, text }) => {
    const lines = text.trimEnd().split('\n').length
    const max = path.startsWith('test/') ? TEST_LINES_MAX : FILE_LINES_MAX
    return lines > max ? [`${path} has ${lines} lines, more than ${max}: divide it`] : []
  })

/** Suites of tests are functions too, but only lists of tests. */
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
    const name = posix.basename(path).replace(/(\.test|\.config)?\.ts$/, '')
    if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) return [`${path} is not kebab-case`]
    const isForbidden = FORBIDDEN_NAMES.has(name) || name.split('-').some((word) => FORBIDDEN_WORDS.test(word))
    return isForbidden ? [`${path} does not say what it holds`] : []
  })

/** Core has no clock, no randomness and nothing to wait for. */
export const pureCore: Rule = (files) =>
  inSources(files)
    .filter(({ path }) => floorOf(path) === 'core')
    .flatMap((file) =>
      nodesOf(file)
        .filter(isImpure)
        .map((node) => `${file.path} is not pure: ${file.text.slice(node.start, node.end).split('\n')[0]}`),
    )

/** All queries that name a table are in one file. */
export const tableOwners: Rule = (files) => {
  const sources = inSources(files)
  const tables = new Set(sources.flatMap((file) => nodesOf(file).flatMap(declaredTables)))
  const owners = new Map<string, Set<string>>([...tables].map((table) => [table, new Set()]))
  for (const file of sources) {
    for (const name of nodesOf(file).flatMap(namedTables)) owners.get(name)?.add(file.path)
  }
  return [...owners].flatMap(([table, paths]) => {
    if (paths.size === 0) return [`the table ${table} is named by no file`]
    if (paths.size > 1) return [`the table ${table} is named by several files: ${[...paths].join(', ')}`]
    const outside = [...paths].filter((path) => floorOf(path) !== 'store')
    return outside.map((path) => `the table ${table} is named by ${path}, outside of the store`)
  })
}

/** The environment is read in one place. */
export const environmentReads: Rule = (files) =>
  inSources(files)
    .filter(({ path }) => path !== 'src/app/config.ts')
    .flatMap((file) =>
      nodesOf(file)
        .filter((node) => isMember(node, 'process', 'env'))
        .map(() => `${file.path} reads the environment: only src/app/config.ts may`),
    )

/** Each file begins with a comment that says what it is for. */
export const fileHeaders: Rule = (files) =>
  inCode(files)
    .filter(({ text }) => !/^\/\/ \S/.test(text))
    .map(({ path }) => `${path} does not begin with a comment that says what it is for`)

/** Written in pieces, so that this file does not break its own rule. */
const UNFINISHED = [/\bTO[D]O\b/, /\bFIX[M]E\b/, /\bX[X]X\b/, /@ts-[i]gnore/, /\.(?:on[l]y|sk[i]p|to[d]o)\(/]
const REASONLESS_DISABLE = /(?:eslint|oxlint)-disable(?!.*--)/

/** Nothing unfinished, and nothing switched off without its reason beside it. */
export const leftovers: Rule = (files) =>
  inCode(files).flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      const isLeftover = UNFINISHED.some((pattern) => pattern.test(line)) || REASONLESS_DISABLE.test(line)
      return isLeftover ? [`${path}:${index + 1} is not finished: ${line.trim()}`] : []
    }),
  )

/** Folders on somebody's machine. */
const MACHINE_PATHS = /(?<![\w.])\/(?:home|Users|root|work)\/[A-Za-z.]/

/** No file says anything about the machine on which it was written. */
export const machinePaths: Rule = (files) =>
  files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      return MACHINE_PATHS.test(line) ? [`${path}:${index + 1} names a path of a machine: ${line.trim()}`] : []
    }),
  )

function inCode(files: readonly SourceFile[]): SourceFile[] {
  return files.filter(({ path }) => path.endsWith('.ts'))
}

function inSources(files: readonly SourceFile[]): SourceFile[] {
  return inCode(files).filter(({ path }) => path.startsWith('src/'))
}

function floorOf(path: string): string {
  const [, folder = '', inside] = path.split('/')
  return inside === undefined ? folder.replace('.ts', '') : folder
}

function resolveImport(from: SourceFile, imported: string): string {
  return posix.join(posix.dirname(from.path), imported)
}

/** The files of the checkout that a file imports. */
function targetsOf(file: SourceFile): string[] {
  return importsOf(file)
    .filter((imported) => imported.startsWith('.'))
    .map((imported) => resolveImport(file, imported))
}

/** What a file imports, including types and imports at run time. */
function importsOf(file: SourceFile): string[] {
  return nodesOf(file)
    .filter(({ type }) => /^(Import|ExportAll|ExportNamed)Declaration$|^ImportExpression$|^TSImportType$/.test(type))
    .flatMap(({ source }) => textOf(source))
}

const parsed = new WeakMap<SourceFile, Node[]>()

/** All nodes of a file's syntax tree, outer ones first. */
function nodesOf(file: SourceFile): Node[] {
  const known = parsed.get(file)
  if (known) return known
  const { program, errors } = parseSync(file.path, file.text)
  if (errors.length > 0) throw new Error(`${file.path} cannot be parsed: ${errors[0]?.message}`)
  const nodes: Node[] = []
  collect(program, nodes)
  parsed.set(file, nodes)
  return nodes
}

function collect(value: unknown, nodes: Node[]): void {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value) && typeof (value as Node).type === 'string') nodes.push(value as Node)
  for (const member of Object.values(value)) collect(member, nodes)
}

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

const IMPURE_MEMBERS = [
  ['Date', 'now'],
  ['Math', 'random'],
  ['performance', 'now'],
] as const

function isImpure(node: Node): boolean {
  if (node.type === 'AwaitExpression' || node['async'] === true || node['await'] === true) return true
  const isClock = node.type === 'NewExpression' && nameOf(node['callee']) === 'Date'
  if (isClock && (node['arguments'] as Node[]).length === 0) return true
  return IMPURE_MEMBERS.some(([object, property]) => isMember(node, object, property))
}

/** The members of `interface Tables`. */
function declaredTables({ type, id, body }: Node): string[] {
  if (type !== 'TSInterfaceDeclaration' || nameOf(id) !== 'Tables') return []
  return ((body as Node)['body'] as Node[]).flatMap(({ key }) => nameOf(key) ?? [])
}

/** Methods of Kysely whose first argument is a table. */
const TABLE_METHODS =
  /^(selectFrom|insertInto|updateTable|deleteFrom|replaceInto|mergeInto|from|using|into|table|on|(inner|left|right|full|cross)Join|(create|alter|drop|truncate)Table)$/
const TABLE_IN_SQL = /\b(?:from|into|update|join|table)\s+"?([a-z_]+)/gi

/** The tables named by a call of Kysely, a call of `insertRows` or a piece of SQL. */
function namedTables(node: Node): string[] {
  if (node.type === 'TaggedTemplateExpression' && nameOf(node['tag']) === 'sql') {
    const quasis = (node['quasi'] as Node)['quasis'] as { value: { raw: string } }[]
    const matches = quasis.flatMap(({ value }) => [...value.raw.matchAll(TABLE_IN_SQL)])
    return matches.flatMap(([, name]) => name ?? [])
  }
  if (node.type === 'CallExpression' && nameOf(node['callee']) === 'insertRows') {
    return textOf((node['arguments'] as Node[])[1])
  }
  const method = node.type === 'CallExpression' ? nameOf((node['callee'] as Node)['property']) : undefined
  if (method === undefined || !TABLE_METHODS.test(method)) return []
  const [first] = node['arguments'] as Node[]
  const named = first?.type === 'ArrayExpression' ? (first['elements'] as unknown[]) : [first]
  return named.flatMap(textOf).map((text) => text.split(/\s/)[0] ?? '')
}

function isMember(node: Node, object: string, property: string): boolean {
  if (node.type !== 'MemberExpression') return false
  const found = nameOf(node['property']) ?? textOf(node['property'])[0]
  return nameOf(node['object']) === object && found === property
}

function nameOf(value: unknown): string | undefined {
  const node = value as Node | null | undefined
  return node?.type === 'Identifier' ? (node['name'] as string) : undefined
}

/** The text of a literal; nothing for anything else. */
function textOf(value: unknown): string[] {
  const node = value as Node | null | undefined
  return node?.type === 'Literal' && typeof node['value'] === 'string' ? [node['value']] : []
}
