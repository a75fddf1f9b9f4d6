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
  return `must be valid JSON: ${causeAt(text, offset, error.message)} ${positionOf(text, offset)}`
}

/** Both counted from 1, as editors do. */
function positionOf(text: string, offset: number): string {
  let line = 1
  let lineStart = 0
  for (let end = text.indexOf('\n'); end >= 0 && end < offset; end = text.indexOf('\n', lineStart)) {
    line++
    lineStart = end + 1
  }
  return `at line ${line}, column ${offset - lineStart + 1}`
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

function causeAt(text: string, offset: number, message: string): string {
  if (offset >= text.length) return 'unexpected end'
  if (/escape/i.test(message)) return 'unknown escape in a string'
  const sign = text.charAt(offset)
  if (/control character/i.test(message)) return 'unescaped control character in a string'
  const word = /^-?(\p{L}+)/u.exec(text.slice(offset, offset + FOREIGN_WORD_LENGTH_MAX))
  if (word) return FOREIGN_WORDS.has(word[1] ?? '') ? `unexpected ${word[0]}` : 'unexpected word without quotes'
  if (sign === '"') return 'unexpected string'
  if (/[-0-9]/.test(sign)) return 'unexpected number'
  return /[!-~]/.test(sign) ? `unexpected ${sign}` : 'unexpected symbol'
}
