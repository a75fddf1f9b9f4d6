// Checks that users and preferences are looked up by index on every store, with ten users or a million.
import { sql, type Compilable } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { nothingSetFor, recordPreferenceChange, type Preference } from '../../../src/core/users/preference.ts'
import { CUSTOMER_ID } from '../../../src/core/users/user.ts'
import {
  findPreferenceOf,
  findPreferences,
  listIdsOfNewestChanges,
  listPreferencesByEmail,
  listUserPreferenceChanges,
  removePreferences,
  savePreferences,
} from '../../../src/store/users/preferences.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import {
  clearSingleAliases,
  countCustomerIds,
  findIdentities,
  listNewestIdentifiers,
  listNewestIdentifiersOf,
  saveIdentities,
} from '../../../src/store/users/user-identities.ts'
import { countApplied, findImport, findImportByKey, forgetImports } from '../../../src/store/users/imports.ts'
import { searchUsers } from '../../../src/store/users/user-search.ts'
import {
  findUser,
  findUserByEmail,
  findUserId,
  findUserWithEmail,
  findUsers,
  listUserIds,
  listYoungestUserIds,
  mergeUsers,
  saveUsers,
} from '../../../src/store/users/users.ts'
import { explain, expectIndexed } from '../../support/query-plan.ts'
import { countValues, recordQueries, watchRows } from '../../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

/** Enough that PostgreSQL has reason to prefer an index; every tenth user was merged into the one before. */
const USERS = 20_000
const USERS_PER_MERGE = 10
const WANTED = [1, 5_000, USERS]
const NOTHING_APPLIED = { applied: 0, keptOptedOut: 0, incomplete: 0 }
const MANY = Array.from({ length: 150 }, (_, index) => index + 1)
/** A user with an identifier that many people share, and so with the customer ids of all of them. */
const CROWD = USERS + 1
const CROWD_IDS = 2_000

