// Finds the command that the arguments name, checks the arguments and runs it. Prints results on standard output, everything else
// on standard error.
import { ConfigError, readEnvironment, type Config, type EnvironmentReading } from '../app/config.ts'
import { codeOf } from '../core/thrown.ts'
import { readVersion } from '../app/version.ts'
import { systemProblem } from '../core/phrases/system-problem.ts'
import { readSharedOptions } from './arguments/shared-options.ts'
import { familyOf, findCommand, isNamed } from './arguments/find-command.ts'
import { readArguments } from './arguments/read-arguments.ts'
import { UsageError, type Command, type CommandCall, type CommandOutput } from './command.ts'
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
  let ifUnwritten: string | undefined
  process.stdout.on('error', (error) => reportWriteError(error, ifUnwritten))
  // Without a listener an error of standard error would end the process, even a server.
  process.stderr.on('error', () => {})
  const { flags, words } = readSharedOptions(args)
  const print = (output: CommandOutput) => {
    if (output.isFailure) process.exitCode = FAILED
    ifUnwritten = output.ifUnwritten
    process.stdout.write(flags.has('--json') ? `${JSON.stringify(output.json)}\n` : output.text)
  }
  const fail = (error: unknown): never => {
    reportFailure(error, flags.has('--json'))
    process.exit(FAILED)
  }
  try {
    const help = flags.has('--help') ? helpFor(words) : undefined
    if (help !== undefined) print({ json: { help }, text: help })
    else if (flags.has('--version')) print({ json: { version: readVersion() }, text: `${readVersion()}\n` })
    else await call(findCommand(COMMANDS, words), words, { print, fail })
  } catch (error) {
    process.exitCode = error instanceof UsageError ? USAGE_ERROR : FAILED
    reportFailure(error, flags.has('--json'))
    // The NATS client keeps abandoned connections, and one to a server that never answers would keep the process alive.
    setTimeout(() => process.exit(), EXIT_WAIT_MS).unref()
  }
}

/**
 * A reader that closes the pipe early, such as `head`, is no failure, unless the output exists nowhere else. A server continues even
 * when the disk is full.
 */
function reportWriteError(error: Error, ifUnwritten: string | undefined): void {
  const isClosed = codeOf(error) === 'EPIPE'
  if (isClosed && ifUnwritten === undefined) return
  process.exitCode = FAILED
  const reason = isClosed ? 'nobody reads it' : (systemProblem(error) ?? error.message)
  const lost = ifUnwritten === undefined ? '' : ` ${ifUnwritten}`
  process.stderr.write(`tidings: The output could not be written: ${reason}.${lost}\n`)
}

/** The help for one command, a family of commands, or all; undefined if the words name none. */
function helpFor(words: readonly string[]): string | undefined {
  const command = COMMANDS.find(({ name }) => isNamed(name, words))
  if (command) return helpOf(command)
  const family = words[0] === undefined ? COMMANDS : familyOf(COMMANDS, words[0])
  return family.length > 0 ? helpOfAll(family) : undefined
}

async function call(
  command: Command,
  words: readonly string[],
  output: Pick<CommandCall, 'print' | 'fail'>,
): Promise<void> {
  const { operands, options } = readArguments(command, words.slice(command.name.split(' ').length))
  const option = (name: string) => options[name]?.[0]
  const repeated = (name: string) => options[name] ?? []
  const config = await requireConfig(readEnvironment(), command.machineChecks?.({ repeated }))
  try {
    await command.run({ config, operands, option, repeated, ...output })
  } catch (error) {
    throw explainDatabaseError(error, { setting: 'DATABASE_URL', url: config.databaseUrl })
  }
}

/** Throws ConfigError with all faults of the environment and, if there are any, those of the machine. */
async function requireConfig(
  { config, faults, warnings }: EnvironmentReading,
  checks: ReturnType<NonNullable<Command['machineChecks']>> | undefined,
): Promise<Config> {
  for (const warning of warnings) process.stderr.write(`tidings: ${warning}\n`)
  if (faults.length === 0) return config
  if (!checks) throw new ConfigError(faults)
  const { findMachineFaults } = await import('../app/machine-faults.ts')
  const invalid = new Set(faults.map(({ field }) => field))
  throw new ConfigError([...faults, ...(await findMachineFaults(config, { ...checks, invalid }))])
}
