// Sign out: ends the current session.
import { removeSession } from '../../store/accounts/sessions.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { personOf, requireCaller } from './person-of.ts'

export const signOut = defineOperation({
  name: 'sign_out',
  summary: 'Sign out',
  description: 'Ends the current session.',
  group: 'People and sessions',
  method: 'DELETE',
  url: '/v1/session',
  requires: 'session',
  takesAppKey: false,
  limits: [],
  path: NoFields,
  query: NoFields,
  body: null,
  successStatus: 204,
  output: null,
  async handle({ credential, setSession }, { database }) {
    const { sessionId } = personOf(credential)
    const { number } = await requireCaller(database, credential)
    await database.write((store) => removeSession(store, number, sessionId))
    setSession(null)
  },
})
