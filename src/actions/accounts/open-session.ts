// Opens a session for a person. The token is returned once; the store keeps its hash.
import { v7 as newSessionId } from 'uuid'
import { SESSIONS_OF_PERSON_MAX } from '../../core/accounts/session.ts'
import { addSession, listSessionsOf, removeSession, type StoredSession } from '../../store/accounts/sessions.ts'
import type { Store } from '../../store/store.ts'
import { hashToken, newToken } from './secret-token.ts'

const AGENT_LENGTH_MAX = 256

export interface SessionOrigin {
  readonly address: string
  /** The header User-Agent. */
  readonly agent: string | undefined
  readonly now: number
}

export interface OpenedSession {
  readonly token: string
  readonly session: StoredSession
}

/** Ends the session that was used least recently if there are too many. `person`: `people.number`. */
export async function openSession(
  store: Store,
  person: number,
  { address, agent = '', now }: SessionOrigin,
): Promise<OpenedSession> {
  const others = await listSessionsOf(store, person, now)
  for (const { id } of others.slice(SESSIONS_OF_PERSON_MAX - 1)) await removeSession(store, person, id)
  const token = newToken()
  const session = {
    id: newSessionId(),
    person,
    createdAt: now,
    lastSeenAt: now,
    address,
    agent: agent.slice(0, AGENT_LENGTH_MAX).toWellFormed(),
  }
  await addSession(store, hashToken(token), session)
  return { token, session }
}
