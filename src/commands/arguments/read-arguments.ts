// Reads the operands and options of one command, and refuses everything that is wrong with them at once.
import { parseArgs } from 'node:util'
import { didYouMean } from '../../app/closest-name.ts'
import { UsageError, usageOf, type Command } from '../command.ts'
import { SHARED_OPTIONS } from './shared-options.ts'

export interface Arguments {
  readonly operands: readonly string[]
  /** By name, without the dashes. The value of an option that takes none is ''. */
  readonly options: Readonly<Record<string, readonly string[] | undefined>>
}

/** `words` are those after the name of the command. Throws UsageError. */
export function readArguments(command: Command, words: readonly string[]): Arguments {
  const given = parse(command, words)
  const options: Record<string, string[]> = {}
  for (const { name, value } of given.options) (options[name] ??= []).push(value ?? '')
  const problems = [
    ...given.options.flatMap((option) => valueProblem(command, option) ?? []),
    ...[...given.unknown].map((option) => unknownProblem(command, option)),
    ...countProblems(command, options),
    // The value of an unknown option looks like an operand.
    ...(given.unknown.size === 0 ? operandProblems(command, given.operands) : []),
  ]
  if (problems.length === 0) return { operands: given.operands, options }
  throw new UsageError([...problems, `Usage: tidings ${usageOf(command)}`].join('\n'))
}

interface GivenOption {
  readonly name: string
  readonly value: string | undefined
  /** Whether the value is written after a `=`. */
  readonly isInline: boolean
}

interface GivenWords {
  readonly operands: string[]
  readonly options: GivenOption[]
  /** As written. */
  readonly unknown: Set<string>
}

function parse(command: Command, words: readonly string[]): GivenWords {
  const known = Object.entries(command.options).map(([name, { value }]) => {
    return [name, { type: value === undefined ? 'boolean' : 'string', multiple: true }] as const
  })
  const { tokens } = parseArgs({
    args: [...words],
    options: Object.fromEntries(known),
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  const given: GivenWords = { operands: [], options: [], unknown: new Set() }
  for (const token of tokens) {
    if (token.kind === 'positional') given.operands.push(token.value)
    if (token.kind !== 'option') continue
    const { name, value, inlineValue, rawName, index } = token
    const isKnown = Object.hasOwn(command.options, name) && rawName === `--${name}`
    if (isKnown) given.options.push({ name, value, isInline: inlineValue === true })
    else given.unknown.add(words[index]?.split('=')[0] ?? rawName)
  }
  return given
}

function valueProblem({ options }: Command, { name, value, isInline }: GivenOption): string | undefined {
  const takesValue = options[name]?.value !== undefined
  if (!takesValue) return value === undefined ? undefined : `--${name} takes no value.`
  const isValue = value !== undefined && (isInline || !value.startsWith('-'))
  return isValue ? undefined : `--${name} needs a value. Write one that begins with a dash as --${name}=VALUE.`
}

function unknownProblem({ options }: Command, option: string): string {
  const known = [...Object.keys(options).map((name) => `--${name}`), ...Object.keys(SHARED_OPTIONS)]
  const hint = didYouMean(option, known) || ` Write an argument that begins with a dash after --, as in: -- ${option}`
  return `Unknown option ${option}.${hint}`
}

function countProblems({ options }: Command, given: Readonly<Record<string, readonly string[]>>): string[] {
  return Object.entries(options).flatMap(([name, { isRepeatable, isRequired }]) => {
    const count = given[name]?.length ?? 0
    if (count > 1 && !isRepeatable) return `--${name} can be given only once.`
    return count === 0 && isRequired ? `Missing --${name}.` : []
  })
}

function operandProblems({ operands }: Command, given: readonly string[]): string[] {
  const missing = operands.slice(given.length)
  const isOpenEnded = operands.at(-1)?.endsWith('…') ?? false
  const extra = isOpenEnded ? [] : given.slice(operands.length)
  return [
    ...(missing.length > 0 ? [`Missing ${missing.join(', ')}.`] : []),
    ...extra.map((word) => `Unexpected argument ${JSON.stringify(word)}.`),
  ]
}
