// The person behind a request to an operation that requires one.
import { AppError } from '../../core/app-error.ts'
import type { Credential, PersonCredential } from '../../core/accounts/credential.ts'
import { findPersonById, type StoredPerson } from '../../store/accounts/people.ts'
import type { Store } from '../../store/store.ts'

/** The lifecycle lets nobody else through. */
export function personOf(credential: Credential): PersonCredential {
  if (credential.kind === 'person') return credential
  throw new Error('the caller is no person')
}

/** Throws AppError `unauthorized` if the person was removed a moment ago. */
export async function requireCaller(store: Store, credential: Credential): Promise<StoredPerson> {
  const person = await findPersonById(store, personOf(credential).personId)
  if (person) return person
  throw accountRemoved()
}

export function accountRemoved(): AppError {
  return new AppError('unauthorized', 'Your account was removed.')
}
