// The users that a request for preferences identifies, in the store: which columns are read, and what concurrent merges change.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { nothingSetFor, recordPreferenceChange } from '../../../src/core/users/preference.ts'
import { CUSTOMER_ID } from '../../../src/core/users/user.ts'
import { DEFAULT_SETTINGS, type Workspace } from '../../../src/core/workspace.ts'
import type { LogReader } from '../../../src/log/event-log.ts'
import { openLogReader } from '../../../src/log/open-log.ts'
import { AppliedEntries } from '../../../src/operations/applied-entries.ts'
import type { Parts } from '../../../src/operations/operation.ts'
import type { JsonText } from '../../../src/operations/json-text.ts'
import { requirePreference, type SentUserIds } from '../../../src/operations/preferences/preference-users.ts'
import { KeyedQueue } from '../../../src/concurrency/keyed-queue.ts'
import { updatePreferences } from '../../../src/operations/preferences/update-preferences.ts'
import { readPreferences } from '../../../src/operations/preferences/read-preferences.ts'
import { listPreferencesByEmail, removePreferences, savePreferences } from '../../../src/store/users/preferences.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { saveIdentities } from '../../../src/store/users/user-identities.ts'
import { mergeUsers, saveUsers } from '../../../src/store/users/users.ts'
import { meddled } from '../../support/meddled-store.ts'
import type { PreferencesBody } from '../../support/calls/preference-calls.ts'
import { countValues, watchRows } from '../../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

const WORKSPACE: Workspace = {
  ...DEFAULT_SETTINGS,
  id: 'main',
  name: 'main',
  createdAt: 1,
  globalControlSeed: 'seed',
  linkKey: 'key',
}
const OPTED_OUT = { status: ['OPTED_OUT', 5], categories: {}, updatedAt: 5 } as const
const MORE_THAN_A_PAGE = 600

/** A request to update preferences, as the lifecycle passes it on. */
function toRequest(body: object) {
  return { workspace: WORKSPACE, now: 7, credential: { kind: 'key', tile: 'data' }, callerAddress: '127.0.0.1', body }
}

