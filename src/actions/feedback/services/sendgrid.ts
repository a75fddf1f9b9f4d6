// SendGrid's Event Webhook: ECDSA over the time and the body, in two headers.
import { createPublicKey, verify } from 'node:crypto'
import { ignored, judgeBounce, toEvidence, type Feedback, type Ignored } from '../../../core/feedback/judge-bounce.ts'
import { findEnhancedCode } from '../../../core/feedback/enhanced-codes.ts'
import { knownBounce, readEvents, textIn, tokensIn, wrongSignature, type Members, type ReadWebhook } from './webhook.ts'

const SIGNATURE = 'x-twilio-email-event-webhook-signature'
const TIMESTAMP = 'x-twilio-email-event-webhook-timestamp'

export const readSendGrid: ReadWebhook = async ({ body, header, keyOf }) => {
  const [key, signature, timestamp] = [keyOf('sendgrid_key'), header(SIGNATURE), header(TIMESTAMP)]
  if (key === undefined || signature === undefined || timestamp === undefined) throw wrongSignature()
  if (!isSigned(Buffer.concat([Buffer.from(timestamp), body]), { key, signature })) throw wrongSignature()
  return readEvents(body).map((event) => ({ outcome: outcomeOf(event), tokens: tokensIn(textIn(event, 'smtp-id')) }))
}

/** The key is that of the settings, so it may be no key at all. */
function isSigned(
  signed: Uint8Array,
  { key, signature }: { readonly key: string; readonly signature: string },
): boolean {
  try {
    const publicKey = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' })
    return verify('sha256', signed, publicKey, Buffer.from(signature, 'base64'))
  } catch {
    return false
  }
}

function outcomeOf(event: Members): Feedback | Ignored {
  const reason = textIn(event, 'reason')
  const name = textIn(event, 'event')
  switch (name) {
    case 'bounce':
    case 'blocked': {
      if (textIn(event, 'type') === 'blocked') return knownBounce('blocked', reason)
      const enhancedCode = findEnhancedCode(textIn(event, 'status'))
      return judgeBounce({ enhancedCode, text: reason, isPermanent: name === 'bounce' })
    }
    case 'dropped':
      return knownBounce(/bounced|invalid/i.test(reason) ? 'hard_bounce' : 'blocked', `SendGrid dropped it: ${reason}`)
    case 'spamreport':
      return { kind: 'complaint', evidence: toEvidence('SendGrid: a person reported a message as spam.') }
    case 'delivered':
      return { kind: 'delivered' }
    case 'deferred':
      return ignored('delayed')
    default:
      return ignored('other_event')
  }
}
