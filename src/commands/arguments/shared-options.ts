// The options of every command. They may stand anywhere before a `--`.

/** Name → meaning. */
export const SHARED_OPTIONS = {
  '--json': 'Prints one JSON object to standard output.',
  '--help': 'Shows this help. Short: -h.',
  '--version': 'Shows the version. Short: -v.',
} as const
export type SharedOption = keyof typeof SHARED_OPTIONS

const SHORT: ReadonlyMap<string, SharedOption> = new Map([
  ['-h', '--help'],
  ['-v', '--version'],
])

/** The options of every command that were given, and all other words. `help …` means `… --help`. */
export function readSharedOptions(given: readonly string[]): {
  readonly flags: ReadonlySet<SharedOption>
  readonly words: readonly string[]
} {
  const args = given[0] === 'help' ? ['--help', ...given.slice(1)] : given
  const end = args.indexOf('--')
  const before = end < 0 ? args : args.slice(0, end)
  const read = before.map((word) => ({ word, flag: toFlag(word) }))
  const words = read.filter(({ flag }) => flag === undefined).map(({ word }) => word)
  const flags = read.flatMap(({ flag }) => flag ?? [])
  return { flags: new Set(flags), words: [...words, ...args.slice(before.length)] }
}

function toFlag(word: string): SharedOption | undefined {
  return Object.hasOwn(SHARED_OPTIONS, word) ? (word as SharedOption) : SHORT.get(word)
}