describeEachStore('Users and preferences', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    await database.write(async (store) => {
      await addUsers(store)
      await addCrowd(store)
      await sql`analyze`.execute(store.query)
    })
  }, 60_000)
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const before = { at: 5, number: 1, userId: 2 }
  const behind = { before: USERS, max: 2 }
  const named = { name: CUSTOMER_ID, value: 'c1' }
  const lookups: [what: string, narrowedBy: string[], work: (store: Store) => Promise<unknown>][] = [
    ['a user by customer id', ['value', 'id'], (store) => findUser(store, 'main', { name: CUSTOMER_ID, value: 'c1' })],
    ['a user by identifier', ['value', 'id'], (store) => findUser(store, 'main', { name: 'svc_mobile', value: '1' })],
    ['the number of a user by customer id', ['value', 'id'], (store) => findUserId(store, 'main', named)],
    ['the oldest user by email', ['email_key'], (store) => findUserByEmail(store, 'main', '5@example.com')],
    ['a user with an email', ['workspace_id', 'email_key'], (store) => findUserWithEmail(store, 'main')],
    ['the ids merged into a user', ['merged_into', 'id'], (store) => listUserIds(store, 1)],
    ['the youngest ids merged into a user', ['merged_into', 'id'], (store) => listYoungestUserIds(store, 1, 2)],
    ['how many customer ids users have', ['user_id', 'name'], (store) => countCustomerIds(store, WANTED, 21)],
    ['the identifiers of a user', ['user_id'], (store) => listNewestIdentifiers(store, 1)],
    ['the identifiers of a user with many ids', ['user_id'], (store) => listNewestIdentifiers(store, CROWD)],
    ['the identifiers of many users', ['user_id'], (store) => listNewestIdentifiersOf(store, MANY)],
    [
      'many identities',
      ['value'],
      (store) => findIdentities(store, [{ workspaceId: 'main', name: CUSTOMER_ID, value: 'c1' }]),
    ],
    [
      'identities that are no longer single aliases',
      ['value'],
      (store) => clearSingleAliases(store, [{ workspaceId: 'main', ...named }]),
    ],
    [
      'the users to search',
      ['workspace_id', 'user_id', 'id'],
      (store) =>
        searchUsers(store, 'main', { text: 'x', emailPart: 'x' }, { before: USERS, max: 2, examinedMax: 5_000 }),
    ],
    ['an import', ['id'], (store) => findImport(store, 'main', 'i1')],
    ['an import by its key', ['workspace_id', 'key'], (store) => findImportByKey(store, 'main', 'k1')],
    ['the rows that are applied', ['id'], (store) => countApplied(store, 'i1', NOTHING_APPLIED)],
    ['old imports', ['checkpoint_at', 'id'], (store) => forgetImports(store, 1)],
    ['many users', ['id'], (store) => findUsers(store, WANTED)],
    ['the preferences of many users', ['user_id', 'id'], (store) => findPreferences(store, WANTED)],
    [
      'the preferences of a user by customer id',
      ['value', 'id', 'user_id'],
      (store) => findPreferenceOf(store, 'main', named),
    ],
    [
      'preferences by email',
      ['email_key', 'user_id', 'id'],
      (store) => listPreferencesByEmail(store, 'main', '5@example.com', behind),
    ],
    ['preferences to be removed', ['user_id', 'id'], (store) => removePreferences(store, WANTED)],
    [
      'the first proofs of a user',
      ['user_id'],
      (store) => listUserPreferenceChanges(store, WANTED, { before: undefined, max: 2 }),
    ],
    [
      'the ids of the first proofs',
      ['user_id'],
      (store) => listIdsOfNewestChanges(store, MANY, { ...behind, before: undefined }),
    ],
    ['the ids of further proofs', ['user_id'], (store) => listIdsOfNewestChanges(store, MANY, { ...behind, before })],
    ['further proofs of a user', ['user_id'], (store) => listUserPreferenceChanges(store, WANTED, { before, max: 2 })],
  ]
  it.each(lookups)('finds %s by index', async (_what, narrowedBy, work) => {
    for (const query of await recordQueries(database, work)) {
      expectIndexed(await explain(database, query), ...narrowedBy)
    }
  })

  it('finds a user by an id in one statement, so that no merge comes in between', async () => {
    const find = (store: Store) => findUser(store, 'main', { name: CUSTOMER_ID, value: 'c1' })
    expect(await recordQueries(database, find)).toHaveLength(1)
  })

  it('skips the customer ids of a user who has thousands of them', async () => {
    const { database: watched, rowsOfQueries } = watchRows(database)
    expect(await listNewestIdentifiers(watched, CROWD)).toEqual([
      { name: 'crm', value: 'b' },
      { name: 'mail', value: 'none' },
    ])
    expect(rowsOfQueries.reduce((sum, rows) => sum + rows, 0)).toBeLessThan(110)
    rowsOfQueries.length = 0
    expect((await listNewestIdentifiersOf(watched, [1, CROWD])).get(CROWD)).toEqual([
      { name: 'crm', value: 'b' },
      { name: 'mail', value: 'none' },
    ])
    expect(rowsOfQueries.reduce((sum, rows) => sum + rows, 0)).toBeLessThan(140)
  })

  it('counts the customer ids of a user who has thousands of them only up to a limit', async () => {
    expect([...(await countCustomerIds(database, [1, CROWD], 21))]).toEqual([
      [1, 1],
      [CROWD, 21],
    ])
  })

  it('finds the youngest of the users that were merged into one', async () => {
    expect(await listUserIds(database, CROWD)).toEqual([CROWD, CROWD + 1, CROWD + 2, CROWD + 3])
    expect(await listYoungestUserIds(database, CROWD, 2)).toEqual([CROWD, CROWD + 3, CROWD + 2])
    expect(await listYoungestUserIds(database, CROWD + 1, 1)).toEqual([CROWD, CROWD + 3])
    expect(await listYoungestUserIds(database, USERS * 2, 1)).toEqual([USERS * 2])
  })

  it('reads only as many complete proofs as a page has, for any number of ids', async () => {
    const work = (store: Store) => listUserPreferenceChanges(store, WANTED, { before: undefined, max: 2 })
    expect((await countValues(database, work)).get('after')).toBe(2)
  })

  it('lists the proofs of many ids newest first, page by page', async () => {
    const ids = Array.from({ length: 250 }, (_, index) => index + 1)
    const proofs = await listUserPreferenceChanges(database, ids, { before: undefined, max: 101 })
    expect(proofs.map(({ userId }) => userId)).toEqual(ids.slice(-101).toReversed())
    const [last] = proofs.slice(-1)
    const next = await listUserPreferenceChanges(database, ids, { before: last, max: 101 })
    expect(next.map(({ userId }) => userId)).toEqual(ids.slice(-202, -101).toReversed())
  })

  it('walks the index only for those of thousands of ids that have the newest proofs', async () => {
    const ids = Array.from({ length: 4_000 }, (_, index) => index + 1)
    const list = (store: Store) => listUserPreferenceChanges(store, ids, { before: undefined, max: 2 })
    // Two find the ids, one walks the index, and one reads the proofs.
    expect(await recordQueries(database, list)).toHaveLength(4)
    expect((await list(database)).map(({ userId }) => userId)).toEqual([4_000, 3_999])
  })

  it('finds all ids of a merged user by any of them', async () => {
    const all = await listUserIds(database, USERS_PER_MERGE - 1)
    expect(all.length).toBeGreaterThan(1)
    for (const id of all) expect(await listUserIds(database, id)).toEqual(all)
    expect(await listUserIds(database, USERS * 2)).toEqual([USERS * 2])
  })

  it('reads users by email and proofs of consent in the order of their index, without sorting', async () => {
    const queries = [
      ...(await recordQueries(database, (store) => findUserByEmail(store, 'main', '5@example.com'))),
      ...(await recordQueries(database, (store) => listPreferencesByEmail(store, 'main', '5@example.com', behind))),
      ...(await recordQueries(database, (store) => listUserPreferenceChanges(store, WANTED, { before, max: 2 }))),
    ]
    for (const query of queries) expect(await explain(database, query)).toMatchObject({ sorts: false })
  })

  it('enters the index of proofs at the start of a page', async () => {
    const work = (store: Store) => listUserPreferenceChanges(store, WANTED, { before, max: 2 })
    const [walks] = await recordQueries(database, work)
    const { accesses } = await explain(database, walks as Compilable)
    expect(accesses).toHaveLength(WANTED.length)
    // Both stores compare the pair in the index.
    for (const { condition } of accesses) expect(condition).toMatch(/user_id.*\(at, ?number\) ?</)
  })
})

