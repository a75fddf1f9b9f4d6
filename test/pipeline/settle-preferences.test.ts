// Checks that inherited opt-outs depend neither on how the log is cut into batches, nor on whether the opt-out or the batch that
// gives its address to a user commits first.
import * as fc from 'fast-check'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { WorkspaceSettings } from '../../src/core/workspace.ts'
import { KeyedQueue } from '../../src/concurrency/keyed-queue.ts'
import type { LogEntry } from '../../src/log/event-log.ts'
import { updatePreferences } from '../../src/operations/preferences/update-preferences.ts'
import type { Parts } from '../../src/operations/operation.ts'
import { applyBatch, beginBatch, readBatch } from '../../src/pipeline/apply-batch.ts'
import { applySteps } from '../../src/pipeline/pipeline.ts'
import { saveOptOut } from '../../src/store/users/address-opt-outs.ts'
import { openDatabase } from '../../src/store/open-database.ts'
import { findPreferenceOf, savePreferences } from '../../src/store/users/preferences.ts'
import { findUser, findUserId } from '../../src/store/users/users.ts'
import { openPipelineBench, NOW, type PipelineBench } from '../support/pipeline-bench.ts'
import { until } from '../support/server.ts'
import { describeEachStore, describeOnPostgres } from '../support/stores.ts'

const SETTINGS: Partial<WorkspaceSettings> = {
  identityResolution: ['crm'],
  joinedCustomerIdsMax: 1_000,
  categories: ['news', 'offers'],
}
const OUT = 'out@example.com'
const NO_NEWS = 'no-news@example.com'
const CUSTOMERS = ['a', 'b', 'c', 'd']
const RUNS = 30

let bench: PipelineBench

afterEach(() => bench.close())

/** A Track User body. */
interface UserBody {
  readonly customer_id: string
  readonly user_identifiers?: Readonly<Record<string, string>>
  readonly attributes: Readonly<Record<string, unknown>>
}

/** A chunk of an import. */
interface ImportBody {
  readonly rows: readonly UserBody[]
}

type Body = UserBody | ImportBody

const withAddress = (customer_id: string, email: string): UserBody => ({ customer_id, attributes: { email } })

const together = (customer_id: string): UserBody => ({ customer_id, user_identifiers: { crm: '1' }, attributes: {} })
/** Two users get the address, and only then turn out to be one person. */
const MERGED_AFTERWARDS = [withAddress('a', NO_NEWS), withAddress('c', NO_NEWS), together('c'), together('a')]

const append = (...bodies: readonly Body[]) => {
  return bench.append(
    ...bodies.map((body) => {
      if ('rows' in body) return { kind: 'svc_import' as const, body, context: { importId: 'import-1' } }
      return { kind: 'track_user' as const, body }
    }),
  )
}

const preferenceOf = async (value: string) => {
  const named = await findPreferenceOf(bench.database, bench.workspaceId, { name: 'customer_id', value })
  if (!named) return undefined
  const { status, categories } = named.preference
  const user = await findUser(bench.database, bench.workspaceId, { name: 'customer_id', value })
  return {
    customerId: named.customerId,
    status,
    categories,
    emailKey: user?.emailKey,
    email: user?.attributes['email']?.[0],
  }
}

