// Says where a text stops being JSON. It must not quote the body, except for a punctuation mark or one of the words below: bodies
// do not belong in answers or diagnostics.
import { visit } from 'jsonc-parser'

/** Words of other languages and notations that are not JSON. */
const FOREIGN_WORDS: ReadonlySet<string> = new Set(
  'NaN nan Infinity inf undefined None nil Null NULL True TRUE False FALSE'.split(' '),
)
const FOREIGN_WORD_LENGTH_MAX = 16

/** The problem, as the end of a sentence about the source of `text`. `error` is what JSON.parse threw for it. */
export function syntaxProblem(text: string, error: SyntaxError): string {
  const offset = offsetOf(text, error.message)
  return `must be valid JSON; it breaks at character ${offset}, where ${standsAt(text, offset, error.message)}`
}

/** V8 does not say where an unexpected token is. */
function offsetOf(text: string, message: string): number {
  const position = /position (\d+)/.exec(message)?.[1]
  if (position !== undefined) return Number(position)
  try {
    // Stops at the first error: the rest may be nested as deep as the text is long.
    visit(text, { onError: (_error, offset) => stopAt(offset) }, { disallowComments: true })
  } catch (stop) {
    if (stop instanceof FirstError) return stop.offset
    throw stop
  }
  return text.length
}

class FirstError extends Error {
  readonly offset: number

  constructor(offset: number) {
    super(`the first error stands at ${offset}`)
    this.offset = offset
  }
}

function stopAt(offset: number): never {
  throw new FirstError(offset)
}

function standsAt(text: string, offset: number, message: string): string {
  if (offset >= text.length) return 'the body ends'
  if (/escape/i.test(message)) return 'a string has an escape that JSON does not know'
  const sign = text.charAt(offset)
  if (/control character/i.test(message)) return 'a string has a control character that is not escaped'
  const word = /^-?(\p{L}+)/u.exec(text.slice(offset, offset + FOREIGN_WORD_LENGTH_MAX))
  if (word) return FOREIGN_WORDS.has(word[1] ?? '') ? `${word[0]} stands` : 'a word without quotes stands'
  if (sign === '"') return 'a string stands'
  if (/[-0-9]/.test(sign)) return 'a number stands'
  return /[!-~]/.test(sign) ? `${sign} stands` : 'a character stands that does not belong there'
}
