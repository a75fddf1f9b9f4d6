// The house rules about the contents of files: purity, tables, names, leftovers, the words of ARCHITECTURE.md.
import {
  floorOf,
  inCode,
  inDashboard,
  inSources,
  isMember,
  nameOf,
  nodesOf,
  textOf,
  type Node,
  type Rule,
  type SourceFile,
} from './source-files.ts'

/** A file defines what it exports. */
export const barrels: Rule = (files) =>
  inCode(files).flatMap((file) =>
    nodesOf(file)
      .filter(({ type, source }) => /^Export(All|Named)Declaration$/.test(type) && Boolean(source))
      .map(() => `${file.path} re-exports a name of another file: import it from there`),
  )

/** Core has no clock, no randomness and no `await`. */
export const pureCore: Rule = (files) =>
  inSources(files)
    .filter(({ path }) => floorOf(path) === 'core')
    .flatMap((file) =>
      nodesOf(file)
        .filter(isImpure)
        .map((node) => `${file.path} is not pure: ${file.text.slice(node.start, node.end).split('\n')[0]}`),
    )

/** All statements that name a table are in one file, whether they are written with Kysely or as SQL. */
export const tableOwners: Rule = (files) => {
  const sources = inSources(files)
  const stored = new Set(sources.flatMap((file) => nodesOf(file).flatMap(declaredTables)))
  const logged = new Set(sources.filter(isLog).flatMap((file) => nodesOf(file).flatMap(createdTables)))
  const owners = new Map<string, Set<string>>([...stored, ...logged].map((table) => [table, new Set()]))
  for (const file of sources) {
    const names = nodesOf(file).flatMap(isLog(file) ? tablesInTexts : namedTables)
    for (const name of names) owners.get(name)?.add(file.path)
  }
  return [...owners].flatMap(([table, paths]) => {
    if (paths.size === 0) return [`the table ${table} is named by no file`]
    if (paths.size > 1) return [`the table ${table} is named by several files: ${[...paths].join(', ')}`]
    const home = stored.has(table) ? 'store' : 'log'
    const outside = [...paths].filter((path) => floorOf(path) !== home)
    return outside.map((path) => `the table ${table} is named by ${path}, outside of src/${home}`)
  })
}

function isLog({ path }: SourceFile): boolean {
  return floorOf(path) === 'log'
}

/** Only the store may ask which database it uses, and how that locks. Others call a function named after what they want. */
export const storeSecrets: Rule = (files) =>
  inSources(files)
    .filter(({ path }) => floorOf(path) !== 'store')
    .flatMap((file) =>
      nodesOf(file)
        .filter((node) => isMember(node, 'database', 'kind') || isMember(node, 'store', 'kind') || readsLocksRows(node))
        .map((node) => `${file.path} asks which database it is: ${file.text.slice(node.start, node.end)}`),
    )

function readsLocksRows(node: Node): boolean {
  if (node.type === 'MemberExpression') return nameOf(node['property']) === 'locksRows'
  return node.type === 'Property' && nameOf(node['key']) === 'locksRows'
}

/** No file replaces a method on an object of Node or of a package. */
export const foreignMethods: Rule = (files) =>
  inSources(files).flatMap((file) =>
    nodesOf(file)
      .filter(replacesMethod)
      .map((node) => `${file.path} replaces a method: ${file.text.slice(node.start, node.end).split('\n')[0]}`),
  )

function replacesMethod({ type, left, right }: Node): boolean {
  if (type !== 'AssignmentExpression') return false
  const [target, value] = [left as Node, right as Node]
  const isOwn = (target['object'] as Node | undefined)?.type === 'ThisExpression'
  return target.type === 'MemberExpression' && !isOwn && /^(ArrowFunction|Function)Expression$/.test(value.type)
}

/** A name means one thing: no two files of `src/` and `dashboard/` export the same. */
export const exportedOnce: Rule = (files) => {
  const exporters = new Map<string, string[]>()
  for (const file of [...inSources(files), ...inDashboard(files)]) {
    for (const name of new Set(nodesOf(file).flatMap(exportedNames)))
      exporters.set(name, [...(exporters.get(name) ?? []), file.path])
  }
  return [...exporters].flatMap(([name, paths]) => {
    return paths.length > 1 ? [`${name} is exported by several files: ${paths.join(', ')}`] : []
  })
}

function exportedNames({ type, declaration }: Node): string[] {
  const declared = declaration as Node | null
  if (type !== 'ExportNamedDeclaration' || !declared) return []
  const several = declared['declarations'] as Node[] | undefined
  return (several ?? [declared]).flatMap(({ id }) => nameOf(id) ?? [])
}

/** Each operation is named in the title of a suite, so that none is without a test. */
export const operationsTested: Rule = (files) => {
  const suites = inCode(files).filter(({ path }) => path.endsWith('.test.ts') && !path.startsWith('test/house/'))
  const titles = suites.flatMap((file) => nodesOf(file).flatMap(suiteTitles)).join('\n')
  const operations = inSources(files).filter(({ path }) => floorOf(path) === 'operations')
  return operations.flatMap((file) =>
    nodesOf(file)
      .flatMap(definedOperations)
      .filter((name) => !new RegExp(`\\b${name}\\b`).test(titles))
      .map((name) => `the operation ${name} (${file.path}) is in no title of a suite`),
  )
}

