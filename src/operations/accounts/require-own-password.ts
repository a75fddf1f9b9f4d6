// Asks for the password again before a change that would lock the person out, or somebody else in.
import { invalidRequest, type AppError } from '../../core/app-error.ts'
import type { StoredPerson } from '../../store/accounts/people.ts'
import type { OperationRequest, Parts } from '../operation.ts'
import { requireCaller } from './person-of.ts'

/** Throws AppError `invalid_request` that names `field` if the password is wrong, `rate_limited` after too many failures. */
export async function requireOwnPassword(
  {
    credential,
    callerAddress: address,
    now,
  }: Pick<OperationRequest<never, never, never>, 'credential' | 'callerAddress' | 'now'>,
  { field, password }: { readonly field: string; readonly password: string },
  { database, passwordHashes, signInDelays }: Parts,
): Promise<StoredPerson> {
  const person = await requireCaller(database, credential)
  const attempt = { email: person.email, address, now }
  return signInDelays.attempt(attempt, async () => {
    if (await passwordHashes.isRight(password, person.password)) return person
    signInDelays.addFailure(attempt)
    throw notYourPassword(field)
  })
}

export function notYourPassword(field: string): AppError {
  return invalidRequest([{ field, problem: 'is not your password' }])
}
