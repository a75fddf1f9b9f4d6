// What a command is: one value from which come its parsing, its help and its dispatch. Each family of commands has one
// file beside this one; `commands.ts` lists them all.
import type { Config } from '../app/config.ts'

export interface Command {
  /** The words that name it, such as `workspace create`. */
  readonly name: string
  /** What must follow the name, in order; the last one may be repeated when it ends in `…`. */
  readonly operands: readonly string[]
  /** By name, without the dashes. `json` and `help` belong to every command. */
  readonly options: Readonly<Record<string, CommandOption>>
  /** One sentence for the list of commands. */
  readonly summary: string
  /** What else `--help` of this command says. */
  readonly details?: string
  readonly run: (call: CommandCall) => Promise<void>
}

export interface CommandOption {
  /** The word for its value in the help, such as `ZONE`. */
  readonly value: string
  readonly isRepeatable?: boolean
  readonly isRequired?: boolean
  readonly summary: string
}

/** One call of a command, with its arguments and the environment already checked. */
export interface CommandCall {
  readonly config: Config
  readonly operands: readonly string[]
  /** The value of an option; undefined where it was not given. */
  readonly option: (name: string) => string | undefined
  /** All values of an option that may be repeated. */
  readonly repeated: (name: string) => readonly string[]
  /** Prints what came of it: the object with `--json`, else the text. */
  readonly print: (output: CommandOutput) => void
  /** Says why it failed and ends the process, for what cannot be thrown to the caller of `run`. */
  readonly fail: (error: unknown) => never
}

export interface CommandOutput {
  readonly json: object
  readonly text: string
  /** The command did what it was asked, but what it found is a failure: exit status 1. */
  readonly isFailure?: boolean
}

/** The command line itself is wrong: exit status 2, where every other failure has 1. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** The line that shows how a command is called. */
export function usageOf({ name, operands, options }: Command): string {
  const optional = Object.entries(options).map(([option, { value, isRepeatable, isRequired }]) => {
    const text = `--${option} ${value}`
    return isRequired ? text : `[${text}]${isRepeatable ? '…' : ''}`
  })
  return [name, ...operands, ...optional].join(' ')
}