async function addUsers(store: Store): Promise<void> {
  const ids = Array.from({ length: USERS }, (_, index) => index + 1)
  const users = ids.map((id) => {
    return {
      id,
      workspaceId: 'main',
      customerId: `c${id}`,
      attributes: {},
      emailKey: `${id}@example.com`,
      createdAt: 1,
    }
  })
  await saveUsers(store, users)
  const identities = users.map(({ id, customerId }) => {
    return {
      workspaceId: 'main',
      name: CUSTOMER_ID,
      value: customerId,
      userId: id,
      seenAt: 1,
      number: null,
      seenNumber: null,
      isSingleAlias: false,
    }
  })
  await saveIdentities(store, identities)
  const optedIn: Preference & { updatedAt: number } = { status: ['OPTED_IN', 5], categories: {}, updatedAt: 5 }
  const recorded = ids.map((userId) => {
    return recordPreferenceChange(nothingSetFor(userId), optedIn, { by: 'key:data', ip: null })
  })
  const preferences = recorded.map(({ current }) => current)
  const changes = recorded.map(({ change }) => change)
  await savePreferences(store, preferences, changes)
  const merged = ids.filter((id) => id % USERS_PER_MERGE === 0)
  await mergeUsers(
    store,
    merged.map((id) => ({ from: id, into: id - 1 })),
  )
}

async function addCrowd(store: Store): Promise<void> {
  const nobody = { workspaceId: 'main', customerId: null, attributes: {}, emailKey: null, createdAt: 1 }
  const merged = [CROWD + 1, CROWD + 2, CROWD + 3]
  await saveUsers(
    store,
    [CROWD, ...merged].map((id) => ({ id, ...nobody })),
  )
  await mergeUsers(
    store,
    merged.map((from) => ({ from, into: CROWD })),
  )
  const known = { workspaceId: 'main', userId: CROWD, number: null, seenNumber: null, isSingleAlias: false }
  const ids = Array.from({ length: CROWD_IDS }, (_, index) => {
    return { ...known, name: CUSTOMER_ID, value: `crowd-${index}`, seenAt: 1, number: CROWD + index }
  })
  const values = { a: 3, b: 5, c: 4 }
  const identifiers = Object.entries(values).map(([value, seenAt]) => {
    return { ...known, name: 'crm', value, seenAt, seenNumber: seenAt }
  })
  await saveIdentities(store, [
    ...ids,
    ...identifiers,
    { ...known, name: 'mail', value: 'none', seenAt: 1, seenNumber: 1 },
  ])
}
