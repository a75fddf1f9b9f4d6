// Accepts a code of a person's authenticator, or a recovery code. Each works once.
import { AppError } from '../../core/app-error.ts'
import {
  findPersonById,
  lockPeople,
  saveRecoveryCodes,
  takeTotpStep,
  type StoredPerson,
} from '../../store/accounts/people.ts'
import { requireSecretVault, SecretUnreadable, type SecretVault } from '../../store/secret-vault.ts'
import type { Database } from '../../store/store.ts'
import { findTotpStep, hashRecoveryCode } from './totp.ts'

export interface CodeParts {
  readonly database: Database
  readonly secretVault: SecretVault | undefined
}

/** What the app shows; recovery codes are longer. */
const CODE_OF_APP = /^\d{6}$/

/**
 * False if the code is wrong, or was used before. Throws AppError `unavailable` if the server has not the key of the secret; recovery
 * codes work without it.
 */
export async function acceptCode(
  person: StoredPerson,
  { code, now }: { readonly code: string; readonly now: number },
  { database, secretVault }: CodeParts,
): Promise<boolean> {
  const { sealedTotp } = person
  if (sealedTotp === null || !CODE_OF_APP.test(code.replaceAll(/\s/g, ''))) {
    return acceptRecoveryCode(database, person.id, hashRecoveryCode(code))
  }
  const step = findTotpStep(requireTotp(secretVault, person.id, sealedTotp), code, now)
  return step !== undefined && database.write((store) => takeTotpStep(store, person.number, step))
}

async function acceptRecoveryCode(database: Database, personId: string, hash: string): Promise<boolean> {
  return database.write(async (store) => {
    await lockPeople(store)
    const person = await findPersonById(store, personId)
    if (!person?.recoveryCodes.includes(hash)) return false
    const left = person.recoveryCodes.filter((other) => other !== hash)
    await saveRecoveryCodes(store, person.number, left)
    return true
  })
}

export function sealTotp(vault: SecretVault, personId: string, secret: string): string {
  return vault.seal(purposeOf(personId), secret)
}

/** Throws SecretUnreadable if `vault` is not the one that sealed it. */
export function openTotp(vault: SecretVault | undefined, personId: string, sealed: string): string {
  return requireSecretVault(vault).open(purposeOf(personId), sealed)
}

/** The same for a request. Throws AppError `unavailable` instead. */
export function requireTotp(vault: SecretVault | undefined, personId: string, sealed: string): string {
  try {
    return openTotp(vault, personId, sealed)
  } catch (error) {
    if (!(error instanceof SecretUnreadable)) throw error
    const message = 'The server cannot check authenticator codes. Use a recovery code, and tell the operator.'
    throw new AppError('unavailable', message)
  }
}

function purposeOf(personId: string): string {
  return `authenticator ${personId}`
}
