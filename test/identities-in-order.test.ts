// The table of identities in a store that was made before its rows were kept in the order of their key, and the order in which
// rows are added.
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { CUSTOMER_ID } from '../src/core/users/user.ts'
import { createWorkspace } from '../src/store/workspaces/create-workspace.ts'
import { migrate } from '../src/store/migrations.ts'
import type { Database } from '../src/store/store.ts'
import {
  addIdentities,
  findIdentities,
  listCustomers,
  saveIdentities,
  type KnownIdentity,
} from '../src/store/users/user-identities.ts'
import { until } from './server.ts'
import { describeEachStore, describeOnPostgres, makeStore, openTestDatabase, type TestPlace } from './stores.ts'

const NOW = Date.parse('2026-05-04T10:00:00Z')
const TAKEN_BACK = ['0029-identities-in-order', '0031-order-of-identities', '0032-alone-customers']
const byValue = (left: KnownIdentity, right: KnownIdentity) => (left.value < right.value ? -1 : 1)

/** Identities of users whose numbers are in another order than their customer ids. */
function makeIdentities(count: number): KnownIdentity[] {
  return Array.from({ length: count }, (_, index) => {
    const [customerId, phone] = [`customer ${index}`, `+49 ${index}`]
    const common = { workspaceId: 'main', userId: count - index, seenAt: NOW + index, seenNumber: null, isAlone: false }
    return [
      { ...common, name: CUSTOMER_ID, value: customerId, number: 1_000 + index },
      { ...common, name: 'phone', value: phone, number: null },
    ]
  }).flat()
}

describeEachStore('Identities of an older store', (kind) => {
  let place: TestPlace
  let database: Database

  beforeEach(async () => {
    place = await makeStore(kind)
    database = await openTestDatabase(place)
    await createWorkspace(database, 'main', {}, NOW)
    await database.changeTables(async ({ query }) => {
      await sql`drop table user_identities`.execute(query)
      await sql`
        create table user_identities (
          workspace_id text not null, name text not null, value text not null, user_id bigint not null,
          seen_at bigint not null, number bigint,
          constraint user_identities_key primary key (workspace_id, name, value)
        )`.execute(query)
      await sql`create index user_identities_by_name on user_identities (user_id, name, value)`.execute(query)
      await query.deleteFrom('migrations').where('name', 'in', TAKEN_BACK).execute()
    })
  })
  afterEach(async () => {
    await database.close()
    await place.remove()
  })

  async function addOld(identities: readonly KnownIdentity[]): Promise<void> {
    const rows = identities.map(
      ({ workspaceId: workspace_id, name, value, userId: user_id, seenAt: seen_at, number }) => {
        return { workspace_id, name, value, user_id, seen_at, number }
      },
    )
    await database.write(({ query }) => query.insertInto('user_identities').values(rows).execute())
  }

  it('are all there when it was brought up to date, and new ones come beside them', async () => {
    const old = makeIdentities(500)
    await addOld(old)
    await migrate(database, NOW)
    const known = await findIdentities(database, old)
    expect(known.toSorted(byValue)).toEqual(old.toSorted(byValue))
    const customers = await listCustomers(database, [1, 500])
    expect(customers.toSorted((left, right) => left.userId - right.userId)).toEqual([
      { userId: 1, number: 1_499 },
      { userId: 500, number: 1_000 },
    ])
    const [again, fresh] = [old[0] as KnownIdentity, { ...(old[0] as KnownIdentity), value: 'new' }]
    expect(await database.write((store) => addIdentities(store, [again]))).toBe(false)
    expect(await database.write((store) => addIdentities(store, [fresh]))).toBe(true)
    expect(await findIdentities(database, [fresh])).toEqual([fresh])
  })

  it('are brought up to date once', async () => {
    await addOld(makeIdentities(3))
    await Promise.all([migrate(database, NOW), migrate(database, NOW)])
    await migrate(database, NOW)
    const rows = await database.query.selectFrom('user_identities').select('value').execute()
    expect(rows).toHaveLength(6)
  })
})

describeOnPostgres('New identities', () => {
  let place: TestPlace
  let database: Database

  beforeEach(async () => {
    place = await makeStore('postgres')
    database = await openTestDatabase(place)
  })
  afterEach(async () => {
    await database.close()
    await place.remove()
  })

  it.each([
    { what: 'added', change: addIdentities },
    { what: 'saved', change: saveIdentities },
  ])('can be $what in different orders at the same time', async ({ change }) => {
    const identities = makeIdentities(3).filter(({ name }) => name === CUSTOMER_ID)
    let tries = 0
    const add = (some: readonly KnownIdentity[]) => {
      return database.write(async (store) => {
        tries++
        await change(store, some)
      })
    }
    let adding: Promise<void>[] = []
    await database.write(async (store) => {
      await addIdentities(store, identities.slice(1, 2))
      adding = [identities, identities.toReversed()].map(add)
      const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await until('both wait', async () => (await waiting.execute(database.query)).rows.length === 2)
    })
    await Promise.all(adding)
    expect(tries).toBe(2)
    expect((await findIdentities(database, identities)).toSorted(byValue)).toEqual(identities)
  })
})
