// What the thread that makes messages is given, and what it answers. All of it can be copied to a thread.
import type { PreparedTemplate, TemplateField, TemplateText } from './template/prepare-template.ts'
import type { TextPlace } from './template/text-place.ts'

export interface DkimKey {
  readonly domain: string
  readonly selector: string
  /** PEM of an RSA or Ed25519 key. */
  readonly privateKey: string
}

export interface LetterSender {
  readonly fromEmail: string
  readonly fromName: string
  readonly replyTo: string | null
  /** Null: bounces go to `fromEmail`. */
  readonly returnPathDomain: string | null
  /** Some mail services want headers of their own. */
  readonly smtpHost: string
  /** Null: not signed. */
  readonly dkim: DkimKey | null
}

export interface LetterAttachment {
  readonly name: string
  /** Such as `application/pdf`. */
  readonly type: string
  readonly content: Uint8Array
}

/** What the messages of one template in one run share. Pass the same object for each of them: the thread keeps what it read from it. */
export interface Letter {
  readonly template: PreparedTemplate
  /** `runs.number`; 0 before there is a run. */
  readonly run: number
  readonly workspaceId: string
  /** `Workspace.linkKey`. */
  readonly linkKey: string
  /** `tracking_url` of the sender, else `PUBLIC_URL`. A slash at its end does not count. */
  readonly linksBase: string
  readonly campaign: { readonly id: string; readonly name: string }
  /** Without unsubscribe link and headers. */
  readonly isTransactional: boolean
  readonly tracking: { readonly opens: boolean; readonly clicks: boolean }
  readonly sender: LetterSender
  readonly attachments: readonly LetterAttachment[]
}

/** One message to make. */
export interface RenderJob {
  readonly letter: Letter
  /** `messages.number`; 0 in previews and tests, whose links belong to nobody. */
  readonly message: number
  /** The address. */
  readonly to: string
  readonly customerId: string
  /** Attribute → value, without the times at which they were received. */
  readonly attributes: Readonly<Record<string, unknown>>
  /** The person's, for words that the template does not have; null if it is not known. */
  readonly locale: string | null
  /** Label of a list → code. */
  readonly coupons: Readonly<Record<string, string>>
  /** False for a person who refused tracking: no picture, and plain links. */
  readonly allowsTracking: boolean
  /** For `Date`, in milliseconds since the epoch. */
  readonly date: number
  /** The subject begins with `[Test] `. */
  readonly isTest?: boolean
}

/** A message as it goes to the server. */
export interface RenderedMessage {
  readonly isOk: true
  /** The whole message with CRLF at line ends, and without the escaping of dots. */
  readonly raw: Uint8Array
  readonly envelopeFrom: string
  readonly envelopeTo: string
  /** The token of the message, which servers return in `Original-Envelope-Id` (RFC 3461). */
  readonly envid: string
  /** Whether the server must know SMTPUTF8. */
  readonly usesUtf8: boolean
  /** The targets of links that differ between people, by number of the link; kept with the message. */
  readonly targets: Readonly<Record<string, string>>
}

/** The parts of a message, for people to look at. */
export interface RenderedParts {
  readonly isOk: true
  readonly subject: string
  readonly html: string
  readonly text: string
  /** In the order in which they stand in the message, decoded. */
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** A message that cannot be made: the content or the person's data is to blame. */
export interface RenderFailure {
  readonly isOk: false
  /** A sentence for people. */
  readonly problem: string
  /** The Liquid variables that had no value; empty if something else is wrong. */
  readonly missing: readonly string[]
}

/** A template that is being written, to be rendered for one person. */
export interface DraftJob extends Pick<RenderJob, 'customerId' | 'attributes' | 'locale' | 'date'> {
  readonly text: TemplateText
  readonly letter: Omit<Letter, 'template' | 'attachments'>
  /** Printed for every coupon. */
  readonly couponCode: string
}

/** Where something is in a template; null if that is not known. */
type DraftPlace = { readonly field: TemplateField } & { readonly [Member in keyof TextPlace]: number | null }

/** `template`: it cannot be rendered for anybody. `value`: this person has no value that it prints. */
export interface DraftFault extends DraftPlace {
  readonly kind: 'template' | 'value'
  /** A sentence for people. */
  readonly problem: string
}

/** A coupon that is printed. */
export interface DraftCoupon extends DraftPlace {
  /** Of its list. */
  readonly label: string
}

/** A template that is being written, as far as it can be rendered: null where its faults leave nothing. */
export interface RenderedDraft {
  readonly isOk: true
  readonly subject: string | null
  readonly senderName: string | null
  readonly html: string | null
  readonly text: string | null
  /** Both are bounded by `DRAFT_FAULTS_MAX`. */
  readonly faults: readonly DraftFault[]
  readonly coupons: readonly DraftCoupon[]
}

export type DraftResult = RenderedDraft | RenderFailure
export type RenderResult = RenderedMessage | RenderFailure
export type PartsResult = RenderedParts | RenderFailure
