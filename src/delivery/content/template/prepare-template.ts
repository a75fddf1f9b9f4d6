// Reads a template once, before it is rendered for many people: replaces its links, marks where the body ends, and finds its faults.
// It changes the addresses of links and nothing else of the HTML.
import { findLinks, type Href } from './html-links.ts'
import { toTarget } from './link-address.ts'
import { readLiquid, type CouponUse, type LiquidFault, type LiquidSource } from './liquid-source.ts'
import { originalOffset, placeAt, replaceParts, type Replacement, type TextPlace } from './text-place.ts'

export interface TemplateText {
  readonly html: string
  readonly subject: string
  /** Empty: the sender's name is taken. */
  readonly senderName: string
  /** The number of the first link; 1 if it is not given. */
  readonly firstLink?: number
}

export interface TemplateLink {
  /** `run_links.number`. */
  readonly number: number
  /** The target; Liquid if it differs between people. */
  readonly url: string
  readonly isPersonal: boolean
}

export type TemplateField = 'subject' | 'sender_name' | 'email_content'

export interface TemplateFault extends LiquidFault {
  readonly field: TemplateField
}

/** What `render-message.ts` renders. All of it is JSON. */
export interface PreparedTemplate {
  /** Liquid with tags of our own in place of the addresses of links, and at the end of the body. */
  readonly html: string
  readonly subject: string
  readonly senderName: string
  readonly links: readonly TemplateLink[]
  /** The variables that it prints without a default, as it names them; without those that every message has. */
  readonly variables: readonly string[]
  /** Labels of coupon lists. */
  readonly coupons: readonly string[]
  /** Whether it prints `unsubscribe_url` somewhere. */
  readonly hasUnsubscribeLink: boolean
  /** In the order of the fields; places are those of the original text. With a fault, nothing can be rendered. */
  readonly faults: readonly TemplateFault[]
}

/** Addresses that every message has. Links to them are not counted. */
const SYSTEM_URLS = ['unsubscribe_url', 'preferences_url', 'view_url'] as const
const SYSTEM_URL = new RegExp(String.raw`^\{\{-?\s*(?:${SYSTEM_URLS.join('|')})\b`)
const UNSUBSCRIBE_URL = /\bunsubscribe_url\b/
/** Every message has these. */
const KNOWN_VARIABLE = new RegExp(
  String.raw`^(?:${SYSTEM_URLS.join('|')}|customer_id|campaign\.(?:name|id))$|^Coupons\.`,
)
const MAY_BE_WEB_ADDRESS = /^\s*https?/i

/** Never throws: of faulty text it returns the faults, and leaves the HTML as it is. */
export function prepareTemplate(text: TemplateText): PreparedTemplate {
  return prepare(readSources(text), text.firstLink).template
}

/** A template while it is written. */
export interface PreparedDraft {
  readonly template: PreparedTemplate
  readonly couponUses: readonly (CouponUse & { readonly field: TemplateField })[]
  /** The place in the original text of what begins at an offset of the prepared one. */
  readonly placeOf: (field: TemplateField, offset: number) => TextPlace
}

/** The same, with what an editor shows. Fields with faults are empty, so that the others can be rendered. */
export function prepareDraft(text: TemplateText): PreparedDraft {
  const sources = readSources(text)
  const { template, replacements } = prepare(sources, text.firstLink)
  const textOf = (field: TemplateField, whole: string) => (sources[field].faults.length > 0 ? '' : whole)
  return {
    template: {
      ...template,
      html: textOf('email_content', template.html),
      subject: textOf('subject', template.subject),
      senderName: textOf('sender_name', template.senderName),
    },
    couponUses: fieldsOf(sources).flatMap(([field, { coupons }]) => coupons.map((use) => ({ field, ...use }))),
    placeOf(field, offset) {
      if (field === 'email_content') return placeAt(text.html, originalOffset(offset, replacements))
      return placeAt(field === 'subject' ? text.subject : text.senderName, offset)
    },
  }
}

