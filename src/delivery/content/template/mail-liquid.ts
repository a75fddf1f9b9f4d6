// Liquid as templates of emails use it: limited, without files, and with values that are only ever data. An output without a value is
// recorded as missing instead of printed as nothing.
import {
  Context,
  Liquid,
  LiquidError,
  Output,
  Parser,
  toValueSync,
  type Emitter,
  type Template,
  type TopLevelToken,
  TypeGuards,
} from 'liquidjs'
import { RENDER_TIME_MAX_MS, RENDERED_BYTES_MAX } from '../render-limits.ts'

/** Characters of one template: the longest HTML, with each link replaced by a longer one. */
const TEMPLATE_LENGTH_MAX = 4_000_000
/** Characters and list items that a template may make while it is rendered. */
const MEMORY_MAX = 64 * 1024 * 1024
/** Tags that read files, that print values without escaping them, or that make HTML of their own. */
const REFUSED_TAGS = ['include', 'render', 'layout', 'block', 'echo', 'liquid', 'cycle', 'tablerow']
/** Filters that evaluate one of their values. */
const EVALUATING_FILTER = /_exp$/
/** The last filter of an output that has escaped its value already. */
const ESCAPING_FILTERS: ReadonlySet<string> = new Set(['escape', 'escape_once', 'xml_escape', 'newline_to_br'])

/** What an output is printed into. HTML is escaped; text is not. */
export type LiquidMode = 'html' | 'text'

/** Under this name the render context keeps the outputs that had no value. */
const MISSING = 'svc_missing'

export const mailLiquid = makeLiquid()

function makeLiquid(): Liquid {
  const liquid = new Liquid({
    strictFilters: true,
    ownPropertyOnly: true,
    catchAllErrors: false,
    // A local time would depend on the machine.
    timezoneOffset: 0,
    templates: {},
    parseLimit: TEMPLATE_LENGTH_MAX,
    renderLimit: RENDER_TIME_MAX_MS,
    memoryLimit: MEMORY_MAX,
  })
  for (const tag of REFUSED_TAGS) delete liquid.tags[tag]
  for (const filter of Object.keys(liquid.filters)) {
    if (EVALUATING_FILTER.test(filter)) liquid.unregisterFilter(filter)
  }
  liquid.registerFilter('newline_to_br', (value: unknown) =>
    escapeOnce(toText(value)).replaceAll(/\r\n|\n/g, '<br />\n'),
  )
  return liquid
}

/**
 * Tokens of which Liquid takes the first one again and again. A plain array would move all others each time: 140,000 outputs, a
 * megabyte, took 30 s.
 */
class TokenQueue extends Array<TopLevelToken> {
  /** They stand in reverse order. */
  override shift(): TopLevelToken | undefined {
    return this.pop()
  }
}

export function toTokenQueue(tokens: readonly TopLevelToken[]): TopLevelToken[] {
  return TokenQueue.from(tokens.toReversed())
}

/** Parses outputs as `CheckedOutput`. */
export class MailParser extends Parser {
  readonly #mode: LiquidMode

  constructor(mode: LiquidMode) {
    super(mailLiquid)
    this.#mode = mode
  }

  override parseTokens(tokens: TopLevelToken[]): Template[] {
    return super.parseTokens(toTokenQueue(tokens))
  }

  override parseToken(token: TopLevelToken, remainTokens: TopLevelToken[]): ReturnType<Parser['parseToken']> {
    const parsed = super.parseToken(token, remainTokens)
    return parsed instanceof Output && TypeGuards.isOutputToken(token) ? new CheckedOutput(token, this.#mode) : parsed
  }
}

type OutputToken = ConstructorParameters<typeof Output>[0]

/** An output that records that it has no value, unless the template gives a `default`. */
class CheckedOutput extends Output {
  readonly #name: string
  readonly #hasDefault: boolean
  /** Whether it prints how many items or characters there are. */
  readonly #isSize: boolean
  readonly #escapes: boolean