describeEachStore(
  'The users that a request for preferences identifies (read_preferences, update_preferences)',
  (kind) => {
    let location: TestLocation
    let database: Database
    /** Of an empty log. */
    let logReader: LogReader
    let made = 0

    beforeAll(async () => {
      location = await makeStore(kind)
      database = await openTestDatabase(location)
      logReader = await openLogReader({ ...location, natsUrl: undefined })
    })
    afterAll(async () => {
      await logReader.close()
      await database.close()
      await location.remove()
    })

    /** Creates users with one address, oldest first. The youngest has opted out; `unite` merges it into the oldest. */
    async function makeUsers(count: number) {
      const email = `${++made}@example.com`
      const ids = Array.from({ length: count }, (_, index) => made * 1_000 + index)
      const [oldest, youngest] = [ids[0] as number, ids.at(-1) as number]
      await database.write(async (store) => {
        await addUsers(store, ids, email)
        await optOut(store, youngest)
      })
      const unite = () => {
        return database.write(async (store) => {
          await mergeUsers(store, [{ from: youngest, into: oldest }])
          await optOut(store, oldest)
          await removePreferences(store, [youngest])
        })
      }
      return { email, ids, customerIds: ids.map((id) => `c${id}`), youngest: `c${youngest}`, unite }
    }

    /** Reads preferences while a merge commits after the first query of users. */
    async function readDuring(merge: () => Promise<void>, query: SentUserIds): Promise<PreferencesBody[]> {
      const request = { workspace: WORKSPACE, query } as never
      const parts: Partial<Parts> = { database: meddled(database, 'users', merge), queue: new KeyedQueue() }
      const answer = (await readPreferences.handle(request, parts as Parts)) as JsonText
      return (JSON.parse(Buffer.concat(answer.pieces).toString()) as { data: PreferencesBody[] }).data
    }

    it('are read without their attributes, which may take megabytes each', async () => {
      const { email, youngest } = await makeUsers(3)
      const reads = [
        (store: Store) => listPreferencesByEmail(store, WORKSPACE.id, email, { before: undefined, max: 2 }),
        (store: Store) => requirePreference(store, WORKSPACE, { customer_id: youngest }),
      ]
      for (const read of reads) {
        const values = await countValues(database, read)
        expect(values.get('categories')).toBeGreaterThan(0)
        expect(values.get('attributes')).toBeUndefined()
      }
    })

    const long = Array.from({ length: 100 }, (_, index) => String(index).padEnd(256, '.'))
    it.each([
      { what: 'a few hundred at once', count: MORE_THAN_A_PAGE, categories: [], rows: [500, 100] },
      { what: 'fewer at once if the categories are long', count: 90, categories: long, rows: [40, 40, 10] },
    ])('are read in portions, $what', async ({ count, categories, rows }) => {
      const { email, customerIds } = await makeUsers(count)
      const { database: watched, rowsOfQueries } = watchRows(database)
      const request = { workspace: { ...WORKSPACE, categories }, query: { email_id: email } } as never
      const answer = await readPreferences.handle(request, {
        database: watched,
        queue: new KeyedQueue(),
      } as unknown as Parts)
      const [, ...rowsOfPortions] = rowsOfQueries
      // The first query is for the categories.
      expect(rowsOfPortions).toEqual(rows)
      const { data } = JSON.parse(Buffer.concat((answer as JsonText).pieces).toString()) as { data: PreferencesBody[] }
      expect(data.map(({ customer_id }) => customer_id)).toEqual(customerIds)
    })

    it.each([
      { what: 'a few hundred each', count: MORE_THAN_A_PAGE, categories: [], portions: 2 },
      { what: 'fewer each if the categories are long', count: 90, categories: long, portions: 3 },
    ])('are changed in portions, $what, or in one step on PostgreSQL', async (example) => {
      const { email, customerIds } = await makeUsers(example.count)
      let transactions = 0
      const counting: Database['write'] = (change) => {
        transactions++
        return database.write(change)
      }
      const workspace = { ...WORKSPACE, categories: example.categories }
      const request = { workspace, now: 7, credential: { kind: 'key', tile: 'data' }, callerAddress: '127.0.0.1' }
      const body = { user_preferences: { email_id: email, opt_in_status: 'OPTED_IN' } }
      const parts = { database: { ...database, write: counting }, queue: new KeyedQueue() }
      await updatePreferences.handle({ ...request, body } as never, parts as unknown as Parts)
      expect(transactions).toBe(kind === 'sqlite' ? example.portions : 1)
      const shown = await readDuring(async () => {}, { email_id: email })
      expect(shown.map(({ customer_id }) => customer_id)).toEqual(customerIds)
      expect(new Set(shown.map(({ opt_in_status }) => opt_in_status))).toEqual(new Set(['OPTED_IN']))
    })

    it('are changed by one request at a time, even if each takes several transactions', async () => {
      const { email } = await makeUsers(MORE_THAN_A_PAGE)
      const queue = new KeyedQueue()
      const order: string[] = []
      const change = (opt_in_status: string) => {
        const write: Database['write'] = (work) => {
          order.push(opt_in_status)
          return database.write(work)
        }
        const body = { user_preferences: { email_id: email, opt_in_status } }
        const request = toRequest(body)
        return updatePreferences.handle(
          request as never,
          { database: { ...database, write }, queue } as unknown as Parts,
        )
      }
      await Promise.all([change('OPTED_IN'), change('OPTED_OUT')])
      const portions = kind === 'sqlite' ? 2 : 1
      const [first, last] = [order[0] as string, order.at(-1) as string]
      expect(new Set([first, last])).toEqual(new Set(['OPTED_IN', 'OPTED_OUT']))
      expect(order).toEqual([first, last].flatMap((status) => Array.from({ length: portions }, () => status)))
    })

    it.each([1, MORE_THAN_A_PAGE])(
      'are not found if all %i with an email get another one before the change',
      async (count) => {
        const { email, ids } = await makeUsers(count)
        const move = () => database.write((store) => addUsers(store, ids, `${email}.another`))
        const body = { user_preferences: { email_id: email, opt_in_status: 'OPTED_OUT' } }
        const request = toRequest(body)
        const parts = {
          database: meddled(database, 'users', move),
          queue: new KeyedQueue(),
          appliedEntries: new AppliedEntries({ database, logReader }),
        }
        const updated = updatePreferences.handle(request as never, parts as unknown as Parts)
        await expect(updated).rejects.toMatchObject({ code: 'not_found' })
      },
    )

    it('are shown opted out if the user with a customer id is merged during the read', async () => {
      const { youngest, unite } = await makeUsers(2)
      expect(await readDuring(unite, { customer_id: youngest })).toMatchObject([{ opt_in_status: 'OPTED_OUT' }])
    })

    it.each([2, MORE_THAN_A_PAGE])(
      'are shown opted out if one of %i with an email is merged during the read',
      async (count) => {
        const { email, customerIds, unite } = await makeUsers(count)
        const shown = await readDuring(unite, { email_id: email })
        expect(shown.map(({ customer_id }) => customer_id)).toEqual(customerIds)
        expect(shown.at(-1)?.opt_in_status).toBe('OPTED_OUT')
      },
    )
  },
)

async function addUsers(store: Store, ids: readonly number[], emailKey: string): Promise<void> {
  const workspaceId = WORKSPACE.id
  await saveUsers(
    store,
    ids.map((id) => ({ id, workspaceId, customerId: `c${id}`, attributes: {}, emailKey, createdAt: 1 })),
  )
  await saveIdentities(
    store,
    ids.map((id) => ({
      workspaceId,
      name: CUSTOMER_ID,
      value: `c${id}`,
      userId: id,
      seenAt: 1,
      number: null,
      seenNumber: null,
      isSingleAlias: false,
    })),
  )
}

async function optOut(store: Store, userId: number): Promise<void> {
  const { current, change } = recordPreferenceChange(nothingSetFor(userId), OPTED_OUT, { by: 'key:data', ip: null })
  await savePreferences(store, [current], [change])
}
