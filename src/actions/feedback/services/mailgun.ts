// Mailgun's webhooks: an HMAC over the time and a token, in the body.
import { createHmac } from 'node:crypto'
import { findEnhancedCode } from '../../../core/feedback/enhanced-codes.ts'
import { ignored, judgeBounce, toEvidence, type Feedback, type Ignored } from '../../../core/feedback/judge-bounce.ts'
import {
  isSame,
  knownBounce,
  objectIn,
  readMembers,
  textIn,
  tokensIn,
  wrongSignature,
  type Members,
  type ReadWebhook,
} from './webhook.ts'

/** Mailgun repeats a request for up to eight hours. Older ones are somebody's who recorded them. */
const SIGNATURE_AGE_MS_MAX = 12 * 60 * 60 * 1000

/** The reason of a failure that is permanent because Mailgun has tried for hours. The address may work. */
const GIVEN_UP = 'old'

export const readMailgun: ReadWebhook = async ({ body, keyOf, now }) => {
  const members = readMembers(Buffer.from(body).toString('utf8'))
  const signature = objectIn(members, 'signature')
  const [timestamp, token] = [textIn(signature, 'timestamp'), textIn(signature, 'token')]
  const key = keyOf('mailgun_key')
  if (key === undefined || !/^\d{1,12}$/.test(timestamp) || token === '') throw wrongSignature()
  const expected = createHmac('sha256', key)
    .update(timestamp + token)
    .digest('hex')
  if (!isSame(textIn(signature, 'signature'), expected)) throw wrongSignature()
  if (Math.abs(now - Number(timestamp) * 1000) > SIGNATURE_AGE_MS_MAX) throw wrongSignature()
  const event = objectIn(members, 'event-data')
  const headers = objectIn(objectIn(event, 'message'), 'headers')
  return [{ outcome: outcomeOf(event), tokens: tokensIn(textIn(headers, 'message-id')) }]
}

function outcomeOf(event: Members): Feedback | Ignored {
  switch (textIn(event, 'event')) {
    case 'failed':
      return textIn(event, 'severity') === 'permanent' ? bounceOf(event) : ignored('delayed')
    case 'complained':
      return { kind: 'complaint', evidence: toEvidence('Mailgun: a person reported a message as spam.') }
    case 'delivered':
      return { kind: 'delivered' }
    default:
      return ignored('other_event')
  }
}

function bounceOf(event: Members): Feedback {
  const status = objectIn(event, 'delivery-status')
  const text = [textIn(status, 'code'), textIn(status, 'message') || textIn(status, 'description')].join(' ').trim()
  const reason = textIn(event, 'reason')
  if (reason === 'suppress-bounce') return knownBounce('hard_bounce', text)
  if (reason.startsWith('suppress-')) return knownBounce('blocked', text)
  const enhancedCode = findEnhancedCode(textIn(status, 'enhanced-code') || textIn(status, 'bounce-code'))
  return judgeBounce({ enhancedCode, text, isPermanent: reason !== GIVEN_UP })
}
