// Encrypts secrets that people entrust to Tidings, such as the passwords of SMTP servers (AES-256-GCM). Each is bound to a purpose,
// so that a secret that is copied into another row does not open.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

export const SECRET_KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const VERSION = 'v1'

/** A stored secret cannot be opened: the message says why, and what to do. */
export class SecretUnreadable extends Error {
  constructor(reason: string) {
    super(`The stored secret cannot be opened: ${reason}.`)
    this.name = 'SecretUnreadable'
  }
}

export class SecretVault {
  readonly #cipherKey: Buffer

  /** `secretKey`: the 32 bytes of SECRET_KEY. The key of the cipher is derived from it. */
  constructor(secretKey: Uint8Array) {
    if (secretKey.byteLength !== SECRET_KEY_BYTES) throw new Error(`the secret key must have ${SECRET_KEY_BYTES} bytes`)
    this.#cipherKey = Buffer.from(hkdfSync('sha256', secretKey, '', 'tidings secrets', SECRET_KEY_BYTES))
  }

  /** `purpose`: what the secret is for, with the id of its owner, such as `sender password 0190…`. */
  seal(purpose: string, text: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#cipherKey, nonce)
    cipher.setAAD(Buffer.from(purpose))
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return `${VERSION}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`
  }

  /** Throws SecretUnreadable if the secret was sealed with another key, for another purpose, or in another format. */
  open(purpose: string, sealed: string): string {
    if (!sealed.startsWith(`${VERSION}.`)) throw new SecretUnreadable('another version of Tidings encrypted it')
    const bytes = Buffer.from(sealed.slice(VERSION.length + 1), 'base64url')
    if (bytes.byteLength < NONCE_BYTES + TAG_BYTES) throw new SecretUnreadable('it is not complete')
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', this.#cipherKey, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(purpose))
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
    try {
      return Buffer.concat([text, decipher.final()]).toString('utf8')
    } catch {
      // `final` throws only when the tag does not match.
      throw new SecretUnreadable('SECRET_KEY, or the file secret.key, is not the one it was encrypted with')
    }
  }
}

/** For secrets that were stored when there was a key. Throws SecretUnreadable if there is none now. */
export function requireSecretVault(vault: SecretVault | undefined): SecretVault {
  if (vault) return vault
  throw new SecretUnreadable('SECRET_KEY is not set')
}
