// Prints the error of a failed command: a sentence and every fault for people, one JSON object with `--json`.
import { ConfigError } from '../app/config.ts'
import { AppError, type Fault } from '../core/app-error.ts'
import { messageOf } from '../core/thrown.ts'
import { StoreError } from '../store/store.ts'
import { UsageError } from './command.ts'

interface Failure {
  readonly code: string
  readonly message: string
  readonly details: readonly Fault[]
}

/** Prints why a command failed. For unexpected errors, also prints the stack on standard error. */
export function reportFailure(error: unknown, isJson: boolean): void {
  const failure = toFailure(error)
  if (isJson) process.stdout.write(`${JSON.stringify({ error: failure })}\n`)
  else process.stderr.write(toText(failure))
  if (failure.code === 'internal' && error instanceof Error) process.stderr.write(`${error.stack}\n`)
}

function toFailure(error: unknown): Failure {
  if (error instanceof AppError) return { code: error.code, message: error.message, details: error.details }
  if (error instanceof ConfigError) return { code: 'invalid_request', message: error.message, details: error.faults }
  if (error instanceof UsageError) {
    return { code: 'invalid_request', message: `${error.message}\nSee tidings --help.`, details: [] }
  }
  if (error instanceof StoreError)
    return { code: 'unavailable', message: `The store failed: ${error.message}.`, details: [] }
  return { code: 'internal', message: messageOf(error), details: [] }
}

function toText({ message, details }: Failure): string {
  const faults = details.map(({ field, problem }) => `  ${field} ${problem}`)
  return `${[`tidings: ${message}`, ...faults].join('\n')}\n`
}
