// End session: signs the caller out of one of their browsers.
import { AppError } from '../../core/app-error.ts'
import { removeSession } from '../../store/accounts/sessions.ts'
import { NoFields, Strict, Text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireCaller } from './person-of.ts'

const SESSION_ID_LENGTH_MAX = 64

export const endSession = defineOperation({
  name: 'end_session',
  summary: 'End one of your sessions',
  description: 'Ends a session of the person who is signed in. Its next request is answered with 401.',
  group: 'People and sessions',
  method: 'DELETE',
  url: '/v1/sessions/:session_id',
  requires: 'session',
  takesAppKey: false,
  limits: [],
  path: Strict({ session_id: Text(1, SESSION_ID_LENGTH_MAX, 'As List your sessions shows it.') }),
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 204,
  output: null,
  async handle({ credential, path }, { database }) {
    const { number } = await requireCaller(database, credential)
    const isEnded = await database.write((store) => removeSession(store, number, path.session_id))
    if (!isEnded) throw new AppError('not_found', 'You have no such session.')
  },
})
