// Remove authenticator: signing in takes only the password again.
import { PASSWORD_LENGTH_MAX } from '../../core/accounts/password-rules.ts'
import { deleteTotp } from '../../store/accounts/people.ts'
import { Content, NoFields, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireOwnPassword } from './require-own-password.ts'

export const removeTotp = defineOperation({
  name: 'remove_totp',
  summary: 'Remove your authenticator',
  description: 'From now on, signing in takes only the password. The recovery codes end too.',
  group: 'People and sessions',
  method: 'DELETE',
  url: '/v1/people/me/totp',
  requires: 'session',
  takesAppKey: false,
  limits: [],
  path: NoFields,
  query: NoFields,
  body: Strict({ password: Content(1, PASSWORD_LENGTH_MAX, 'Your password.') }),
  example: { password: 'a sentence that only Ada knows' },
  successStatus: 204,
  output: null,
  async handle(request, parts) {
    const person = await requireOwnPassword(request, { field: 'password', password: request.body.password }, parts)
    await parts.database.write((store) => deleteTotp(store, person.number))
  },
})
