// Reads the Liquid of a template without rendering it: its faults, where it stands in the text, and what it names.
import { LiquidError, Output, Tokenizer, TypeGuards, type Parser, type TopLevelToken } from 'liquidjs'
import { mailLiquid, MailParser, nameOf, toTokenQueue, withoutPlace, type LiquidMode } from './mail-liquid.ts'
import { placeAt, type TextPlace } from './text-place.ts'

/** The most faults that are named of one text. */
const FAULTS_MAX = 20
/** The names of our own tags and variables begin so. */
const OWN_PREFIX = 'svc_'
/** In the document's spelling; a label may stand in quotes. */
const COUPON =
  /\bCoupons\s*\.\s*CouponListName\s*\[\s*(?:"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<bare>[A-Za-z0-9_-]+))\s*\]/g
/** Follow from a fault within a block: its other tags then stand alone. */
const REST_OF_BLOCK = /^(?:end\w+|else|elsif|when)$/

export interface LiquidFault extends TextPlace {
  readonly problem: string
}

/** A part of a text. `isLiquid`: a tag, an output, or what stands within `raw` or `comment`. */
interface Part {
  readonly isLiquid: boolean
  readonly begin: number
  readonly end: number
}

/** A place that prints a coupon of a list. */
export interface CouponUse {
  readonly label: string
  /** Where its output or tag names it, from 0. */
  readonly at: number
}

export interface LiquidSource {
  /** The text, with coupons in a spelling that Liquid reads; of the same length, so that places stay. */
  readonly text: string
  /** Empty if the text cannot be divided into them: there is a fault then. */
  readonly parts: readonly Part[]
  /** The variables that outputs print and for which they have no default. */
  readonly variables: readonly string[]
  readonly coupons: readonly CouponUse[]
  readonly faults: readonly LiquidFault[]
}

export function readLiquid(original: string, mode: LiquidMode): LiquidSource {
  try {
    const parts = divide(original)
    const coupons: CouponUse[] = []
    const texts = parts.map(({ isLiquid, begin, end }) => {
      const text = original.slice(begin, end)
      return isLiquid ? respellCoupons(text, (label, at) => coupons.push({ label, at: begin + at })) : text
    })
    const text = texts.join('')
    const { variables, errors } = check(text, mode)
    return { text, parts, variables, coupons, faults: errors.map((error) => toFault(error, original)) }
  } catch (error) {
    if (!isLiquidError(error)) throw error
    return { text: original, parts: [], variables: [], coupons: [], faults: [toFault(error, original)] }
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
function respellCoupons(text: string, onCoupon: (label: string, at: number) => void): string {
  return text.replaceAll(COUPON, (...matched: unknown[]) => {
    const { double, single, bare } = matched.at(-1) as Record<string, string | undefined>
    const label = double ?? single ?? bare ?? ''
    onCoupon(label, matched.at(-3) as number)
    const spelt = `${OWN_PREFIX}coupons["${label}"]`
    return spelt.padEnd((matched[0] as string).length)
  })
}

/** Parses each token by itself, so that one fault does not hide the others. */
function check(
  text: string,
  mode: LiquidMode,
): { readonly variables: readonly string[]; readonly errors: readonly LiquidError[] } {
  const parser = new CollectingParser(mode)
  const tokens = toTokenQueue(tokensOf(text))
  const errors: LiquidError[] = []
  for (let token = tokens.shift(); token && errors.length < FAULTS_MAX; token = tokens.shift()) {
    try {
      if (errors.length > 0 && TypeGuards.isTagToken(token) && REST_OF_BLOCK.test(token.name)) continue
      parser.parseToken(token, tokens)
    } catch (error) {
      if (!isLiquidError(error)) throw error
      errors.push(error)
    }
  }
  return { variables: [...parser.variables], errors }
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

/** Places stay when coupons are respelt, but line breaks within them do not: so it looks in the original. */
function toFault(error: LiquidError, original: string): LiquidFault {
  return { problem: withoutPlace(error.message), ...placeAt(original, error.token.begin) }
}
