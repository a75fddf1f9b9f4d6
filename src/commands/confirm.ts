// Asks before a command loses something: on a terminal a question, elsewhere the option --yes.
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { AppError } from '../core/app-error.ts'
import { codeOf } from '../core/thrown.ts'
import { UsageError, type CommandCall, type CommandOption } from './command.ts'

/** The option of every command that asks. */
export const YES: Readonly<Record<'yes', CommandOption>> = {
  yes: { summary: 'Does not ask. Needed if no terminal is there to ask on.' },
}

/** `what` says in a sentence what is lost. Throws UsageError if nobody can be asked, AppError `conflict` if the answer is not yes. */
export async function confirm({ option }: Pick<CommandCall, 'option'>, what: string): Promise<void> {
  if (option('yes') !== undefined) return
  // Standard output may go to a file or a variable.
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError(`${what} Nothing was changed: confirm with --yes, because no terminal is there to ask on.`)
  }
  const answer = await ask(`${what} Continue? [y/N] `)
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new AppError('conflict', 'Not confirmed. Nothing was changed.')
}

/** The line that the user types; '' if the input ends, or the user types Ctrl-C or Ctrl-D. */
async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await Promise.race([terminal.question(question), once(terminal, 'close').then(() => '')])
  } catch (error) {
    if (codeOf(error) !== 'ABORT_ERR') throw error
    process.stderr.write('\n')
    return ''
  } finally {
    terminal.close()
  }
}