function suiteTitles({ type, callee, arguments: values }: Node): string[] {
  if (type !== 'CallExpression' || !nameOf(callee)?.startsWith('describe')) return []
  return textOf((values as Node[])[0])
}

function definedOperations({ type, callee, arguments: values }: Node): string[] {
  if (type !== 'CallExpression' || nameOf(callee) !== 'defineOperation') return []
  const [spec] = values as Node[]
  const properties = (spec?.['properties'] ?? []) as Node[]
  return properties.filter(({ key }) => nameOf(key) === 'name').flatMap(({ value }) => textOf(value))
}

/** Every suite that `vitest.config.ts` lists is a test file: a wrong name would have no effect, and nobody would notice. */
export const listedSuites: Rule = (files) => {
  const suites = new Set(files.map(({ path }) => /([^/]+)\.test\.ts$/.exec(path)?.[1]))
  return inCode(files)
    .filter(({ path }) => path === 'vitest.config.ts')
    .flatMap(namesInLists)
    .filter((name) => !suites.has(name))
    .map((name) => `vitest.config.ts lists ${name}, which is no test file`)
}

/** The texts in the lists that constants hold. */
function namesInLists(file: SourceFile): string[] {
  const nodes = nodesOf(file)
  const constants = nodes.filter(({ type, id }) => type === 'VariableDeclarator' && /^[A-Z_]+$/.test(nameOf(id) ?? ''))
  return nodes
    .filter(({ type, start, end }) => {
      return type === 'ArrayExpression' && constants.some((constant) => start > constant.start && end <= constant.end)
    })
    .flatMap(({ elements }) => (elements as Node[]).flatMap(textOf))
}

export const GLOSSARY_WORDS_MAX = 30

/** A stranger learns few words: those of the table in ARCHITECTURE.md, each with its meaning. */
export const glossary: Rule = (files) => {
  const page = files.find(({ path }) => path === 'ARCHITECTURE.md')
  if (!page) return []
  const [, section = ''] = page.text.split(/^## .*Words.*$/m)
  const rows = section.split(/^## /m)[0]?.match(/^\| (?!Word |-).+\|$/gm) ?? []
  if (rows.length === 0) return ['ARCHITECTURE.md has no table of words']
  return rows.length > GLOSSARY_WORDS_MAX
    ? [`ARCHITECTURE.md explains ${rows.length} words, more than ${GLOSSARY_WORDS_MAX}`]
    : []
}

/** The environment is read in one file. */
export const environmentReads: Rule = (files) =>
  inSources(files)
    .filter(({ path }) => path !== 'src/app/config.ts')
    .flatMap((file) =>
      nodesOf(file)
        .filter((node) => isMember(node, 'process', 'env'))
        .map(() => `${file.path} reads the environment: only src/app/config.ts may`),
    )

/** Each file begins with a comment that says what it does. */
export const fileHeaders: Rule = (files) =>
  inCode(files)
    .filter(({ text }) => !/^\/\/ \S/.test(text))
    .map(({ path }) => `${path} does not begin with a comment that says what it does`)

/** Written in pieces, so that this file does not break its own rule. */
const UNFINISHED = [/\bTO[D]O\b/, /\bFIX[M]E\b/, /\bX[X]X\b/, /@ts-[i]gnore/, /\.(?:on[l]y|sk[i]p|to[d]o)\(/]
const REASONLESS_DISABLE = /(?:eslint|oxlint)-disable(?!.*--)/

/** Nothing is unfinished, and nothing is disabled without a reason beside it. */
export const leftovers: Rule = (files) =>
  inCode(files).flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      const isLeftover = UNFINISHED.some((pattern) => pattern.test(line)) || REASONLESS_DISABLE.test(line)
      return isLeftover ? [`${path}:${index + 1} is not finished: ${line.trim()}`] : []
    }),
  )

/** Folders on somebody's machine. */
const MACHINE_PATHS = /(?<![\w.])\/(?:home|Users|root|work)\/[A-Za-z.]/

/** No file names a folder of the machine on which it was written. */
export const machinePaths: Rule = (files) =>
  files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      return MACHINE_PATHS.test(line) ? [`${path}:${index + 1} names a path of a machine: ${line.trim()}`] : []
    }),
  )

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
const TABLE_IN_SQL = /\b(?:from|into|update|join|table(?: if not exists)?)\s+"?([a-z_]+)/gi

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

/** The tables that SQL in a text creates. */
function createdTables(node: Node): string[] {
  return sqlOf(node).flatMap((text) =>
    [...text.matchAll(/\bcreate table (?:if not exists )?([a-z_]+) ?\(/g)].map(([, name]) => name ?? ''),
  )
}

/** The tables that SQL in a text names, and the text itself if it may be a table's name: a single word is also a member's. */
function tablesInTexts(node: Node): string[] {
  return sqlOf(node).flatMap((text) => {
    const inSql = [...text.matchAll(TABLE_IN_SQL)].map(([, name]) => name ?? '')
    return text.includes('_') ? [text, ...inSql] : inSql
  })
}

function sqlOf(node: Node): string[] {
  if (node.type !== 'TemplateElement') return textOf(node)
  return [(node['value'] as { readonly raw: string }).raw]
}
