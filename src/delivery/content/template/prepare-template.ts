// Reads a template once, before it is rendered for many people: replaces its links, marks where the body ends, and finds its faults.
// It changes the addresses of links and nothing else of the HTML.
import { findLinks, type Href } from './html-links.ts'
import { toTarget } from './link-address.ts'
import { readLiquid, type LiquidFault, type LiquidSource } from './liquid-source.ts'

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

export interface TemplateFault extends LiquidFault {
  readonly field: 'subject' | 'sender_name' | 'email_content'
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
export const SYSTEM_URLS = ['unsubscribe_url', 'preferences_url', 'view_url'] as const
const SYSTEM_URL = new RegExp(String.raw`^\{\{-?\s*(?:${SYSTEM_URLS.join('|')})\b`)
const UNSUBSCRIBE_URL = /\bunsubscribe_url\b/
/** Every message has these. */
const KNOWN_VARIABLE = new RegExp(
  String.raw`^(?:${SYSTEM_URLS.join('|')}|customer_id|campaign\.(?:name|id))$|^Coupons\.`,
)
const MAY_BE_WEB_ADDRESS = /^\s*https?/i

/** Never throws: of faulty text it returns the faults, and leaves the HTML as it is. */
export function prepareTemplate({ html, subject, senderName, firstLink = 1 }: TemplateText): PreparedTemplate {
  const sources = {
    subject: readLiquid(subject, 'text'),
    sender_name: readLiquid(senderName, 'text'),
    email_content: readLiquid(html, 'html'),
  }
  const { subject: subjectSource, sender_name: nameSource, email_content: htmlSource } = sources
  const all = Object.values(sources)
  const links = new LinkNumbers(firstLink)
  return {
    html: htmlSource.faults.length === 0 ? replaceLinks(htmlSource, links) : htmlSource.text,
    subject: subjectSource.text,
    senderName: nameSource.text,
    links: links.list,
    variables: unique(all.flatMap(({ variables }) => variables)).filter((name) => !KNOWN_VARIABLE.test(name)),
    coupons: unique(all.flatMap(({ coupons }) => coupons)),
    hasUnsubscribeLink: mentions(htmlSource, UNSUBSCRIBE_URL),
    faults: Object.entries(sources).flatMap(([field, { faults }]) =>
      faults.map((fault) => ({ field: field as TemplateFault['field'], ...fault })),
    ),
  }
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

/** The HTML with `svc_link` tags in place of counted addresses, and `svc_end` at the end of the body. */
function replaceLinks(source: LiquidSource, links: LinkNumbers): string {
  const { text } = source
  const { hrefs, bodyEnd } = findLinks(source)
  const changes = hrefs.flatMap(({ pieces, begin, end }) => {
    const replacement = replacementOf(pieces, links)
    return replacement === undefined ? [] : [{ begin, end, text: `"${replacement}"` }]
  })
  changes.push({ begin: bodyEnd, end: bodyEnd, text: '{% svc_end %}' })
  changes.sort((left, right) => left.begin - right.begin)
  let changed = ''
  let at = 0
  for (const change of changes) {
    changed += text.slice(at, change.begin) + change.text
    at = change.end
  }
  return changed + text.slice(at)
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
