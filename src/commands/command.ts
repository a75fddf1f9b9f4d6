// The type of a command: one value that defines its arguments, its help and its work. Each family of commands has one file beside
// this one; `commands.ts` lists them all.
import type { Config } from '../app/config.ts'
import type { MachineChecks } from '../app/machine-faults.ts'

export interface Command {
  /** Such as `workspace create`. */
  readonly name: string
  /** The required arguments after the name, in order. The last one may be repeated if it ends in `…`. */
  readonly operands: readonly string[]
  /** By name, without the dashes. Every command also has `json` and `help`. */
  readonly options: Readonly<Record<string, CommandOption>>
  /** One sentence for the list of commands. */
  readonly summary: string
  /** More text for `--help` of this command. */
  readonly details?: string
  /** What the command needs of the machine, so that an invalid environment is reported with the faults of the machine. */
  readonly machineChecks?: (call: Pick<CommandCall, 'repeated'>) => Pick<MachineChecks, 'listens'>
  readonly run: (call: CommandCall) => Promise<void>
}

export interface CommandOption {
  /** The placeholder of its value in the help, such as `ZONE`, or its choices, such as `http|pipeline`. Absent: it takes no value. */
  readonly value?: string
  readonly isRepeatable?: boolean
  readonly isRequired?: boolean
  readonly summary: string
}

/** One call of a command, with its arguments and the environment already checked. */
export interface CommandCall {
  readonly config: Config
  readonly operands: readonly string[]
  /** The value of an option, or '' if it takes none; undefined if it was not given. */
  readonly option: (name: string) => string | undefined
  /** All values of a repeatable option. */
  readonly repeated: (name: string) => readonly string[]
  /** Prints the result: the object with `--json`, else the text. */
  readonly print: (output: CommandOutput) => void
  /** Reports an error and ends the process. For errors that cannot be thrown to the caller of `run`. */
  readonly fail: (error: unknown) => never
}

export interface CommandOutput {
  readonly json: object
  readonly text: string
  /** The command worked, but its result is a failure: exit status 1. */
  readonly isFailure?: boolean
  /** What is lost if nobody can read this output, for output that exists nowhere else. Sentences. */
  readonly ifUnwritten?: string
}

/** The command line is wrong: exit status 2. Every other failure has 1. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** An option with its placeholder, as the user writes it. */
export function optionUsage(name: string, { value }: CommandOption): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`
}

/** The usage line of a command. */
export function usageOf({ name, operands, options }: Command): string {
  const optional = Object.entries(options).map(([option, definition]) => {
    const text = optionUsage(option, definition)
    return definition.isRequired ? text : `[${text}]${definition.isRepeatable ? '…' : ''}`
  })
  return [name, ...operands, ...optional].join(' ')
}
