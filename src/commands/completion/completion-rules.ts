// Says what may follow the words of an unfinished command line, for the scripts that complete them.
import { SHARED_OPTIONS } from '../arguments/shared-options.ts'
import { familyOf } from '../arguments/find-command.ts'
import type { Command } from '../command.ts'

/** What may stand under the cursor after certain words. Without choices, shells complete names of files. */
export interface CompletionRule {
  /** The words before the cursor that are no options; `*` is any word. */
  readonly words: readonly string[]
  /** Whether further words may stand before the cursor. */
  readonly isOpenEnded: boolean
  readonly choices: readonly string[]
  /** With their dashes. */
  readonly options: readonly string[]
}

/** An option that takes a value, and the values it may have; none if it takes any text. */
export interface OptionRule {
  /** The command: others may have an option of the same name with other values. */
  readonly words: readonly string[]
  /** With its dashes. */
  readonly option: string
  readonly choices: readonly string[]
}

const FLAGS = Object.keys(SHARED_OPTIONS)

/** The first rule that fits applies. */
export function listCompletionRules(commands: readonly Command[]): readonly CompletionRule[] {
  const families = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))]
  const first = { words: [], isOpenEnded: false, choices: families, options: FLAGS }
  const second = families.map((family) => {
    return { words: [family], isOpenEnded: false, choices: secondWords(commands, family), options: FLAGS }
  })
  return [first, ...second.filter(({ choices }) => choices.length > 0), ...commands.flatMap(commandRules)]
}

/** The options of all commands that take a value. */
export function listOptionRules(commands: readonly Command[]): readonly OptionRule[] {
  return commands.flatMap(({ name, options }) =>
    Object.entries(options).flatMap(([option, { value }]) => {
      const rule = { words: name.split(' '), option: `--${option}` }
      return value === undefined ? [] : [{ ...rule, choices: choicesIn(value) }]
    }),
  )
}

/** Completes operands that have choices, such as `data|reports`, in their places, and options everywhere. */
function commandRules({ name, operands, options: own }: Command): CompletionRule[] {
  const words = name.split(' ')
  const options = [...Object.keys(own).map((option) => `--${option}`), ...FLAGS]
  const withChoices = operands.flatMap((operand, index) => {
    const choices = choicesIn(operand)
    const before = [...words, ...operands.slice(0, index).map(() => '*')]
    return choices.length === 0 ? [] : { words: before, isOpenEnded: false, choices, options }
  })
  return [...withChoices, { words, isOpenEnded: true, choices: [], options }]
}

function secondWords(commands: readonly Command[], family: string): string[] {
  return familyOf(commands, family).map(({ name }) => name.slice(family.length + 1))
}

function choicesIn(placeholder: string): string[] {
  return placeholder.includes('|') ? placeholder.split('|') : []
}
