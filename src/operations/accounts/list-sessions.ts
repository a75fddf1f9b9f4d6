// List sessions: returns the caller's own sessions, the last used first.
import { Type } from 'typebox'
import { sessionEndsAt, SESSIONS_OF_PERSON_MAX } from '../../core/accounts/session.ts'
import { toIso } from '../../core/time-value.ts'
import { listSessionsOf } from '../../store/accounts/sessions.ts'
import { IsoTime, NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { personOf, requireCaller } from './person-of.ts'

export const listSessions = defineOperation({
  name: 'list_sessions',
  summary: 'List your sessions',
  description: `Returns the sessions of the person who is signed in, the last used first. There are at most ${SESSIONS_OF_PERSON_MAX}.`,
  group: 'People and sessions',
  method: 'GET',
  url: '/v1/sessions',
  requires: 'session',
  takesAppKey: false,
  limits: [],
  path: NoFields,
  query: NoFields,
  body: null,
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        session_id: Type.String(),
        created_at: IsoTime,
        last_seen_at: Type.String({ format: 'date-time', description: 'Exact to a minute.' }),
        expires_at: Type.String({ format: 'date-time', description: 'When it ends if it is not used again.' }),
        address: Type.String({ description: 'The address of its last request.' }),
        agent: Type.String({ description: 'The browser, as it calls itself.' }),
        is_current: Type.Boolean({ description: 'Whether this request belongs to it.' }),
      }),
      { maxItems: SESSIONS_OF_PERSON_MAX },
    ),
  }),
  async handle({ credential, now }, { database }) {
    const { sessionId } = personOf(credential)
    const { number } = await requireCaller(database, credential)
    const sessions = await listSessionsOf(database, number, now)
    return {
      data: sessions.map((session) => ({
        session_id: session.id,
        created_at: toIso(session.createdAt),
        last_seen_at: toIso(session.lastSeenAt),
        expires_at: toIso(sessionEndsAt(session)),
        address: session.address,
        agent: session.agent,
        is_current: session.id === sessionId,
      })),
    }
  },
})
