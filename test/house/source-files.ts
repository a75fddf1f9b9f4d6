// The files of a checkout as the house rules read them: their texts, imports and syntax trees.
import { posix } from 'node:path'
import { parseSync } from 'vite'

export interface SourceFile {
  /** From the root of the checkout, with slashes. */
  readonly path: string
  readonly text: string
}

/** A house rule: returns a sentence for each violation. */
export type Rule = (files: readonly SourceFile[]) => string[]

/** A node of the syntax tree; its members depend on its type. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

export function inCode(files: readonly SourceFile[]): SourceFile[] {
  return files.filter(({ path }) => /\.tsx?$/.test(path))
}

export function inSources(files: readonly SourceFile[]): SourceFile[] {
  return inCode(files).filter(({ path }) => path.startsWith('src/'))
}

/** Those that run in the browser. */
export function inDashboard(files: readonly SourceFile[]): SourceFile[] {
  return inCode(files).filter(({ path }) => path.startsWith('dashboard/') && path !== 'dashboard/build.ts')
}

export function floorOf(path: string): string {
  const [, folder = '', inside] = path.split('/')
  return inside === undefined ? folder.replace('.ts', '') : folder
}

export function resolveImport(from: SourceFile, imported: string): string {
  return posix.join(posix.dirname(from.path), imported)
}

/** The files of the checkout that a file imports. */
export function targetsOf(file: SourceFile): string[] {
  return importsOf(file)
    .filter((imported) => imported.startsWith('.'))
    .map((imported) => resolveImport(file, imported))
}

/** The imports of a file, including types and dynamic imports. */
export function importsOf(file: SourceFile): string[] {
  return importNodes(file).flatMap(({ source }) => textOf(source))
}

/** Those that the running program needs: all but `import type`. */
export function runningImportsOf(file: SourceFile): string[] {
  return importNodes(file)
    .filter(({ type, importKind }) => importKind !== 'type' && type !== 'TSImportType')
    .flatMap(({ source }) => textOf(source))
}

function importNodes(file: SourceFile): Node[] {
  return nodesOf(file).filter(({ type }) =>
    /^(Import|ExportAll|ExportNamed)Declaration$|^ImportExpression$|^TSImportType$/.test(type),
  )
}

const parsed = new WeakMap<SourceFile, Node[]>()

/** All nodes of a file's syntax tree, outer ones first. */
export function nodesOf(file: SourceFile): Node[] {
  const cached = parsed.get(file)
  if (cached) return cached
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

export function isMember(node: Node, object: string, property: string): boolean {
  if (node.type !== 'MemberExpression') return false
  const found = nameOf(node['property']) ?? textOf(node['property'])[0]
  return nameOf(node['object']) === object && found === property
}

export function nameOf(value: unknown): string | undefined {
  const node = value as Node | null | undefined
  return node?.type === 'Identifier' ? (node['name'] as string) : undefined
}

/** The text of a literal; nothing for anything else. */
export function textOf(value: unknown): string[] {
  const node = value as Node | null | undefined
  return node?.type === 'Literal' && typeof node['value'] === 'string' ? [node['value']] : []
}
