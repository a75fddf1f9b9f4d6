// Sign in: checks address, password and, if the person has an authenticator, a code; then opens a session. Every failure looks the same
// and takes equally long, whether there is such a person or not.
import { Type } from 'typebox'
import { AppError } from '../../core/app-error.ts'
import { PASSWORD_LENGTH_MAX } from '../../core/accounts/password-rules.ts'
import { EMAIL_LENGTH_MAX } from '../../core/users/email-address.ts'
import type { SignInAttempt } from '../../actions/accounts/sign-in-delays.ts'
import { openSession } from '../../actions/accounts/open-session.ts'
import { acceptCode } from '../../actions/accounts/accept-code.ts'
import { findPersonByEmail, lockPassword, type StoredPerson } from '../../store/accounts/people.ts'
import { Content, NoFields, Strict, Text } from '../fields.ts'
import { defineOperation, STRANGERS_BODY_BYTES_MAX, type Parts } from '../operation.ts'
import { readSessionBody, SessionOutput } from './session-body.ts'

const CODE_LENGTH_MAX = 32

export const signIn = defineOperation({
  name: 'sign_in',
  summary: 'Sign in',
  description:
    'Opens a session for a person and sets its cookie, which counts where an API key counts. A session ends after 12 hours ' +
    'without use, and after 30 days at most. If the person has an authenticator, `code` is required: without it the ' +
    'response is 401 and names the field. After some failures in a row, an account and an address must wait before the next ' +
    'attempt, each time longer.',
  group: 'People and sessions',
  method: 'POST',
  url: '/v1/sessions',
  requires: 'nothing',
  takesAppKey: false,
  limits: [],
  path: NoFields,
  query: NoFields,
  bodyBytesMax: STRANGERS_BODY_BYTES_MAX,
  body: Strict({
    email: Text(1, EMAIL_LENGTH_MAX, 'The address of the person.'),
    password: Content(1, PASSWORD_LENGTH_MAX),
    code: Type.Optional(Text(1, CODE_LENGTH_MAX, 'Six digits from the authenticator, or a recovery code.')),
  }),
  example: { email: 'ada@example.com', password: 'a sentence that only Ada knows' },
  successStatus: 200,
  output: SessionOutput,
  async handle({ body, callerAddress: address, now, header, isSecure, setSession }, parts) {
    const { database, signInDelays } = parts
    const attempt = { email: body.email, address, now }
    const person = await signInDelays.attempt(attempt, () => requirePerson(body, attempt, parts))
    const origin = { address, agent: header('user-agent'), now }
    const { token, session } = await database.write(async (store) => {
      if (!(await lockPassword(store, person))) throw isWrong()
      return openSession(store, person.number, origin)
    })
    setSession(token)
    return readSessionBody(database, { sessionId: session.id, personId: person.id, isSecure })
  },
})

interface Proofs {
  readonly password: string
  readonly code?: string
}

/** The person of the attempt, if password and code are right. */
async function requirePerson({ password, code }: Proofs, attempt: SignInAttempt, parts: Parts): Promise<StoredPerson> {
  const { database, passwordHashes, signInDelays } = parts
  const person = await findPersonByEmail(database, attempt.email)
  const isRight = await passwordHashes.isRight(password, person?.password)
  if (!person || !isRight) {
    signInDelays.addFailure(attempt)
    throw isWrong()
  }
  if (person.hasTotp) await requireCode(person, code, { attempt, parts })
  signInDelays.forget(attempt)
  return person
}

/** The same for every failure but that of a code. */
function isWrong(): AppError {
  return new AppError('unauthorized', 'The email address or password is wrong.')
}

/** Only after the right password, so that nobody else learns whether a code is needed. */
async function requireCode(
  person: StoredPerson,
  code: string | undefined,
  { attempt, parts }: { readonly attempt: SignInAttempt; readonly parts: Parts },
): Promise<void> {
  if (code === undefined) {
    throw new AppError('unauthorized', 'Sign-in also requires a code.', [{ field: 'code', problem: 'is required' }])
  }
  if (await acceptCode(person, { code, now: attempt.now }, parts)) return
  parts.signInDelays.addFailure(attempt)
  const details = [{ field: 'code', problem: 'is wrong or was already used' }]
  throw new AppError('unauthorized', 'The code is wrong or was already used.', details)
}
