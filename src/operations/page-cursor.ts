// Cursors of pages, as `next_before` holds them: a letter for the kind of list, then the numbers that make up the key of the last
// item. Times begin with a digit, so a cursor never looks like a time.

/** Longer than any cursor and any time. */
export const BEFORE_LENGTH_MAX = 64

const RADIX = 36
const NUMBER = '([0-9a-z]{1,11})'

export class PageCursor<Name extends string> {
  readonly #letter: string
  readonly #names: readonly Name[]
  readonly #pattern: RegExp

  /** `names`: the numbers of a key, in the order in which they are written. */
  constructor(letter: string, names: readonly Name[]) {
    this.#letter = letter
    this.#names = names
    this.#pattern = new RegExp(`^${letter}${names.map(() => NUMBER).join('-')}$`)
  }

  /** Undefined if the text is not such a cursor, or has a number that is not a safe integer. */
  parse(text: string): Readonly<Record<Name, number>> | undefined {
    const numbers = this.#pattern.exec(text)?.slice(1).map(toNumber)
    if (!numbers?.every(Number.isSafeInteger)) return undefined
    return Object.fromEntries(this.#names.map((name, index) => [name, numbers[index]])) as Record<Name, number>
  }

  write(key: Readonly<Record<Name, number>>): string {
    return this.#letter + this.#names.map((name) => key[name].toString(RADIX)).join('-')
  }
}

function toNumber(digits: string): number {
  return Number.parseInt(digits, RADIX)
}
