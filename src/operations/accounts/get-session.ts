// Get session: returns who is signed in, and their roles. Nobody is no error, so that a page can ask.
import { Type } from 'typebox'
import { NoFields, Nullable } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { readSessionBody, SessionOutput } from './session-body.ts'

export const getSession = defineOperation({
  name: 'get_session',
  summary: 'Get the current session',
  description: 'Returns who is signed in, and in which workspaces they have which role; null if nobody is.',
  group: 'People and sessions',
  method: 'GET',
  url: '/v1/session',
  requires: 'nothing',
  takesAppKey: false,
  limits: [],
  path: NoFields,
  query: NoFields,
  body: null,
  successStatus: 200,
  output: Type.Object({ session: Nullable(SessionOutput) }),
  async handle({ credential, isSecure }, { database }) {
    if (credential.kind !== 'person') return { session: null }
    const { personId, sessionId } = credential
    return { session: await readSessionBody(database, { sessionId, personId, isSecure }) }
  },
})
