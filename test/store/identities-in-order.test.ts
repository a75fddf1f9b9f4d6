// Checks that two processes that add the same identities in different orders do not deadlock.
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { CUSTOMER_ID } from '../../src/core/users/user.ts'
import type { Database } from '../../src/store/store.ts'
import {
  addIdentities,
  findIdentities,
  saveIdentities,
  type StoredIdentity,
} from '../../src/store/users/user-identities.ts'
import { until } from '../support/server.ts'
import { describeOnPostgres, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

const NOW = Date.parse('2026-05-04T10:00:00Z')
const byValue = (left: StoredIdentity, right: StoredIdentity) => (left.value < right.value ? -1 : 1)

/** Identities of users whose numbers are in another order than their customer ids. */
function makeIdentities(count: number): StoredIdentity[] {
  return Array.from({ length: count }, (_, index) => {
    const [customerId, phone] = [`customer ${index}`, `+49 ${index}`]
    const common = {
      workspaceId: 'main',
      userId: count - index,
      seenAt: NOW + index,
      seenNumber: null,
      isSingleAlias: false,
    }
    return [
      { ...common, name: CUSTOMER_ID, value: customerId, number: 1_000 + index },
      { ...common, name: 'phone', value: phone, number: null },
    ]
  }).flat()
}

describeOnPostgres('New identities', () => {
  let location: TestLocation
  let database: Database

  beforeEach(async () => {
    location = await makeStore('postgres')
    database = await openTestDatabase(location)
  })
  afterEach(async () => {
    await database.close()
    await location.remove()
  })

  it.each([
    { what: 'added', change: addIdentities },
    { what: 'saved', change: saveIdentities },
  ])('can be $what concurrently in different orders without a deadlock', async ({ change }) => {
    const identities = makeIdentities(3).filter(({ name }) => name === CUSTOMER_ID)
    let tries = 0
    const add = (some: readonly StoredIdentity[]) => {
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