  constructor(token: OutputToken, mode: LiquidMode) {
    super(token, mailLiquid)
    const { filters } = this.value
    const last = filters.at(-1)
    this.#name = nameOf(this)
    this.#hasDefault = filters.some(({ name }) => name === 'default')
    this.#isSize = filters[0]?.name === 'size'
    this.#escapes = mode === 'html' && !(last && (last.raw || ESCAPING_FILTERS.has(last.name)))
  }

  override *render(context: Context, emitter: Emitter): IterableIterator<unknown> {
    const found = yield this.value.initial.evaluate(context, true)
    let value: unknown = found
    for (const filter of this.value.filters) value = yield filter.render(value, context)
    const text = toText(value)
    if (!this.#hasDefault && (text === '' || (isEmpty(found) && !this.#isFigure(found, value)))) {
      missingIn(context).set(this.token.begin, this.#name)
    }
    emitter.write(this.#escapes ? escapeHtml(text) : text)
  }

  /** An empty list has 0 items, and a sum. Arithmetic with an absent value would print a number that is nobody's. */
  #isFigure(found: unknown, value: unknown): boolean {
    const isFigure = typeof value === 'number' || typeof value === 'boolean'
    return isFigure && (Array.isArray(found) || this.#isSize)
  }
}

/** Place of an output → its variable. */
function missingIn(context: Context): Map<number, string> {
  return context.getRegister(MISSING)
}

/** The variable of an output as the template names it. */
export function nameOf({ value }: Output): string {
  const text = value.initial.postfix.map((token) => token.getText()).join(' ')
  return text.replace(/^svc_coupons\["([^"]*)"\]$/, 'Coupons.CouponListName[$1]')
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

/** A value as it is printed. An object has no text of its own. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(toText).join('')
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  // An exact number prints its digits.
  return JSON.stringify(value)
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] as string)
}

/** Leaves what is escaped already as it is. */
function escapeOnce(text: string): string {
  return text.replaceAll(/&(?!#?\w{1,32};)|[<>"']/g, (character) => ESCAPES[character] as string)
}

/** Liquid's own messages end with the line and column. */
const PLACE = /, (?:file:.*, )?line:\d+, col:\d+$/s

export function withoutPlace(message: string): string {
  return message.replace(PLACE, '')
}

/** Where the tag or output begins that could not be rendered, from 0; undefined if the error is none of Liquid's. */
export function placeOfError(error: unknown): number | undefined {
  return LiquidError.is(error) ? error.token.begin : undefined
}

/** An output that had no value. */
export interface MissingOutput {
  /** The variable, as the template names it. */
  readonly name: string
  /** Where the output begins, from 0. */
  readonly at: number
}

/** What a template has become, and which outputs had no value, each once. */
export interface Rendered {
  readonly text: string
  readonly missing: readonly MissingOutput[]
}

/** Thrown if a template grows beyond `RENDERED_BYTES_MAX`. */
export class TooLong extends Error {}

interface RenderSettings {
  /** For tags. */
  readonly registers?: Readonly<Record<string, unknown>>
  /** In milliseconds. */
  readonly timeMaxMs?: number
}

/** Throws `TooLong`, or the error of a filter or of a limit. */
export function renderLiquid(
  templates: Template[],
  scope: object,
  { registers = {}, timeMaxMs: renderLimit = RENDER_TIME_MAX_MS }: RenderSettings = {},
): Rendered {
  const context = new Context(scope, mailLiquid.options, { sync: true, renderLimit }, { liquid: mailLiquid })
  const missing = new Map<number, string>()
  for (const [key, value] of Object.entries({ ...registers, [MISSING]: missing })) context.setRegister(key, value)
  const emitter = new BoundedEmitter()
  try {
    toValueSync(mailLiquid.renderer.renderTemplates(templates, context, emitter))
  } catch (error) {
    throw emitter.isFull ? new TooLong() : error
  }
  if (Buffer.byteLength(emitter.buffer) > RENDERED_BYTES_MAX) throw new TooLong()
  return { text: emitter.buffer, missing: [...missing].map(([at, name]) => ({ name, at })) }
}

export class BoundedEmitter implements Emitter {
  buffer = ''
  isFull = false

  write(text: unknown): void {
    this.buffer += toText(text)
    if (this.buffer.length <= RENDERED_BYTES_MAX) return
    this.isFull = true
    throw new TooLong()
  }
}
