// Postmark's webhooks: Basic authentication in the address of the webhook.
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

const HARD = new Set(['HardBounce', 'BadEmailAddress'])
const BLOCKED = new Set(['Blocked', 'SpamNotification', 'DMARCPolicy', 'VirusNotification'])
const NO_BOUNCES = new Set(['Subscribe', 'Unsubscribe', 'AddressChange', 'ChallengeVerification', 'OpenRelayTest'])

export const readPostmark: ReadWebhook = async ({ body, header, keyOf }) => {
  const key = keyOf('postmark_key')
  if (key === undefined) throw wrongSignature()
  const expected = `Basic ${Buffer.from(key).toString('base64')}`
  if (!isSame(header('authorization') ?? '', expected)) throw wrongSignature()
  const event = readMembers(Buffer.from(body).toString('utf8'))
  return [{ outcome: outcomeOf(event), tokens: tokensOf(event) }]
}

/** Postmark gives messages ids of its own. Ours is in the metadata of the message, or in the mail that came back. */
function tokensOf(event: Members): string[] {
  const metadata = objectIn(event, 'Metadata')
  const returned = /^Message-ID:\s*(?<id>\S+)/im.exec(textIn(event, 'Content'))?.groups?.['id'] ?? ''
  return tokensIn(...Object.keys(metadata).map((name) => textIn(metadata, name)), returned, textIn(event, 'MessageID'))
}

function outcomeOf(event: Members): Feedback | Ignored {
  switch (textIn(event, 'RecordType')) {
    case 'Bounce':
      return bounceOf(textIn(event, 'Type'), textIn(event, 'Details') || textIn(event, 'Description'))
    case 'SpamComplaint':
      return { kind: 'complaint', evidence: toEvidence('Postmark: a person reported a message as spam.') }
    case 'Delivery':
      return { kind: 'delivered' }
    default:
      return ignored('other_event')
  }
}

function bounceOf(type: string, text: string): Feedback | Ignored {
  if (HARD.has(type)) return knownBounce('hard_bounce', text)
  if (BLOCKED.has(type)) return knownBounce('blocked', text)
  if (type === 'SpamComplaint') return { kind: 'complaint', evidence: toEvidence(text) }
  if (type === 'AutoResponder') return ignored('auto_reply')
  if (type === 'Transient') return ignored('delayed')
  return NO_BOUNCES.has(type) ? ignored('other_event') : judgeBounce({ enhancedCode: null, text })
}
