// The links of one message: addresses with tokens in place of those of the template, and the targets that only this message has.
import { makeToken, type TokenPurpose } from '../../actions/links/link-token.ts'
import type { OpenedLetter, PersonalJob } from './opened-letter.ts'
import { toHarmless, toTarget } from './template/link-address.ts'
import type { LinkWriter } from './template/link-tags.ts'

/** A link in a loop has a target for each turn. Those after the first get numbers that no link of a run reaches. */
const REPEATED_LINKS_STEP = 100_000
/** So many targets of one link are counted; others are printed as they are. */
const REPEATED_LINKS_MAX = 100
/** Stands where the body ends until the message is complete. No value can contain it. */
const END_MARK = `<!--${crypto.randomUUID()}-->`

/** The links of one message, and the targets that only it has. */
export class MessageLinks implements LinkWriter {
  readonly endMark = END_MARK
  /** Undefined for transactional messages. */
  readonly unsubscribeUrl: string | undefined
  readonly countsClicks: boolean
  readonly showsPicture: boolean
  readonly #opened: OpenedLetter
  readonly #message: number
  readonly #targets = new Map<number, string>()

  constructor(opened: OpenedLetter, { message, allowsTracking }: PersonalJob) {
    const { tracking, isTransactional } = opened.letter
    this.#opened = opened
    this.#message = message
    this.countsClicks = tracking.clicks && allowsTracking
    this.showsPicture = tracking.opens && allowsTracking
    this.unsubscribeUrl = isTransactional ? undefined : this.url('u', 'unsubscribe')
  }

  url(path: string, purpose: TokenPurpose, link = 0): string {
    return `${this.#opened.linksBase}/${path}/${this.token(purpose, link)}`
  }

  token(purpose: TokenPurpose, link = 0): string {
    const { linkKey, run } = this.#opened.letter
    return makeToken(linkKey, { purpose, run, message: this.#message, link })
  }

  sharedLink(number: number): string {
    if (this.countsClicks) return this.url('c', 'click', number)
    return this.#opened.linkUrls.get(number) ?? ''
  }

  personalLink(number: number, address: string): string {
    const target = toTarget(address)
    const isOurs = target?.startsWith(`${this.#opened.linksBase}/`) ?? false
    const counted = this.countsClicks && target !== undefined && !isOurs ? this.#numberOf(number, target) : undefined
    return counted === undefined ? toHarmless(address) : this.url('c', 'click', counted)
  }

  targets(): Record<string, string> {
    return Object.fromEntries(this.#targets)
  }

  /** Undefined if the link has too many targets already. */
  #numberOf(first: number, target: string): number | undefined {
    for (let turn = 0; turn < REPEATED_LINKS_MAX; turn++) {
      const number = first + turn * REPEATED_LINKS_STEP
      const known = this.#targets.get(number)
      if (known === undefined) this.#targets.set(number, target)
      if (known === undefined || known === target) return number
    }
    return undefined
  }
}
