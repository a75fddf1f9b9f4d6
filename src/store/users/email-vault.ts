// Encrypts email addresses (AES-256-GCM) of workspaces with encrypted emails, and makes the keyed hash by which users are found.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { normalizeEmail } from '../../core/users/email-address.ts'

export const PII_KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const VERSION = 'v1'

/** An address as it is stored: `sealed` can be decrypted with PII_KEY, `key` can only be compared. */
export interface SealedEmail {
  readonly sealed: string
  readonly key: string
}

export class EmailVault {
  readonly #cipherKey: Buffer
  readonly #hashKey: Buffer

  /** `secret`: the 32 bytes of PII_KEY. One key for encryption and one for hashes are derived from it. */
  constructor(secret: Uint8Array) {
    if (secret.byteLength !== PII_KEY_BYTES) throw new Error(`the PII key must have ${PII_KEY_BYTES} bytes`)
    const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', `tidings ${purpose}`, PII_KEY_BYTES))
    this.#cipherKey = derive('email cipher')
    this.#hashKey = derive('email hash')
  }

  seal(workspaceId: string, address: string): SealedEmail {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#cipherKey, nonce)
    cipher.setAAD(Buffer.from(workspaceId))
    const text = Buffer.concat([cipher.update(address, 'utf8'), cipher.final()])
    const sealed = `${VERSION}.${Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')}`
    return { sealed, key: this.hash(workspaceId, address) }
  }

  /** Decrypts an address. Throws when it was sealed with another key, for another workspace, or in another format. */
  open(workspaceId: string, sealed: string): string {
    const address = this.#decrypt(workspaceId, sealed)
    if (address === undefined)
      throw new Error('cannot decrypt the address: it was encrypted with another key or for another workspace')
    return address
  }

  /** Whether an address was sealed with this key for this workspace. Throws when it has another format. */
  opens(workspaceId: string, sealed: string): boolean {
    return this.#decrypt(workspaceId, sealed) !== undefined
  }

  /** Undefined if the authentication tag does not match. */
  #decrypt(workspaceId: string, sealed: string): string | undefined {
    if (!sealed.startsWith(`${VERSION}.`))
      throw new Error('cannot decrypt the address: it was encrypted by another version of Tidings')
    const bytes = Buffer.from(sealed.slice(VERSION.length + 1), 'base64url')
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', this.#cipherKey, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(workspaceId))
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
    try {
      return Buffer.concat([text, decipher.final()]).toString('utf8')
    } catch {
      // `final` throws only when the tag does not match.
      return undefined
    }
  }

  /** The keyed hash of the normalised address: the same each time for one workspace and address. */
  hash(workspaceId: string, address: string): string {
    return createHmac('sha256', this.#hashKey)
      .update(`${workspaceId}\n${normalizeEmail(address)}`)
      .digest('hex')
  }
}
