// Private keys of DKIM: which ones Tidings can sign with (RFC 6376, RFC 8463), and the public key that belongs into DNS.
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'

const RSA_BITS_MIN = 1_024
const RSA_BITS_MAX = 8_192
/** The last bytes of an Ed25519 key in DER are the key itself. */
const ED25519_BYTES = 32
const NEED = 'must be an RSA or Ed25519 private key in PEM, without passphrase'

/** The end of a sentence that begins with the name of the field; undefined if Tidings can sign with the key. Never shows the key. */
export function dkimKeyProblem(pem: string): string | undefined {
  const key = readKey(pem)
  if (key?.asymmetricKeyType === 'ed25519') return undefined
  if (key?.asymmetricKeyType !== 'rsa') return NEED
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  return bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX
    ? undefined
    : `must have ${RSA_BITS_MIN} to ${RSA_BITS_MAX} bits, not ${bits}`
}

export interface DkimPublicKey {
  /** The tag `k` of the record in DNS. */
  readonly type: 'rsa' | 'ed25519'
  /** The tag `p`, in base64. */
  readonly text: string
}

/** The public key of a private one without problems. */
export function dkimPublicKeyOf(pem: string): DkimPublicKey {
  const der = createPublicKey(pem).export({ type: 'spki', format: 'der' })
  if (createPrivateKey(pem).asymmetricKeyType !== 'ed25519') return { type: 'rsa', text: der.toString('base64') }
  return { type: 'ed25519', text: der.subarray(-ED25519_BYTES).toString('base64') }
}

/** Whether a tag `p` is this key. Records may hold an RSA key with or without the frame that names the algorithm. */
export function isSameDkimKey({ type, text }: DkimPublicKey, published: string): boolean {
  if (published === text) return true
  if (type !== 'rsa') return false
  const frame = Buffer.from(text, 'base64')
  const bare = createPublicKey({ key: frame, type: 'spki', format: 'der' }).export({ type: 'pkcs1', format: 'der' })
  return Buffer.from(published, 'base64').equals(bare)
}

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    // Node names no reason that would help: the text is no key, or needs a passphrase.
    return undefined
  }
}
