// What the webhooks of mail services have in common: each proves that a request is its own, and reads the events in it.
import { createHash, timingSafeEqual } from 'node:crypto'
import { AppError } from '../../../core/app-error.ts'
import type { FeedbackKey } from '../../../core/delivery/delivery-settings.ts'
import { parseJsonText } from '../../../core/json/parse-json.ts'
import type { BounceReason, Feedback } from '../../../core/feedback/judge-bounce.ts'
import { toEvidence } from '../../../core/feedback/judge-bounce.ts'
import { isObject } from '../../../core/users/user.ts'
import type { ReportedFeedback } from '../record-feedback.ts'
import { tokenInId } from '../read-report.ts'

export interface WebhookRequest {
  /** As it was sent: signatures cover the bytes. */
  readonly body: Uint8Array
  readonly header: (name: string) => string | undefined
  /** A setting of the workspace; undefined if it is not set. */
  readonly keyOf: (key: FeedbackKey) => string | undefined
  /** The text at an address of the service. */
  readonly fetchText: FetchText
  readonly now: number
}

export type FetchText = (url: string) => Promise<string>

/** Returns the events. Throws `wrongSignature` unless the service sent the request, `invalid_request` if it cannot be read. */
export type ReadWebhook = (request: WebhookRequest) => Promise<readonly ReportedFeedback[]>

/** Far more than any service sends at once. */
const EVENTS_MAX = 10_000

export function wrongSignature(): AppError {
  return new AppError('unauthorized', 'The request is not signed with the key that is set for the mail service.')
}

/** Takes as long for a wrong text as for a right one. */
export function isSame(one: string, other: string): boolean {
  const [left, right] = [one, other].map((text) => createHash('sha256').update(text).digest())
  return timingSafeEqual(left as Buffer, right as Buffer)
}

export type Members = Readonly<Record<string, unknown>>

/** The events in a body: a list, or one. */
export function readEvents(body: Uint8Array): Members[] {
  const value = readJson(Buffer.from(body).toString('utf8'))
  const events: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (events.length > EVENTS_MAX) throw unreadable(`has more than ${EVENTS_MAX} events`)
  return events.map((event) => {
    if (!isObject(event)) throw unreadable('must hold events, which are objects')
    return event
  })
}

/** An object in a text of JSON. */
export function readMembers(text: string): Members {
  const value = readJson(text)
  if (!isObject(value)) throw unreadable('must be an object')
  return value
}

function readJson(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch (error) {
    if (error instanceof SyntaxError) throw unreadable('must be JSON')
    throw error
  }
}

function unreadable(problem: string): AppError {
  return new AppError('invalid_request', 'The body cannot be read.', [{ field: 'body', problem }])
}

/** A member that is an object; else one without members. */
export function objectIn(members: Members, name: string): Members {
  const value = Object.hasOwn(members, name) ? members[name] : undefined
  return isObject(value) ? value : {}
}

/** A member that is a text or a number; else the empty text. */
export function textIn(members: Members, name: string): string {
  const value = Object.hasOwn(members, name) ? members[name] : undefined
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** The tokens in ids of messages. */
export function tokensIn(...ids: readonly string[]): string[] {
  return ids.flatMap((id) => tokenInId(id) ?? [])
}

/** A bounce whose class the service tells by a word of its own. */
export function knownBounce(reason: BounceReason, evidence: string): Feedback {
  const address = reason === 'blocked' ? null : reason
  return { kind: 'bounce', reason, address, evidence: toEvidence(evidence) }
}
