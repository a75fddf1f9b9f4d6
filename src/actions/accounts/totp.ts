// One-time codes of an authenticator app (RFC 6238), and the recovery codes for somebody who has lost it.
import { hash, randomInt } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

const ISSUER = 'Tidings'
const PERIOD_SECONDS = 30
/** Codes before and after the current one that count too, because clocks differ. */
const STEPS_AROUND = 1
const RECOVERY_CODES = 10
const RECOVERY_CODE_LENGTH = 10
/** Without characters that look alike. */
const RECOVERY_ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789'

/** A new secret in base32, as people type it. */
export function newTotpSecret(): string {
  return new Secret().base32
}

/** The address that an authenticator app reads from a QR code. */
export function toTotpUrl(secret: string, email: string): string {
  return totpOf(secret, email).toString()
}

/** The time step whose code this is; undefined if it is none of those around `now`. */
export function findTotpStep(secret: string, code: string, now: number): number | undefined {
  const token = code.replaceAll(/\s/g, '')
  const delta = totpOf(secret).validate({ token, timestamp: now, window: STEPS_AROUND })
  return delta === null ? undefined : Math.floor(now / 1000 / PERIOD_SECONDS) + delta
}

function totpOf(secret: string, label = ''): TOTP {
  return new TOTP({ issuer: ISSUER, label, secret: Secret.fromBase32(secret), period: PERIOD_SECONDS })
}

export function newRecoveryCodes(): string[] {
  const character = () => RECOVERY_ALPHABET.charAt(randomInt(RECOVERY_ALPHABET.length))
  const code = () => Array.from({ length: RECOVERY_CODE_LENGTH }, character).join('')
  return Array.from({ length: RECOVERY_CODES }, () => code().replace(/^(.{5})/, '$1-'))
}

/** Of a recovery code, however it is spaced: some 50 random bits, and guesses are slowed down. */
export function hashRecoveryCode(code: string): string {
  return hash('sha256', code.toLowerCase().replaceAll(/[\s-]/g, ''), 'hex')
}