/** The texts of a template, in the order in which its faults are named. */
type Sources = Readonly<Record<TemplateField, LiquidSource>>

function readSources({ html, subject, senderName }: TemplateText): Sources {
  return {
    subject: readLiquid(subject, 'text'),
    sender_name: readLiquid(senderName, 'text'),
    email_content: readLiquid(html, 'html'),
  }
}

function fieldsOf(sources: Sources) {
  return Object.entries(sources) as [TemplateField, LiquidSource][]
}

/** `replacements`: what was changed in the HTML. */
function prepare(
  sources: Sources,
  firstLink = 1,
): { readonly template: PreparedTemplate; readonly replacements: readonly Replacement[] } {
  const { subject: subjectSource, sender_name: nameSource, email_content: htmlSource } = sources
  const all = Object.values(sources)
  const links = new LinkNumbers(firstLink)
  const replacements = htmlSource.faults.length === 0 ? findReplacements(htmlSource, links) : []
  const template = {
    html: replaceParts(htmlSource.text, replacements),
    subject: subjectSource.text,
    senderName: nameSource.text,
    links: links.list,
    variables: unique(all.flatMap(({ variables }) => variables)).filter((name) => !KNOWN_VARIABLE.test(name)),
    coupons: unique(all.flatMap(({ coupons }) => coupons.map(({ label }) => label))),
    hasUnsubscribeLink: mentions(htmlSource, UNSUBSCRIBE_URL),
    faults: fieldsOf(sources).flatMap(([field, { faults }]) => faults.map((fault) => ({ field, ...fault }))),
  }
  return { template, replacements }
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}

function mentions({ text, parts }: LiquidSource, pattern: RegExp): boolean {
  return parts.some(({ isLiquid, begin, end }) => isLiquid && pattern.test(text.slice(begin, end)))
}

/** Gives equal targets the same number. */
class LinkNumbers {
  readonly list: TemplateLink[] = []
  readonly #numbers = new Map<string, number>()
  #next: number

  constructor(first: number) {
    this.#next = first
  }

  numberOf(url: string, isPersonal: boolean): number {
    const known = this.#numbers.get(url)
    if (known !== undefined) return known
    const number = this.#next++
    this.#numbers.set(url, number)
    this.list.push({ number, url, isPersonal })
    return number
  }
}

/** `svc_link` tags in place of counted addresses, and `svc_end` at the end of the body. */
function findReplacements(source: LiquidSource, links: LinkNumbers): Replacement[] {
  const { hrefs, bodyEnd } = findLinks(source)
  const changes: Replacement[] = hrefs.flatMap(({ pieces, begin, end }) => {
    const replacement = replacementOf(pieces, links)
    return replacement === undefined ? [] : [{ begin, end, text: `"${replacement}"` }]
  })
  changes.push({ begin: bodyEnd, end: bodyEnd, text: '{% svc_end %}' })
  return changes.toSorted((left, right) => left.begin - right.begin)
}

/** Undefined for links that stay as they are. */
function replacementOf(pieces: Href['pieces'], links: LinkNumbers): string | undefined {
  const [first] = pieces
  if (!first) return undefined
  if (pieces.every(({ isLiquid }) => !isLiquid)) {
    const target = toTarget(pieces.map(({ text }) => text).join(''))
    return target === undefined ? undefined : `{% svc_link ${links.numberOf(target, false)} %}`
  }
  if (first.isLiquid ? SYSTEM_URL.test(first.text) : !MAY_BE_WEB_ADDRESS.test(first.text)) return undefined
  const url = pieces.map(({ isLiquid, text }) => (isLiquid ? text : withoutLiquid(text))).join('')
  return `{% svc_personal ${links.numberOf(url, true)} %}${url}{% endsvc_personal %}`
}

/** Text that was written with character references must not become Liquid. */
function withoutLiquid(text: string): string {
  return text.replaceAll(/\{(?=[{%])/g, '%7B')
}
