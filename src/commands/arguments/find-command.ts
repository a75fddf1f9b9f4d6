// Finds the command that the first words name, and says what is wrong if they name none.
import { didYouMean, findClosest } from '../../app/closest-name.ts'
import { UsageError, type Command } from '../command.ts'
import { SHARED_OPTIONS } from './shared-options.ts'

/** Throws UsageError if there is none. */
export function findCommand(commands: readonly Command[], words: readonly string[]): Command {
  const command = commands.find(({ name }) => isNamed(name, words))
  if (command) return command
  const [first, second] = words
  if (first === undefined) throw new UsageError('No command given.')
  if (first.startsWith('-')) throw new UsageError(misplacedOption(commands, first))
  const family = familyOf(commands, first)
  if (family.length === 0) {
    const known = commands.flatMap(({ name }) => [name, name.split(' ')[0] ?? ''])
    throw new UsageError(`Unknown command ${JSON.stringify(first)}.${didYouMean(first, known)}`)
  }
  const names = family.map(({ name }) => name)
  if (second === undefined) throw new UsageError(`Incomplete command; choose one of: ${names.join(', ')}.`)
  const given = `${first} ${second}`
  const closest = findClosest(
    second,
    names.map((name) => name.slice(first.length + 1)),
  )
  const help = closest === undefined ? `; choose one of: ${names.join(', ')}.` : `. Did you mean ${first} ${closest}?`
  throw new UsageError(`Unknown command ${JSON.stringify(given)}${help}`)
}

/** The commands whose name begins with a word and has more words. */
export function familyOf(commands: readonly Command[], first: string): readonly Command[] {
  return commands.filter(({ name }) => name.startsWith(`${first} `))
}

export function isNamed(name: string, words: readonly string[]): boolean {
  return name.split(' ').every((word, index) => words[index] === word)
}

function misplacedOption(commands: readonly Command[], option: string): string {
  const isOfCommand = commands.some(({ options }) => Object.keys(options).some((name) => `--${name}` === option))
  if (isOfCommand) return `${option} must stand after the command.`
  return `Unknown option ${option}.${didYouMean(option, Object.keys(SHARED_OPTIONS))}`
}
