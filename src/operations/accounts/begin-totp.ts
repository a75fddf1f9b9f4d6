// Begin authenticator: makes a secret for an authenticator app. It counts only after a first code has confirmed it.
import { Type } from 'typebox'
import { AppError } from '../../core/app-error.ts'
import { PASSWORD_LENGTH_MAX } from '../../core/accounts/password-rules.ts'
import { sealTotp } from '../../actions/accounts/accept-code.ts'
import { newTotpSecret, toTotpUrl } from '../../actions/accounts/totp.ts'
import { proposeTotp } from '../../store/accounts/people.ts'
import { Content, NoFields, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireOwnPassword } from './require-own-password.ts'

export const beginTotp = defineOperation({
  name: 'begin_totp',
  summary: 'Begin to use an authenticator',
  description:
    'Makes a secret for an authenticator app. Signing in takes codes only after `PUT /v1/people/me/totp` has confirmed a first ' +
    'one. Needs SECRET_KEY, which the embedded store makes by itself.',
  group: 'People and sessions',
  method: 'POST',
  url: '/v1/people/me/totp',
  requires: 'session',
  takesAppKey: false,
  limits: [],
  path: NoFields,
  query: NoFields,
  body: Strict({ password: Content(1, PASSWORD_LENGTH_MAX, 'Your password.') }),
  example: { password: 'a sentence that only Ada knows' },
  refusals: ['conflict'],
  successStatus: 200,
  output: Type.Object({
    secret: Type.String({ description: 'In base32, to type in.' }),
    url: Type.String({ description: 'For a QR code.' }),
  }),
  async handle(request, parts) {
    const person = await requireOwnPassword(request, { field: 'password', password: request.body.password }, parts)
    const { secretVault } = parts
    if (!secretVault) throw new AppError('conflict', 'The server needs SECRET_KEY to store authenticator secrets.')
    const secret = newTotpSecret()
    const sealed = sealTotp(secretVault, person.id, secret)
    const isProposed = await parts.database.write((store) => proposeTotp(store, person.number, sealed))
    if (!isProposed) throw new AppError('conflict', 'You already use an authenticator. Remove it first.')
    return { secret, url: toTotpUrl(secret, person.email) }
  },
})
