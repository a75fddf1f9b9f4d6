// Amazon SES, which reports through SNS: a signature in the body, by a certificate of Amazon's.
import { createPublicKey, verify } from 'node:crypto'
import { toFeedbackTopics } from '../../../core/delivery/delivery-settings.ts'
import { findEnhancedCode } from '../../../core/feedback/enhanced-codes.ts'
import { ignored, judgeBounce, toEvidence, type Feedback, type Ignored } from '../../../core/feedback/judge-bounce.ts'
import { isObject } from '../../../core/users/user.ts'
import type { ReportedFeedback } from '../record-feedback.ts'
import {
  knownBounce,
  objectIn,
  readMembers,
  textIn,
  tokensIn,
  wrongSignature,
  type Members,
  type ReadWebhook,
  type WebhookRequest,
} from './webhook.ts'

const NOTIFICATION = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
const CONFIRMATION = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
const ALGORITHMS: Readonly<Record<string, string>> = { 1: 'sha1', 2: 'sha256' }
const HOST = /^sns\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?$/
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[0-9a-f]+\.pem$/

export const readSes: ReadWebhook = async (request) => {
  const message = readMembers(Buffer.from(request.body).toString('utf8'))
  const type = textIn(message, 'Type')
  await requireSigned(message, request)
  if (type === 'Notification') return [readNotification(readMembers(textIn(message, 'Message')))]
  if (type !== 'SubscriptionConfirmation') return [{ outcome: ignored('other_event'), tokens: [] }]
  const url = amazonUrl(textIn(message, 'SubscribeURL'))
  if (!url) throw wrongSignature()
  await request.fetchText(url.href)
  return [{ outcome: ignored('other_event'), tokens: [] }]
}

async function requireSigned(message: Members, { keyOf, fetchText }: WebhookRequest): Promise<void> {
  const topics = toFeedbackTopics(keyOf('ses_topic') ?? '')
  const algorithm = ALGORITHMS[textIn(message, 'SignatureVersion')]
  const url = amazonUrl(textIn(message, 'SigningCertURL'))
  const topic = textIn(message, 'TopicArn')
  // Another topic of Amazon's is signed as well as ours.
  if (topic === '' || !topics.includes(topic) || algorithm === undefined) throw wrongSignature()
  if (!url || !CERTIFICATE_PATH.test(url.pathname)) throw wrongSignature()
  const names = textIn(message, 'Type') === 'Notification' ? NOTIFICATION : CONFIRMATION
  const signed = names.flatMap((name) => (Object.hasOwn(message, name) ? `${name}\n${textIn(message, name)}\n` : []))
  const certificate = await fetchText(url.href)
  const signature = Buffer.from(textIn(message, 'Signature'), 'base64')
  if (!isSigned(Buffer.from(signed.join('')), { algorithm, certificate, signature })) throw wrongSignature()
}

interface Proof {
  readonly algorithm: string
  /** As it was fetched, so it may be no certificate at all. */
  readonly certificate: string
  readonly signature: Uint8Array
}

function isSigned(signed: Uint8Array, { algorithm, certificate, signature }: Proof): boolean {
  try {
    return verify(algorithm, signed, createPublicKey(certificate), signature)
  } catch {
    return false
  }
}

/** An address of Amazon's own hosts; undefined for any other. */
function amazonUrl(text: string): URL | undefined {
  const url = URL.parse(text)
  const isPlain = url?.protocol === 'https:' && url.port === '' && url.username === '' && url.password === ''
  return url && isPlain && HOST.test(url.hostname) ? url : undefined
}

function readNotification(event: Members): ReportedFeedback {
  const mail = objectIn(event, 'mail')
  const headers = Array.isArray(mail['headers']) ? mail['headers'].filter(isObject) : []
  const ids = (headers as Members[]).filter((header) => textIn(header, 'name').toLowerCase() === 'message-id')
  const common = textIn(objectIn(mail, 'commonHeaders'), 'messageId')
  return { outcome: outcomeOf(event), tokens: tokensIn(...ids.map((header) => textIn(header, 'value')), common) }
}

function outcomeOf(event: Members): Feedback | Ignored {
  switch (textIn(event, 'notificationType') || textIn(event, 'eventType')) {
    case 'Bounce':
      return bounceOf(objectIn(event, 'bounce'))
    case 'Complaint': {
      const type = textIn(objectIn(event, 'complaint'), 'complaintFeedbackType')
      if (type === 'not-spam') return ignored('not_spam')
      return { kind: 'complaint', evidence: toEvidence('Amazon SES: a person reported a message as spam.') }
    }
    case 'Delivery':
      return { kind: 'delivered' }
    case 'DeliveryDelay':
      return ignored('delayed')
    default:
      return ignored('other_event')
  }
}

function bounceOf(bounce: Members): Feedback {
  const recipients: unknown = bounce['bouncedRecipients']
  const [first] = Array.isArray(recipients) ? recipients.filter(isObject) : []
  const recipient = first ?? {}
  const [type, subtype] = [textIn(bounce, 'bounceType'), textIn(bounce, 'bounceSubType')]
  const enhancedCode = findEnhancedCode(textIn(recipient, 'status'))
  const text = textIn(recipient, 'diagnosticCode').replace(/^\s*smtp\s*;\s*/i, '')
  if (/suppress/i.test(subtype)) return knownBounce('hard_bounce', text || subtype)
  const isPermanent = type === 'Permanent'
  if (enhancedCode !== null || text !== '') return judgeBounce({ enhancedCode, text, isPermanent })
  return knownBounce(isPermanent ? 'hard_bounce' : 'soft_bounce', `${type} ${subtype}`)
}
