// Change password: replaces the caller's own password, and ends their other sessions.
import { invalidRequest } from '../../core/app-error.ts'
import { PASSWORD_LENGTH_MAX, passwordProblem } from '../../core/accounts/password-rules.ts'
import { removeAccessLinks } from '../../store/accounts/access-links.ts'
import { lockPassword, savePassword } from '../../store/accounts/people.ts'
import { removeSessionsOf } from '../../store/accounts/sessions.ts'
import { Content, NoFields, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { notYourPassword, requireOwnPassword } from './require-own-password.ts'
import { personOf } from './person-of.ts'

export const changePassword = defineOperation({
  name: 'change_password',
  summary: 'Change your password',
  description:
    'Replaces the password of the person who is signed in. Ends their other sessions, and an open link for a new password.',
  group: 'People and sessions',
  method: 'PUT',
  url: '/v1/people/me/password',
  requires: 'session',
  takesAppKey: false,
  limits: [],
  path: NoFields,
  query: NoFields,
  body: Strict({ current_password: Content(1, PASSWORD_LENGTH_MAX), new_password: Content(1, PASSWORD_LENGTH_MAX) }),
  example: { current_password: 'a sentence that only Ada knows', new_password: 'another sentence of hers' },
  successStatus: 204,
  output: null,
  async handle(request, parts) {
    const { body, credential, now } = request
    const current = { field: 'current_password', password: body.current_password }
    const person = await requireOwnPassword(request, current, parts)
    const problem = passwordProblem(body.new_password, [person.email, person.name])
    if (problem !== undefined) throw invalidRequest([{ field: 'new_password', problem }])
    const password = await parts.passwordHashes.hash(body.new_password)
    await parts.database.write(async (store) => {
      if (!(await lockPassword(store, person))) throw notYourPassword(current.field)
      await savePassword(store, person.number, password, now)
      await removeSessionsOf(store, person.number, personOf(credential).sessionId)
      await removeAccessLinks(store, { kind: 'reset', email: person.email, workspaceId: null })
    })
  },
})
