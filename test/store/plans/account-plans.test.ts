// Checks that people, their roles and sessions are found by index on every store, with any number of them.
import { sql } from 'kysely'
import { afterAll, beforeAll, it } from 'vitest'
import {
  addPerson,
  findPersonByEmail,
  findPersonById,
  findPersonByNumber,
  listPeopleIn,
  lockPassword,
} from '../../../src/store/accounts/people.ts'
import { listGrants, listGrantsIn, saveGrant } from '../../../src/store/accounts/person-roles.ts'
import {
  addSession,
  findLastSeen,
  findSession,
  forgetSessions,
  listSessionsOf,
  removeSession,
  removeSessionsOf,
  touchSession,
} from '../../../src/store/accounts/sessions.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { explain, expectIndexed } from '../../support/query-plan.ts'
import { recordQueries } from '../../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

/** Enough that PostgreSQL has reason to prefer an index. */
const PEOPLE = 2_000
const SESSIONS_EACH = 3
const NOW = 1_000_000_000_000

describeEachStore('People and their sessions', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    await database.write(async (store) => {
      for (let number = 1; number <= PEOPLE; number++) await addAccount(store, number)
      await sql`analyze`.execute(store.query)
    })
  }, 120_000)
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const seen = { id: 's7-1', lastSeenAt: NOW, address: '' }
  const searches: [what: string, columns: string[], search: (store: Store) => Promise<unknown>][] = [
    ['a person by address', ['email_key'], (store) => findPersonByEmail(store, 'p7@example.com')],
    ['a person by public id', ['id'], (store) => findPersonById(store, 'p7')],
    ['a person by number', ['number', 'id'], (store) => findPersonByNumber(store, 7)],
    ['some people', ['number', 'id'], (store) => listPeopleIn(store, [7, 8, 9])],
    ['a password to keep', ['number', 'id'], (store) => lockPassword(store, { number: 7, password: 'x' })],
    ['the roles of a person', ['person'], (store) => listGrants(store, 7)],
    ['the roles in a workspace', ['workspace_id'], (store) => listGrantsIn(store, 'w7')],
    ['a session by its token', ['hash'], (store) => findSession(store, 'h7-1', NOW)],
    ['a session that is used', ['id'], (store) => touchSession(store, seen)],
    ['the sessions of a person', ['person'], (store) => listSessionsOf(store, 7, NOW)],
    ['when people were seen', ['person'], (store) => findLastSeen(store, [7, 8])],
    ['a session to end', ['id'], (store) => removeSession(store, 7, 's7-1')],
    ['sessions to end', ['person'], (store) => removeSessionsOf(store, 7, 's7-2')],
    ['sessions that have ended', ['last_seen_at', 'hash'], (store) => forgetSessions(store, NOW)],
  ]
  it.each(searches)('%s: found by index', async (_what, columns, search) => {
    for (const query of await recordQueries(database, search)) {
      expectIndexed(await explain(database, query), ...columns)
    }
  })
})

async function addAccount(store: Store, number: number): Promise<void> {
  const person = { id: `p${number}`, email: `p${number}@example.com`, name: 'P', password: 'x', createdAt: NOW }
  await addPerson(store, person)
  await saveGrant(store, number, { workspaceId: `w${number % 100}`, role: 'analyst' })
  for (let count = 0; count < SESSIONS_EACH; count++) {
    const id = `s${number}-${count}`
    const session = { id, person: number, createdAt: NOW, lastSeenAt: NOW - number, address: '', agent: '' }
    await addSession(store, `h${number}-${count}`, session)
  }
}
