// Finds the links of HTML that contains Liquid, where they stand and what a browser reads in them, and where the body ends.
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2'
import type { LiquidSource } from './liquid-source.ts'

/** A piece of the value of an attribute: text as a browser reads it, or Liquid as it is written. */
export interface HrefPiece {
  readonly isLiquid: boolean
  readonly text: string
}

export interface Href {
  /** The value in the text, with its quotes. */
  readonly begin: number
  readonly end: number
  readonly pieces: readonly HrefPiece[]
}

export interface HtmlLinks {
  readonly hrefs: readonly Href[]
  /** Where the last `</body>` begins; the length of the text if there is none. */
  readonly bodyEnd: number
}

const LINK_TAGS: ReadonlySet<string> = new Set(['a', 'area'])
/** Characters that nobody uses: one that the text does not have stands for Liquid. */
const PRIVATE_USE = { first: 0xe000, last: 0xf8ff } as const
const CLOSING_TAG_LENGTH = '</'.length
/** What stands between the name of an attribute and its value. */
const BEFORE_VALUE = /\s*=\s*/y

export function findLinks(source: LiquidSource): HtmlLinks {
  const reader = new LinkReader(source)
  // Liquid may contain quotes and angle brackets, and the parser must not read them.
  const tokenizer = new Tokenizer({ decodeEntities: true }, reader)
  tokenizer.write(reader.masked)
  tokenizer.end()
  return { hrefs: reader.hrefs, bodyEnd: reader.bodyEnd ?? source.text.length }
}

class LinkReader implements TokenizerCallbacks {
  readonly masked: string
  readonly hrefs: Href[] = []
  bodyEnd: number | undefined
  readonly #text: string
  readonly #mask: string
  #isLink = false
  /** Where the name of the attribute ends that is being read; undefined if it is not the address of a link. */
  #nameEnd: number | undefined
  #pieces: HrefPiece[] = []

  constructor({ text, parts }: LiquidSource) {
    const mask = unusedCharacter(text)
    this.#text = text
    this.#mask = mask
    this.masked = parts
      .map(({ isLiquid, begin, end }) => (isLiquid ? mask.repeat(end - begin) : text.slice(begin, end)))
      .join('')
  }

  onopentagname(start: number, end: number): void {
    this.#isLink = LINK_TAGS.has(this.#nameAt(start, end))
  }

  onclosetag(start: number, end: number): void {
    if (this.#nameAt(start, end) === 'body') this.bodyEnd = start - CLOSING_TAG_LENGTH
  }

  onattribname(start: number, end: number): void {
    this.#nameEnd = this.#isLink && this.#nameAt(start, end) === 'href' ? end : undefined
    this.#pieces = []
  }

  onattribdata(start: number, end: number): void {
    if (this.#nameEnd === undefined) return
    let begin = start
    for (let at = start + 1; at <= end; at++) {
      if (at < end && this.#isMask(at) === this.#isMask(begin)) continue
      if (begin < at) this.#pieces.push({ isLiquid: this.#isMask(begin), text: this.#text.slice(begin, at) })
      begin = at
    }
  }

  onattribentity(codePoint: number): void {
    this.#pieces.push({ isLiquid: false, text: String.fromCodePoint(codePoint) })
  }

  onattribend(_quote: unknown, end: number): void {
    if (this.#nameEnd === undefined || this.#pieces.length === 0) return
    BEFORE_VALUE.lastIndex = this.#nameEnd
    const [sign = ''] = BEFORE_VALUE.exec(this.masked) ?? []
    this.hrefs.push({ begin: this.#nameEnd + sign.length, end, pieces: this.#pieces })
  }

  /** The name without Liquid that stands around it, as in `{% if … %}href=…`. */
  #nameAt(start: number, end: number): string {
    return this.masked.slice(start, end).replaceAll(this.#mask, '').toLowerCase()
  }

  #isMask(at: number): boolean {
    return this.masked[at] === this.#mask
  }

  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onend(): void {}
  onopentagend(): void {}
  onprocessinginstruction(): void {}
  onselfclosingtag(): void {}
  ontext(): void {}
  ontextentity(): void {}
}

function unusedCharacter(text: string): string {
  for (let code = PRIVATE_USE.first; code < PRIVATE_USE.last; code++) {
    const character = String.fromCharCode(code)
    if (!text.includes(character)) return character
  }
  return String.fromCharCode(PRIVATE_USE.last)
}
