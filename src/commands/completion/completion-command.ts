// `completion bash|zsh|fish`: prints a script by which a shell completes the command line.
import { AppError } from '../../core/app-error.ts'
import type { Command } from '../command.ts'
import { listCompletionRules, listOptionRules } from './completion-rules.ts'
import { SHELLS, writeCompletion } from './completion-scripts.ts'

/** The command for a list of commands, to which it may belong itself. */
export function completionCommandFor(listCommands: () => readonly Command[]): Command {
  return {
    name: 'completion',
    operands: [SHELLS.join('|')],
    options: {},
    summary: 'Prints a script by which a shell completes commands and options.',
    details: [
      'bash: add to ~/.bashrc:                   source <(tidings completion bash)',
      'zsh:  add to ~/.zshrc, after compinit:    source <(tidings completion zsh)',
      'fish: add to ~/.config/fish/config.fish:  tidings completion fish | source',
    ].join('\n'),
    async run({ operands: [word], print }) {
      const shell = SHELLS.find((known) => known === word)
      if (!shell) {
        const details = [{ field: 'shell', problem: `must be one of ${SHELLS.join(', ')}` }]
        throw new AppError('invalid_request', `There is no completion for ${JSON.stringify(word)}.`, details)
      }
      const commands = listCommands()
      const script = writeCompletion(shell, {
        rules: listCompletionRules(commands),
        options: listOptionRules(commands),
      })
      print({ json: { shell, script }, text: script })
    },
  }
}
