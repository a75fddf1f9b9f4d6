// The table of sessions. Only the hash of a session's token is stored: whoever reads the table can use none.
import { SESSION_IDLE_MS, SESSION_MS_MAX, type Session } from '../../core/accounts/session.ts'
import type { SqlTypes, Store } from '../store.ts'

interface SessionRow {
  /** SHA-256 of the token, as lower-case hex. */
  hash: string
  /** Public. */
  id: string
  /** `people.number`. */
  person: number
  created_at: number
  last_seen_at: number
  address: string
  agent: string
}

declare module '../tables.ts' {
  interface Tables {
    sessions: SessionRow
  }
}

/** Sessions that one transaction deletes. */
const FORGOTTEN_PER_STEP_MAX = 1_000

export interface StoredSession extends Session {
  /** `people.number`. */
  readonly person: number
}

export async function createSessions({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('sessions')
    .addColumn('hash', text, (column) => column.primaryKey())
    .addColumn('id', text, (column) => column.notNull().unique())
    .addColumn('person', integer, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('last_seen_at', integer, (column) => column.notNull())
    .addColumn('address', text, (column) => column.notNull())
    .addColumn('agent', text, (column) => column.notNull())
    .execute()
  await query.schema.createIndex('sessions_by_person').on('sessions').columns(['person', 'last_seen_at']).execute()
  await query.schema.createIndex('sessions_by_last_seen').on('sessions').column('last_seen_at').execute()
}

/** A session that has not ended; undefined if it has, or there is none. */
export async function findSession({ query }: Store, hash: string, now: number): Promise<StoredSession | undefined> {
  const row = await query
    .selectFrom('sessions')
    .selectAll()
    .where('hash', '=', hash)
    .where('last_seen_at', '>', now - SESSION_IDLE_MS)
    .where('created_at', '>', now - SESSION_MS_MAX)
    .executeTakeFirst()
  return row && toSession(row)
}

/** The sessions of a person that have not ended, the last used first. */
export async function listSessionsOf({ query }: Store, person: number, now: number): Promise<StoredSession[]> {
  const rows = await query
    .selectFrom('sessions')
    .selectAll()
    .where('person', '=', person)
    .where('last_seen_at', '>', now - SESSION_IDLE_MS)
    .where('created_at', '>', now - SESSION_MS_MAX)
    .orderBy('last_seen_at', 'desc')
    .orderBy('id')
    .execute()
  return rows.map(toSession)
}

/** Person → when one of the sessions was used last; people without a session are left out. */
export async function findLastSeen({ query }: Store, people: readonly number[]): Promise<Map<number, number>> {
  if (people.length === 0) return new Map()
  const rows = await query
    .selectFrom('sessions')
    .select(['person', (select) => select.fn.max<number>('last_seen_at').as('last_seen_at')])
    .where('person', 'in', people)
    .groupBy('person')
    .execute()
  return new Map(rows.map(({ person, last_seen_at: at }) => [person, at]))
}

export async function addSession({ query }: Store, hash: string, session: StoredSession): Promise<void> {
  const row: SessionRow = {
    hash,
    id: session.id,
    person: session.person,
    created_at: session.createdAt,
    last_seen_at: session.lastSeenAt,
    address: session.address,
    agent: session.agent,
  }
  await query.insertInto('sessions').values(row).execute()
}

export type SeenSession = Pick<Session, 'id' | 'lastSeenAt' | 'address'>

export async function touchSession({ query }: Store, { id, lastSeenAt, address }: SeenSession): Promise<void> {
  await query.updateTable('sessions').set({ last_seen_at: lastSeenAt, address }).where('id', '=', id).execute()
}

/** Returns false if the person has no such session. */
export async function removeSession({ query }: Store, person: number, id: string): Promise<boolean> {
  const { numDeletedRows } = await query
    .deleteFrom('sessions')
    .where('id', '=', id)
    .where('person', '=', person)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Ends the sessions of a person, but for the one that is kept. */
export async function removeSessionsOf({ query }: Store, person: number, keptId?: string): Promise<void> {
  const all = query.deleteFrom('sessions').where('person', '=', person)
  await (keptId === undefined ? all : all.where('id', '!=', keptId)).execute()
}

/** Ends the sessions of everybody. */
export async function removeAllSessions({ query }: Store): Promise<void> {
  await query.deleteFrom('sessions').execute()
}

/** Deletes some sessions that have ended because nothing was asked in them; returns whether there may be more. */
export async function forgetSessions({ query }: Store, now: number): Promise<boolean> {
  const ended = query
    .selectFrom('sessions')
    .select('hash')
    .where('last_seen_at', '<=', now - SESSION_IDLE_MS)
    .limit(FORGOTTEN_PER_STEP_MAX)
  const { numDeletedRows } = await query.deleteFrom('sessions').where('hash', 'in', ended).executeTakeFirstOrThrow()
  return numDeletedRows === BigInt(FORGOTTEN_PER_STEP_MAX)
}

function toSession(row: SessionRow): StoredSession {
  return {
    id: row.id,
    person: row.person,
    createdAt: row.created_at,
    lastSeenAt: row.last_seen_at,
    address: row.address,
    agent: row.agent,
  }
}
