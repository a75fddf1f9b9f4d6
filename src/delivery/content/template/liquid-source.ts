// Reads the Liquid of a template without rendering it: its faults, where it stands in the text, and what it names.
import { LiquidError, Output, Tokenizer, TypeGuards, type Parser, type TopLevelToken } from 'liquidjs'
import { mailLiquid, MailParser, nameOf, type LiquidMode } from './mail-liquid.ts'

/** The most faults that are named of one text. */
const FAULTS_MAX = 20
/** The names of our own tags and variables begin so. */
export const OWN_PREFIX = 'svc_'
/** In the document's spelling; a label may stand in quotes. */
const COUPON =
  /\bCoupons\s*\.\s*CouponListName\s*\[\s*(?:"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<bare>[A-Za-z0-9_-]+))\s*\]/g
/** Follow from a fault within a block: its other tags then stand alone. */
const REST_OF_BLOCK = /^(?:end\w+|else|elsif|when)$/

export interface LiquidFault {
  readonly problem: string
  /** Both begin with 1. */
  readonly line: number
  readonly column: number
}

/** A part of a text. `isLiquid`: a tag, an output, or what stands within `raw` or `comment`. */
interface Part {
  readonly isLiquid: boolean
  readonly begin: number
  readonly end: number
}

export interface LiquidSource {
  /** The text, with coupons in a spelling that Liquid reads; of the same length, so that places stay. */
  readonly text: string
  /** Empty if the text cannot be divided into them: there is a fault then. */
  readonly parts: readonly Part[]
  /** The variables that outputs print and for which they have no default. */
  readonly variables: readonly string[]
  /** Labels of coupon lists. */
  readonly coupons: readonly string[]
  readonly faults: readonly LiquidFault[]
}

export function readLiquid(original: string, mode: LiquidMode): LiquidSource {
  try {
    const parts = divide(original)
    const coupons = new Set<string>()
    const texts = parts.map(({ isLiquid, begin, end }) => {
      const text = original.slice(begin, end)
      return isLiquid ? respellCoupons(text, coupons) : text
    })
    const text = texts.join('')
    return { text, parts, coupons: [...coupons], ...check(text, mode) }
  } catch (error) {
    if (!isLiquidError(error)) throw error
    return { text: original, parts: [], variables: [], coupons: [], faults: [toFault(error)] }
  }
}

/** Throws LiquidError if a tag or output does not end. */
function divide(text: string): Part[] {
  const parts: Part[] = []
  let within: string | undefined
  for (const token of tokensOf(text)) {
    const { begin, end } = token
    const name = TypeGuards.isTagToken(token) ? token.name : undefined
    parts.push({ isLiquid: !TypeGuards.isHTMLToken(token) || within !== undefined, begin, end })
    if (within === undefined && (name === 'raw' || name === 'comment')) within = name
    else if (within !== undefined && name === `end${within}`) within = undefined
  }
  return parts
}

function tokensOf(text: string): TopLevelToken[] {
  return new Tokenizer(text, mailLiquid.options.operators).readTopLevelTokens(mailLiquid.options)
}

/** `Coupons.CouponListName[label]` as a variable that needs no quotes in the original, filled up with spaces. */
function respellCoupons(text: string, labels: Set<string>): string {
  return text.replaceAll(COUPON, (...matched: unknown[]) => {
    const { double, single, bare } = matched.at(-1) as Record<string, string | undefined>
    const label = double ?? single ?? bare ?? ''
    labels.add(label)
    const spelt = `${OWN_PREFIX}coupons["${label}"]`
    return spelt.padEnd((matched[0] as string).length)
  })
}

/** Parses each token by itself, so that one fault does not hide the others. */
function check(text: string, mode: LiquidMode): Pick<LiquidSource, 'variables' | 'faults'> {
  const parser = new CollectingParser(mode)
  const tokens = tokensOf(text)
  const faults: LiquidFault[] = []
  for (let token = tokens.shift(); token && faults.length < FAULTS_MAX; token = tokens.shift()) {
    try {
      if (faults.length > 0 && TypeGuards.isTagToken(token) && REST_OF_BLOCK.test(token.name)) continue
      parser.parseToken(token, tokens)
    } catch (error) {
      if (!isLiquidError(error)) throw error
      faults.push(toFault(error))
    }
  }
  return { variables: [...parser.variables], faults }
}

class CollectingParser extends MailParser {
  readonly variables = new Set<string>()

  override parseToken(token: TopLevelToken, remainTokens: TopLevelToken[]): ReturnType<Parser['parseToken']> {
    if (TypeGuards.isTagToken(token) && token.name.startsWith(OWN_PREFIX)) {
      throw new LiquidProblem(`tag "${token.name}" not found`, token)
    }
    const parsed = super.parseToken(token, remainTokens)
    if (parsed instanceof Output && !parsed.value.filters.some(({ name }) => name === 'default')) {
      if (parsed.value.initial.postfix.some(TypeGuards.isPropertyAccessToken)) this.variables.add(nameOf(parsed))
    }
    return parsed
  }
}

class LiquidProblem extends LiquidError {}

function isLiquidError(error: unknown): error is LiquidError {
  return LiquidError.is(error)
}

/** Liquid's own messages end with the line and column. */
const PLACE = /, (?:file:.*, )?line:\d+, col:\d+$/s

function toFault(error: LiquidError): LiquidFault {
  const [line = 1, column = 1] = error.token.getPosition()
  return { problem: error.message.replace(PLACE, ''), line, column }
}
