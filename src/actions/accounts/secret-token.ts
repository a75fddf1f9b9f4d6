// Tokens that a person or a browser presents: 256 random bits, so that a fast hash of them is safe to store.
import { hash, randomBytes } from 'node:crypto'

const TOKEN_BYTES = 32

export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

/** SHA-256 in lower-case hex. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex')
}
