// Calls a command in this process, for tests of what commands do. `../program.ts` starts processes, for tests of what processes do: output,
// exit status, signals, settings. Starting one takes 0.3 s of processor time.
import { readConfig } from '../../../src/app/config.ts'
import { findCommand } from '../../../src/commands/arguments/find-command.ts'
import { readArguments } from '../../../src/commands/arguments/read-arguments.ts'
import { readSharedOptions } from '../../../src/commands/arguments/shared-options.ts'
import { UsageError, type Command, type CommandOutput } from '../../../src/commands/command.ts'
import { COMMANDS } from '../../../src/commands/commands.ts'
import { explainDatabaseError } from '../../../src/commands/explain-database.ts'
import { AppError } from '../../../src/core/app-error.ts'
import type { EndedJson, Environment } from '../program.ts'

/** How a command ended: with `--json` it would print `body`, otherwise `text`. */
export interface CalledCommand extends Omit<EndedJson, 'stderr'> {
  readonly text: string
}

/** The command and its arguments, as the program reads them. Throws UsageError. */
export function readCommandLine(args: readonly string[]): { command: Command } & ReturnType<typeof readArguments> {
  const { words } = readSharedOptions(args)
  const command = findCommand(COMMANDS, words)
  return { command, ...readArguments(command, words.slice(command.name.split(' ').length)) }
}

/** What the program would say about a wrong command line; undefined if it is right. */
export function usageErrorOf(args: readonly string[]): string | undefined {
  try {
    readCommandLine(args)
    return undefined
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
}

/** Calls a command that uses a store. The environment has only these settings. */
export async function callCommand(args: readonly string[], environment: Environment): Promise<CalledCommand> {
  const { command, operands, options } = readCommandLine(args)
  const config = readConfig(environment)
  const printed: CommandOutput[] = []
  try {
    await command.run({
      config,
      operands,
      option: (name) => options[name]?.[0],
      repeated: (name) => options[name] ?? [],
      print: (output) => void printed.push(output),
      fail(error) {
        throw error
      },
    })
  } catch (thrown) {
    const error = explainDatabaseError(thrown, { setting: 'DATABASE_URL', url: config.databaseUrl })
    if (!(error instanceof AppError)) throw error
    const { code, message, details } = error
    return { status: 1, body: { error: { code, message, details } }, text: '' }
  }
  const [output] = printed
  if (output === undefined || printed.length > 1) throw new Error(`${args.join(' ')} printed ${printed.length} results`)
  return { status: output.isFailure === true ? 1 : 0, body: JSON.parse(JSON.stringify(output.json)), text: output.text }
}