describeEachStore('Inherited opt-outs', (kind) => {
  beforeEach(async () => void (bench = await openPipelineBench(kind)))

  /** Applies all new entries in batches of these sizes; the last takes the rest. */
  async function applyNew(sizes: readonly number[]): Promise<void> {
    const rest = await bench.readNew()
    for (const size of [...sizes, rest.length]) {
      const part = rest.splice(0, Math.max(1, size))
      const [first] = part
      if (!first) return
      const batch = await readBatch(bench.database, part, { now: NOW })
      await applyBatch(bench.database, batch, { from: [first.position - 1] })
    }
  }

  /** The preferences after a log cut in a certain way: two addresses are opted out, and two users have decided for themselves. */
  async function preferencesAfter(bodies: readonly Body[], sizes: readonly number[]) {
    const workspaceId = await bench.makeWorkspace(SETTINGS)
    await append(...['a', 'b'].map((customer_id) => ({ customer_id, attributes: {} })))
    await applyNew([])
    await bench.database.write(async (store) => {
      await saveOptOut(store, { workspaceId, emailKey: OUT }, { status: ['OPTED_OUT', 5], refusals: {} })
      await saveOptOut(store, { workspaceId, emailKey: NO_NEWS }, { status: null, refusals: { news: 5 } })
      const decided = [
        { of: 'a', status: null, categories: { offers: [true, 3] } },
        { of: 'b', status: ['OPTED_IN', 7], categories: {} },
      ] as const
      for (const { of, ...preference } of decided) {
        const userId = (await findUserId(store, workspaceId, { name: 'customer_id', value: of })) as number
        await savePreferences(store, [{ userId, preference: { ...preference, updatedAt: 7 }, lastChange: 1 }], [])
      }
    })
    await append(...bodies)
    await applyNew(sizes)
    return Promise.all(CUSTOMERS.map(preferenceOf))
  }

  it('are the same however the log is cut, also if users are merged meanwhile', async () => {
    const body: fc.Arbitrary<UserBody> = fc.record({
      customer_id: fc.constantFrom(...CUSTOMERS),
      user_identifiers: fc.constantFrom<Record<string, string>>({}, {}, { crm: '1' }, { crm: '2' }),
      attributes: fc.constantFrom<Record<string, unknown>>(
        {},
        { email: OUT },
        { email: NO_NEWS },
        { email: 'other@example.com' },
        { email: null },
      ),
    })
    const chunk = fc.record({ rows: fc.array(body, { minLength: 1, maxLength: 4, size: 'max' }) })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof<fc.Arbitrary<Body>[]>(body, body, chunk), { minLength: 1, maxLength: 8, size: 'max' }),
        fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 4, size: 'max' }),
        async (bodies, sizes) => {
          const oneByOne = await preferencesAfter(
            bodies,
            bodies.map(() => 1),
          )
          expect(await preferencesAfter(bodies, sizes)).toEqual(oneByOne)
        },
      ),
      { numRuns: RUNS, examples: [[MERGED_AFTERWARDS, []]] },
    )
  }, 120_000)

  it('come with an address that was new to the user at the entry, also if somebody merged with them later had it', async () => {
    for (const sizes of [[], [1, 1, 1]]) {
      const [a, , c] = await preferencesAfter(MERGED_AFTERWARDS, sizes)
      // The user c was in no category, so leaving the news opted it out; the user a is in the offers.
      expect(c).toMatchObject({ customerId: 'a', status: ['OPTED_OUT', 5] })
      expect(a).toEqual(c)
    }
  })

  it('are those of the user at the entry, and are merged like other decisions', async () => {
    for (const sizes of [[], [1, 1]]) {
      const [a, , , d] = await preferencesAfter([withAddress('d', NO_NEWS), together('d'), together('a')], sizes)
      // The user d was in no category, so leaving the news opted it out.
      expect(d).toMatchObject({ customerId: 'a', status: ['OPTED_OUT', 5] })
      expect(a).toEqual(d)
    }
  })
})

describeOnPostgres('An opt-out by address beside a batch that gives the address to a user', () => {
  beforeEach(async () => void (bench = await openPipelineBench('postgres')))

  const optOut = async (database: Parts['database']) => {
    const { rows } = await sql<{ id: string }>`select id from workspaces order by id desc limit 1`.execute(
      database.query,
    )
    const workspace = { id: rows[0]?.id, emailProtection: 'none', categories: [] }
    const request = { workspace, now: NOW, credential: { kind: 'key', tile: 'data' }, callerAddress: '127.0.0.1' }
    const body = { user_preferences: { email_id: OUT, opt_in_status: 'OPTED_OUT' } }
    await updatePreferences.handle(
      { ...request, body } as never,
      { database, queue: new KeyedQueue() } as unknown as Parts,
    )
  }

  it('waits for the batch, and reaches the user', async () => {
    await bench.makeWorkspace(SETTINGS)
    await append(withAddress('owner', OUT))
    await bench.follow()
    await append(withAddress('later', OUT))
    const entries = await bench.readNew()
    const own = openDatabase(bench.location)
    const [applied, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const applying = bench.database.write(async (store) => {
      const batch = await readBatch(store, entries, { now: NOW })
      await beginBatch(store, batch, [(entries[0] as LogEntry).position - 1])
      await applySteps(store, batch)
      applied.resolve()
      await release.promise
    })
    await applied.promise
    let isDone = false
    const changing = optOut(own).finally(() => void (isDone = true))
    const waiting = sql<{ count: number }>`
      select count(*)::int as count from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`
    await until('the opt-out waits or is done', async () => {
      return isDone || ((await waiting.execute(own.query)).rows[0]?.count ?? 0) > 0
    })
    release.resolve()
    await Promise.all([applying, changing])
    await own.close()
    expect(await preferenceOf('later')).toMatchObject({ status: ['OPTED_OUT', NOW] })
  })
})
