// Checks every file of the checkout against the house rules, and that each rule fails for code that breaks it.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import * as codeRules from './code-rules.ts'
import { GLOSSARY_WORDS_MAX } from './code-rules.ts'
import * as layoutRules from './layout-rules.ts'
import {
  FILE_LINES_MAX,
  FOLDER_FILES_MAX,
  FUNCTION_LINES_MAX,
  TEST_FOLDER_FILES_MAX,
  TEST_LINES_MAX,
} from './layout-rules.ts'
import type { Rule, SourceFile } from './source-files.ts'

const rules = { ...layoutRules, ...codeRules }
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TEXT = /\.(tsx?|cjs|js|json|md|html|css|yml|sh)$|^[^.]+$|^\.[a-z]+$/
/** Made by others, or not part of the project. */
const LEFT_OUT = new Set(['node_modules', 'dist', '.git', 'coverage', 'package-lock.json', 'LICENSE'])
/** Where a server of this checkout keeps its store. */
const DATA_FOLDER = 'data'

/** One rule, with code that breaks it. */
interface HouseRule {
  readonly rule: Rule
  readonly broken: readonly (readonly [how: string, files: Readonly<Record<string, string>>])[]
}

const HOUSE: Readonly<Record<string, HouseRule>> = {
  'floors import only from floors below them': {
    rule: rules.floorImports,
    broken: [
      ['core imports the store', { 'src/core/a.ts': `import { b } from '../store/b.ts'` }],
      ['core imports a package', { 'src/core/a.ts': `import { b } from 'kysely'` }],
      ['core imports a part of Node', { 'src/core/a.ts': `import { b } from 'node:fs'` }],
      [
        'an operation imports a type of the pipeline',
        { 'src/operations/a.ts': `import type { B } from '../pipeline/b.ts'` },
      ],
      ['the pipeline imports HTTP later', { 'src/pipeline/a.ts': `export const b = () => import('../http/b.ts')` }],
      ['the store names a type of the log', { 'src/store/a.ts': `export type B = import('../log/b.ts').B` }],
      ['statistics import the pipeline', { 'src/statistics/a.ts': `import { b } from '../pipeline/b.ts'` }],
      ['the pipeline imports delivery', { 'src/pipeline/a.ts': `import { b } from '../delivery/b.ts'` }],
      ['a job imports HTTP', { 'src/jobs/a.ts': `import type { B } from '../http/b.ts'` }],
      ['HTTP imports the dashboard', { 'src/http/a.ts': `import { b } from '../../dashboard/data/b.ts'` }],
      ['HTTP imports a command', { 'src/http/a.ts': `import { b } from '../commands/b.ts'` }],
      ['a floor imports a test', { 'src/http/a.ts': `import { b } from '../../test/b.ts'` }],
      ['the runtime imports the core', { 'src/runtime/a.ts': `import { b } from '../core/b.ts'` }],
      ['the runtime imports concurrency', { 'src/runtime/a.ts': `import { b } from '../concurrency/b.ts'` }],
      ['concurrency imports the store', { 'src/concurrency/a.ts': `import type { B } from '../store/b.ts'` }],
      ['concurrency imports the runtime', { 'src/concurrency/a.ts': `import { b } from '../runtime/b.ts'` }],
      ['a folder is no floor', { 'src/misc/a.ts': `export const b = 1` }],
    ],
  },
  'the dashboard imports from the server only types of operations, and the core': {
    rule: rules.dashboardImports,
    broken: [
      ['an operation', { 'dashboard/data/a.ts': `import { b } from '../../src/operations/b.ts'` }],
      ['a type of the store', { 'dashboard/data/a.ts': `import type { B } from '../../src/store/b.ts'` }],
      ['a part of Node', { 'dashboard/data/a.ts': `import { b } from 'node:fs'` }],
      ['data imports a component', { 'dashboard/data/a.ts': `import { B } from '../components/b.tsx'` }],
      ['a component imports a screen', { 'dashboard/components/a.tsx': `import B from '../screens/b.tsx'` }],
      ['a component imports the routes', { 'dashboard/components/a.tsx': `import { B } from '../app.tsx'` }],
      ['a folder is no part', { 'dashboard/misc/a.ts': '' }],
    ],
  },
  'imports of files have no cycles, not even through types': {
    rule: rules.importCycles,
    broken: [
      [
        'two files import each other',
        { 'src/core/a.ts': `import { b } from './b.ts'`, 'src/core/b.ts': `import type { A } from './a.ts'` },
      ],
      [
        'three files in a ring',
        {
          'src/core/a.ts': `import './b.ts'`,
          'src/core/b.ts': `import './c.ts'`,
          'src/core/c.ts': `import './a.ts'`,
        },
      ],
    ],
  },
  'imports between folders of a floor have no cycles': {
    rule: rules.folderCycles,
    broken: [
      [
        'two folders import from each other',
        {
          'src/store/a/one.ts': `import { two } from '../b/two.ts'`,
          'src/store/b/three.ts': `import type { Four } from '../a/four.ts'`,
        },
      ],
    ],
  },
  'a file defines what it exports': {
    rule: rules.barrels,
    broken: [
      ['everything is re-exported', { 'src/core/a.ts': `export * from './b.ts'` }],
      ['one name is re-exported', { 'src/core/a.ts': `export { b } from './b.ts'` }],
    ],
  },
  'files are small enough to hold in your head': {
    rule: rules.fileSizes,
    broken: [
      ['a source is too long', { 'src/core/a.ts': '// a\n'.repeat(FILE_LINES_MAX + 1) }],
      ['a test is too long', { 'test/a.test.ts': '// a\n'.repeat(TEST_LINES_MAX + 1) }],
    ],
  },
  'folders are small enough to take in at a glance': {
    rule: rules.folderSizes,
    broken: [
      ['a floor is not divided', manyFiles('src/store', FOLDER_FILES_MAX + 1)],
      ['a folder of tests is not divided', manyFiles('test/store', TEST_FOLDER_FILES_MAX + 1)],
    ],
  },
  'functions are small enough to hold in your head': {
    rule: rules.functionSizes,
    broken: [
      ['a function is too long', { 'src/core/a.ts': longFunction('function a()') }],
      ['an arrow function is too long', { 'src/core/a.ts': longFunction('const a = () =>') }],
      ['a component is too long', { 'dashboard/screens/a.tsx': longFunction('export function A()') }],
      ['a method is too long', { 'src/core/a.ts': `class A {\n${longFunction('a()')}}` }],
      ['one test is too long', { 'test/a.test.ts': `describe('a', () => {\nit('b', ${longFunction('() =>')})\n})` }],
    ],
  },
  'file names say what is in the file': {
    rule: rules.fileNames,
    broken: [
      ['utilities', { 'src/core/utils.ts': '' }],
      ['a part of a name', { 'src/http/request-helpers.ts': '' }],
      ['types of everything', { 'src/core/types.ts': '' }],
      ['a barrel', { 'src/core/index.ts': '' }],
      ['capitals', { 'src/core/couponList.ts': '' }],
    ],
  },
  'core has no clock, no randomness and no await': {
    rule: rules.pureCore,
    broken: [
      ['the time', { 'src/core/a.ts': 'export const a = () => Date.now()' }],
      ['the time as a date', { 'src/core/a.ts': 'export const a = () => new Date()' }],
      ['chance', { 'src/core/a.ts': `export const a = () => Math['random']()` }],
      ['waiting', { 'src/core/a.ts': 'export const a = async () => {}' }],
      ['waiting for each', { 'src/core/a.ts': 'export async function a(b: any) { for await (const c of b); }' }],
    ],
  },
  'each table is named by exactly one file': {
    rule: rules.tableOwners,
    broken: [
      ['two files query it', tableFiles({ 'src/store/b.ts': `query.selectFrom('things as thing')` })],
      [
        'another joins it',
        tableFiles({ 'src/store/b.ts': `query.selectFrom('others').innerJoin('things', 'a', 'b')` }),
      ],
      ['another fills it', tableFiles({ 'src/store/b.ts': `insertRows(store, 'things', { columns, rows })` })],
      ['SQL names it', tableFiles({ 'src/store/b.ts': 'sql`select 1 from things`' })],
      ['a command changes it', tableFiles({ 'src/commands/b.ts': `query.deleteFrom('things')` })],
      ['the log names it', tableFiles({ 'src/log/b.ts': `export const b = { name: 'old_things' }` }, 'old_things')],
      ['a second file of the log names a table of its own', logTableFiles('delete from entries')],
      [
        'no file queries it',
        { 'src/store/a.ts': `declare module './t.ts' { interface Tables { things: { id: number } } }` },
      ],
    ],
  },
  'only the store depends on which database it uses': {
    rule: rules.storeSecrets,
    broken: [
      ['the kind', { 'src/jobs/a.ts': `if (database.kind === 'sqlite') void 0` }],
      ['the locks', { 'src/pipeline/a.ts': 'if (store.locksRows) void 0' }],
      ['the locks, taken apart', { 'src/pipeline/a.ts': 'const { locksRows } = store' }],
    ],
  },
  'no file replaces a method of Node or of a package': {
    rule: rules.foreignMethods,
    broken: [
      ['an arrow function', { 'src/http/a.ts': 'socket.destroy = () => socket' }],
      ['a function', { 'src/http/a.ts': 'request.push = function push() {}' }],
    ],
  },
  'no name is exported twice': {
    rule: rules.exportedOnce,
    broken: [
      ['two functions', { 'src/core/a.ts': 'export function c() {}', 'src/store/b.ts': 'export function c() {}' }],
      ['the dashboard', { 'src/core/a.ts': 'export const C = 1', 'dashboard/data/b.ts': 'export class C {}' }],
      ['a type and a value', { 'src/core/a.ts': 'export interface C {}', 'src/http/b.ts': 'export const C = 1' }],
    ],
  },
  'every operation is in the title of a suite': {
    rule: rules.operationsTested,
    broken: [
      [
        'its name is only in a body',
        {
          'src/operations/a.ts': `export const a = defineOperation({ name: 'get_a' })`,
          'test/operations/a.test.ts': `describe('Get', () => { it('get_a', () => {}) })`,
        },
      ],
    ],
  },
  'every suite that vitest.config.ts lists is a test file': {
    rule: rules.listedSuites,
    broken: [
      ['a list', { 'vitest.config.ts': `const LONG = ['a', 'b']`, 'test/a.test.ts': '// a' }],
      ['a list that is changed', { 'vitest.config.ts': 'const FIRST = [...LONG, "b"].map(toPath)' }],
    ],
  },
  'ARCHITECTURE.md explains few words': {
    rule: rules.glossary,
    broken: [
      ['too many', { 'ARCHITECTURE.md': `## 9. Words\n${'| word | meaning |\n'.repeat(GLOSSARY_WORDS_MAX + 1)}` }],
      ['none', { 'ARCHITECTURE.md': '## 1. The idea' }],
    ],
  },
  'the environment is read in one file': {
    rule: rules.environmentReads,
    broken: [
      ['a member', { 'src/http/a.ts': 'export const a = process.env.PORT' }],
      ['all of it', { 'src/commands/a.ts': `export const { PORT } = process['env']` }],
    ],
  },
  'each file begins with a comment on its purpose': {
    rule: rules.fileHeaders,
    broken: [['no comment', { 'src/core/a.ts': `export const a = 1\n// later` }]],
  },
  'nothing is unfinished, or disabled without a reason': {
    rule: rules.leftovers,
    broken: [
      ['a promise', { 'src/core/a.ts': split('// TO', 'DO: later') }],
      ['a test that runs alone', { 'test/a.test.ts': split('it.on', "ly('a', () => {})") }],
      ['a skipped test', { 'test/a.test.ts': split('it.sk', "ip('a', () => {})") }],
      ['an ignored error', { 'src/core/a.ts': split('// @ts-ig', 'nore') }],
      ['a disabled rule', { 'src/core/a.ts': split('// oxlint-dis', 'able-next-line no-console') }],
    ],
  },
  'no file names a folder of the machine on which it was written': {
    rule: rules.machinePaths,
    broken: [
      ['a home', { 'docs/a.md': split('see /ho', 'me/ada/notes') }],
      ['a folder', { 'src/core/a.ts': split('// as in "/wo', 'rk/main"') }],
    ],
  },
}

