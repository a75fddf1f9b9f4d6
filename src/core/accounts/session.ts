// How long the session of a person lasts.

const HOUR_MS = 60 * 60_000
/** A session that nothing is asked in for so long has ended. */
export const SESSION_IDLE_MS = 12 * HOUR_MS
/** A session ends after so long, however it is used. */
export const SESSION_MS_MAX = 30 * 24 * HOUR_MS
/** Sessions of one person; with another one, the one that was used least recently ends. */
export const SESSIONS_OF_PERSON_MAX = 50

export interface Session {
  /** Public; the token that the browser has is a secret. */
  readonly id: string
  readonly createdAt: number
  /** Exact to a minute. */
  readonly lastSeenAt: number
  /** The address of the last request. */
  readonly address: string
  /** The browser, as it calls itself. */
  readonly agent: string
}

export function sessionEndsAt({ createdAt, lastSeenAt }: Pick<Session, 'createdAt' | 'lastSeenAt'>): number {
  return Math.min(lastSeenAt + SESSION_IDLE_MS, createdAt + SESSION_MS_MAX)
}
