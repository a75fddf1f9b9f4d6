// Finds the command that the arguments name, checks the arguments and runs it. Prints results on standard output, everything else
// on standard error.
import { parseArgs } from 'node:util'
import { readConfig } from '../app/config.ts'
import { codeOf, messageOf } from '../core/thrown.ts'
import { readVersion } from '../app/version.ts'
import { UsageError, usageOf, type Command, type CommandCall, type CommandOutput } from './command.ts'
import { COMMANDS } from './commands.ts'
import { explainDatabaseError } from './explain-database.ts'
import { reportFailure } from './failure.ts'
import { helpOf, helpOfAll } from './help.ts'

/** Exit statuses besides 0. */
const FAILED = 1
const USAGE_ERROR = 2

/** How long a failed command may take to end by itself. */
const EXIT_WAIT_MS = 1_000

/** Data and backups hold personal data: only the user who runs this may read the files it creates. */
const OWNER_ONLY_UMASK = 0o077

/** Runs one command line and sets the exit status of the process. */
export async function runCommand(args: readonly string[]): Promise<void> {
  process.umask(OWNER_ONLY_UMASK)
  process.stdout.on('error', reportWriteError)
  // Without a listener an error of standard error would end the process, even a server.
  process.stderr.on('error', () => {})
  const { flags, words } = readFlags(args)
  const print = ({ json, text, isFailure = false }: CommandOutput) => {
    if (isFailure) process.exitCode = FAILED
    process.stdout.write(flags.has('--json') ? `${JSON.stringify(json)}\n` : text)
  }
  const fail = (error: unknown): never => {
    reportFailure(error, flags.has('--json'))
    process.exit(FAILED)
  }
  try {
    const help = flags.has('--help') ? helpFor(words) : undefined
    if (help !== undefined) print({ json: { help }, text: help })
    else if (flags.has('--version')) print({ json: { version: readVersion() }, text: `${readVersion()}\n` })
    else await call(findCommand(words), words, { print, fail })
  } catch (error) {
    process.exitCode = error instanceof UsageError ? USAGE_ERROR : FAILED
    reportFailure(error, flags.has('--json'))
    // The NATS client keeps abandoned connections, and one to a server that never answers would keep the process alive.
    setTimeout(() => process.exit(), EXIT_WAIT_MS).unref()
  }
}

/**
 * A reader that closes the pipe early, such as `head`, is no failure. A server continues even when the disk is full.
 */
function reportWriteError(error: Error): void {
  if (codeOf(error) === 'EPIPE') return
  process.exitCode = FAILED
  process.stderr.write(`tidings: the output could not be written: ${error.message}.\n`)
}

const FLAGS: ReadonlySet<string> = new Set(['--help', '--json', '--version'])

/** The options of every command may stand anywhere before a `--`. `help …` means `… --help`. */
function readFlags(given: readonly string[]): { flags: ReadonlySet<string>; words: readonly string[] } {
  const asksForHelp = given[0] === 'help' || given[0] === '-h'
  const args = asksForHelp ? ['--help', ...given.slice(1)] : given
  const end = args.indexOf('--')
  const before = end < 0 ? args : args.slice(0, end)
  const words = before.filter((arg) => !FLAGS.has(arg))
  return { flags: new Set(before.filter((arg) => FLAGS.has(arg))), words: [...words, ...args.slice(before.length)] }
}

/** The help for one command, a family of commands, or all; undefined if the words name none. */
function helpFor(words: readonly string[]): string | undefined {
  const command = COMMANDS.find(({ name }) => isNamed(name, words))
  if (command) return helpOf(command)
  const family = COMMANDS.filter(({ name }) => words[0] === undefined || name.startsWith(`${words[0]} `))
  return family.length > 0 ? helpOfAll(family) : undefined
}

function findCommand(words: readonly string[]): Command {
  const command = COMMANDS.find(({ name }) => isNamed(name, words))
  if (command) return command
  const [first] = words
  if (first === undefined) throw new UsageError('No command given.')
  const family = COMMANDS.filter(({ name }) => name.startsWith(`${first} `))
  if (family.length === 0) throw new UsageError(`Unknown command ${JSON.stringify(first)}.`)
  const problem =
    words[1] === undefined ? 'Incomplete command' : `Unknown command ${JSON.stringify(`${first} ${words[1]}`)}`
  throw new UsageError(`${problem}; choose one of: ${family.map(({ name }) => name).join(', ')}.`)
}

function isNamed(name: string, words: readonly string[]): boolean {
  return name.split(' ').every((word, index) => words[index] === word)
}

async function call(
  command: Command,
  words: readonly string[],
  output: Pick<CommandCall, 'print' | 'fail'>,
): Promise<void> {
  const { operands, options } = readArguments(command, words.slice(command.name.split(' ').length))
  const config = readConfig()
  const option = (name: string) => options[name]?.[0]
  const repeated = (name: string) => options[name] ?? []
  try {
    await command.run({ config, operands, option, repeated, ...output })
  } catch (error) {
    throw explainDatabaseError(error, { setting: 'DATABASE_URL', url: config.databaseUrl })
  }
}

interface Arguments {
  readonly operands: readonly string[]
  readonly options: Readonly<Record<string, readonly string[] | undefined>>
}

function readArguments(command: Command, words: readonly string[]): Arguments {
  const { positionals, values } = parse(command, words)
  const { operands, options } = command
  const missing = operands.slice(positionals.length)
  const isOpenEnded = operands.at(-1)?.endsWith('…') ?? false
  const extra = isOpenEnded ? [] : positionals.slice(operands.length)
  if (missing.length > 0) throw usageError(command, `Missing ${missing.join(', ')}.`)
  if (extra.length > 0) throw usageError(command, `Unexpected argument ${JSON.stringify(extra[0])}.`)
  const twice = Object.keys(options).find((name) => !options[name]?.isRepeatable && (values[name]?.length ?? 0) > 1)
  if (twice !== undefined) throw usageError(command, `--${twice} can be given only once.`)
  const absent = Object.keys(options).find((name) => options[name]?.isRequired && values[name] === undefined)
  if (absent !== undefined) throw usageError(command, `Missing --${absent}.`)
  return { operands: positionals, options: values }
}

function parse(command: Command, words: readonly string[]) {
  const options = Object.keys(command.options).map((name) => [name, { type: 'string', multiple: true }] as const)
  try {
    return parseArgs({ args: [...words], options: Object.fromEntries(options), allowPositionals: true })
  } catch (error) {
    throw usageError(command, parseProblem(error))
  }
}

/** What Node's parser of arguments refuses, in our words. Its message begins with the option in quotes. */
function parseProblem(error: unknown): string {
  const [, option = ''] = /'(-[^' ]*)/.exec(messageOf(error)) ?? []
  switch (codeOf(error)) {
    case 'ERR_PARSE_ARGS_UNKNOWN_OPTION':
      return `Unknown option ${option}. Write an argument that begins with a dash after --, as in: -- ${option}`
    case 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE':
      return `${option} needs a value. Write one that begins with a dash as ${option}=VALUE.`
    default:
      return messageOf(error)
  }
}

function usageError(command: Command, problem: string): UsageError {
  return new UsageError(`${problem}\nUsage: tidings ${usageOf(command)}`)
}