describe.each(Object.entries(HOUSE))('%s', (_name, { rule, broken }) => {
  it('holds in this checkout', () => {
    expect(rule(everything)).toEqual([])
  })

  it.each(broken)('fails: %s', (_how, files) => {
    expect(rule(toFiles(files))).not.toEqual([])
  })
})

it('The house rules above include every rule that is defined', () => {
  const defined = Object.values(rules).filter((value) => typeof value === 'function')
  const used = Object.values(HOUSE).map(({ rule }) => rule)
  expect(new Set(used)).toEqual(new Set(defined))
})

const everything = readCheckout()

/** Every text file of the checkout, tracked or not. */
function readCheckout(folder = ''): SourceFile[] {
  return readdirSync(join(ROOT, folder)).flatMap((name) => {
    const path = folder === '' ? name : `${folder}/${name}`
    if (LEFT_OUT.has(name) || path === DATA_FOLDER) return []
    if (statSync(join(ROOT, path)).isDirectory()) return readCheckout(path)
    return TEXT.test(name) ? [{ path, text: readFileSync(join(ROOT, path), 'utf8') }] : []
  })
}

/** Joins a text that in one piece would break a rule in this file. */
function split(...pieces: string[]): string {
  return pieces.join('')
}

function toFiles(texts: Readonly<Record<string, string>>): SourceFile[] {
  return Object.entries(texts).map(([path, text]) => ({ path, text }))
}

function longFunction(head: string): string {
  return `${head} {\n${'  void 0\n'.repeat(FUNCTION_LINES_MAX)}}\n`
}

function manyFiles(folder: string, count: number): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${folder}/file-${index}.ts`, '// a']))
}

/** A table in its own file, and another file. */
function tableFiles(other: Readonly<Record<string, string>>, table = 'things'): Readonly<Record<string, string>> {
  const own = `declare module './t.ts' { interface Tables { ${table}: { id: number } } }\nquery.selectFrom('${table}')`
  return { 'src/store/a.ts': own, ...other }
}

/** A table of the log in its own file, and another file with SQL. */
function logTableFiles(sql: string): Readonly<Record<string, string>> {
  return {
    'src/log/a.ts': 'export const TABLES = `create table if not exists entries (position integer)`',
    'src/log/b.ts': `export const b = '${sql}'`,
  }
}
