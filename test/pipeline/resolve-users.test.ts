// Checks "Identity resolution" on every store: which users are the same person, what the merged user has, and that the
// outcome does not depend on how the log is cut into batches.
import * as fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DEFAULT_SETTINGS, type WorkspaceSettings } from '../../src/core/workspace.ts'
import type { LogEntry } from '../../src/log/event-log.ts'
import { applyBatch } from '../../src/pipeline/apply-batch.ts'
import { toBatch } from '../../src/pipeline/batch.ts'
import { findCursor, PIPELINE_CURSOR, pipelineCursor } from '../../src/store/entries/cursors.ts'
import type { Database } from '../../src/store/store.ts'
import { listNewestIdentifiers } from '../../src/store/users/user-identities.ts'
import { findUsersWithAliases, findUser, listUserIds, type User } from '../../src/store/users/users.ts'
import { listEventsOf } from '../../src/store/users/events.ts'
import { makeStore, openTestDatabase, describeEachStore, type StoreKind, type TestLocation } from '../support/stores.ts'
import { modelUsers, type ModelEntry, type ModelUser } from './user-model.ts'

const SETTINGS: WorkspaceSettings = {
  ...DEFAULT_SETTINGS,
  name: 'test',
  identityResolution: ['mobile', 'card'],
  joinedCustomerIdsMax: 1_000,
}
const RUNS: Readonly<Record<StoreKind, number>> = { sqlite: 250, postgres: 100 }

type Ids = Readonly<Record<string, string>>

describeEachStore('Identity resolution', (kind) => {
  let location: TestLocation
  let database: Database
  let made = 0
  let workspaceId: string
  /** The users of the last batch whose facts are all under one customer id, as far as no query is needed to tell. */
  let singleAliasUsers: ReadonlyMap<number, number>
  /** The most customer ids that a request may join. */
  let customerIdsMax: number
  /** The identifiers that the last entries did not follow, by position. */
  let notFollowed: Map<number, string[]>

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })
  beforeEach(() => {
    workspaceId = `w${++made}`
    customerIdsMax = SETTINGS.joinedCustomerIdsMax
  })

  const track = (ids: Ids, receivedAt = 1): ModelEntry => {
    return { kind: 'track_events', workspaceId, receivedAt, ids, attributes: {} }
  }
  const report = (ids: Ids, attributes: Record<string, unknown>, receivedAt = 1): ModelEntry => {
    return { kind: 'track_user', workspaceId, receivedAt, ids, attributes }
  }

  /** Applies entries in batches of these sizes; the last takes the rest. Returns the position of the first entry. */
  async function apply(entries: readonly ModelEntry[], sizes: readonly number[] = []): Promise<number> {
    const start = (await findCursor(database, PIPELINE_CURSOR)) + 1
    const log = entries.map((entry, index) => toLogEntry(entry, start + index))
    const own = { ...SETTINGS, joinedCustomerIdsMax: customerIdsMax }
    const settings = new Map(entries.map((entry) => [entry.workspaceId, own]))
    notFollowed = new Map()
    for (const size of [...sizes, log.length]) {
      const part = log.splice(0, Math.max(1, size))
      if (part.length === 0) break
      const batch = toBatch(part, settings, { now: 0 })
      expect(batch.unreadable).toEqual([])
      const { users } = await applyBatch(database, batch, { from: [(part[0] as LogEntry).position - 1] })
      singleAliasUsers = users.singleAliasUsers
      for (const [{ number }, identities] of users.notFollowed)
        notFollowed.set(
          number / 16_384,
          identities.map(({ name }) => name),
        )
      const claimed = [...singleAliasUsers].map(([userId, customer]) => ({
        userId,
        customers: [customer],
        userIds: [userId],
      }))
      expect(claimed).toEqual([...(await findUsersWithAliases(database, [...singleAliasUsers.keys()])).values()])
    }
    return start
  }

  /** Applies entries out of log order: each in its own partition, at positions after all others. */
  async function applyApart(entries: readonly ModelEntry[], order: readonly number[]): Promise<void> {
    const log = entries.map((entry, index) => {
      return { ...toLogEntry(entry, 1_000_000 + entries.length * made + index), partition: 1 + index }
    })
    for (const entry of order.map((index) => log[index] as (typeof log)[number])) {
      const from: number[] = []
      from[entry.partition] = await findCursor(database, pipelineCursor(entry.partition))
      await applyBatch(database, toBatch([entry], new Map([[workspaceId, SETTINGS]]), { now: 0 }), { from })
    }
  }

  const find = (name: string, value: string): Promise<User | undefined> => {
    return findUser(database, workspaceId, { name, value })
  }

  /** Every way to cut three entries into batches. */
  const cuts: [what: string, sizes: number[]][] = [
    ['in one batch', []],
    ['one by one', [1, 1]],
    ['the first alone', [1]],
    ['the last alone', [2]],
  ]

  it.each(cuts)('finds the same user by any of its ids, %s', async (_cut, sizes) => {
    await apply(
      [track({ customer_id: 'a', mobile: '1' }), track({ mobile: '1', card: 'x' }), track({ card: 'x' })],
      sizes,
    )
    const users = await Promise.all([find('customer_id', 'a'), find('mobile', '1'), find('card', 'x')])
    expect(new Set(users.map((user) => user?.id)).size).toBe(1)
    expect(users[0]?.customerId).toBe('a')
  })

  it.each(cuts)('merges several users into the oldest, which every id finds, %s', async (_cut, sizes) => {
    const start = await apply(
      [track({ mobile: '1' }), track({ customer_id: 'b' }), track({ customer_id: 'b', mobile: '1', card: 'x' })],
      sizes,
    )
    const [user] = await storedUsers(database, [workspaceId])
    expect(user).toMatchObject({ customerId: 'b', entries: [start, start + 1, start + 2] })
    expect(user?.id).toBe((await find('mobile', '1'))?.id)
    expect(Object.keys(user?.identities ?? {}).toSorted()).toEqual(['card=x', 'customer_id=b', 'mobile=1'])
    expect(await storedUsers(database, [workspaceId])).toHaveLength(1)
  })

  it.each(cuts)('resolves chains of merges to the oldest user, %s', async (_cut, sizes) => {
    // B is merged into A, then A (with B) into the even older Z. Later entries of the same batch find Z by every id.
    await apply([track({ mobile: 'z' }), track({ mobile: 'a' }), track({ mobile: 'b' })])
    await apply(
      [track({ mobile: 'a', card: 'b1' }), track({ mobile: 'b', card: 'b1' }), track({ card: 'b1', mobile: 'z' })],
      sizes,
    )
    const users = await Promise.all([find('mobile', 'z'), find('mobile', 'a'), find('mobile', 'b'), find('card', 'b1')])
    expect(new Set(users.map((user) => user?.id)).size).toBe(1)
    const [user, ...others] = await storedUsers(database, [workspaceId])
    expect(others).toEqual([])
    expect(user?.entries).toHaveLength(6)
  })

  // A log with partitions returns the entries of different users in any order.
  it.each([[[0, 1, 2]], [[0, 2, 1]], [[1, 0, 2]], [[1, 2, 0]], [[2, 0, 1]], [[2, 1, 0]]])(
    'shows the first of several customer ids in the log, applied in the order %j',
    async (order) => {
      const ids: Ids[] = [
        { customer_id: 'first', card: 'x' },
        { customer_id: 'second' },
        { customer_id: 'second', card: 'x' },
      ]
      await applyApart(
        ids.map((named) => track(named)),
        order,
      )
      for (const value of ['first', 'second']) {
        expect(await find('customer_id', value)).toMatchObject({ customerId: 'first' })
      }
    },
  )

  it.each([[[0, 1, 2]], [[0, 2, 1]], [[1, 0, 2]], [[1, 2, 0]], [[2, 0, 1]], [[2, 1, 0]]])(
    'shows the last of several identifiers in the log, applied in the order %j',
    async (order) => {
      const cards = ['seen again', 'another', 'seen again']
      await applyApart(
        cards.map((card) => track({ customer_id: 'a', card })),
        order,
      )
      const user = await find('customer_id', 'a')
      const shown = await listNewestIdentifiers(database, user?.id as number)
      expect(shown).toEqual([{ name: 'card', value: 'seen again' }])
    },
  )

  it('merges a chain of hundreds of users within one batch, one of them with very large attributes', async () => {
    const others = Array.from({ length: 400 }, (_, index) => ({ customer_id: `c${index}` }))
    const much = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`attribute ${index}`, index]))
    await apply(others.map((ids) => track(ids)))
    await apply([report({ customer_id: 'much', mobile: '1' }, much)])
    await apply(others.toReversed().map((ids) => track({ ...ids, mobile: '1' })))
    const user = await find('customer_id', 'much')
    expect(user).toMatchObject({ customerId: 'c0' })
    expect(Object.keys(user?.attributes ?? {})).toHaveLength(40_000)
  })

  it('merges four users by a single request', async () => {
    await apply([
      track({ customer_id: 'a' }),
      track({ mobile: '1' }),
      track({ card: 'x' }),
      track({ customer_id: 'b' }),
    ])
    await apply([track({ customer_id: 'b', mobile: '1', card: 'x' }), track({ customer_id: 'a', mobile: '1' })])
    const [user, ...others] = await storedUsers(database, [workspaceId])
    expect(others).toEqual([])
    expect(user).toMatchObject({ customerId: 'a' })
    expect((await find('customer_id', 'b'))?.id).toBe(user?.id)
  })

  it.each(cuts)(
    'keeps the value of each attribute that was received last, from either user, %s',
    async (_cut, sizes) => {
      const start = await apply([report({ customer_id: 'a' }, { plan: 'old', city: 'Bonn', only: 1 }, 5)])
      await apply(
        [
          report({ mobile: '1' }, { plan: 'new', city: 'Ulm' }, 7),
          report({ customer_id: 'a' }, { city: 'Köln' }, 9),
          // Its clock was set back.
          report({ customer_id: 'a', mobile: '1' }, { late: true, only: null }, 4),
        ],
        sizes,
      )
      const user = await find('mobile', '1')
      expect(user?.attributes).toEqual({
        plan: ['new', 7, start + 1],
        city: ['Köln', 9, start + 2],
        only: [null, 4, start + 3],
        late: [true, 4, start + 3],
      })
    },
  )

  it.each(cuts)(
    'of several values received in one millisecond keeps the last in the log, from either user, %s',
    async (_cut, sizes) => {
      await apply(
        [
          report({ customer_id: 'a' }, { plan: 'premium', city: 'Ulm' }),
          report({ mobile: '1' }, { plan: 'basic' }),
          report({ customer_id: 'a', mobile: '1' }, { city: 'Bonn' }),
        ],
        sizes,
      )
      expect(valuesOf(await find('mobile', '1'))).toEqual({ plan: 'basic', city: 'Bonn' })
    },
  )

  it.each(cuts)(
    'shows the last of several identifiers in the log, regardless of their times, %s',
    async (_cut, sizes) => {
      const reports = ['z', 'y', 'x'].map((card) => report({ customer_id: 'a', card }, {}, 5))
      await apply(reports, sizes)
      const user = await find('customer_id', 'a')
      const shown = async () => listNewestIdentifiers(database, user?.id as number)
      expect(await shown()).toEqual([{ name: 'card', value: 'x' }])
      await apply([report({ customer_id: 'a', card: 'y' }, {}, 5)])
      expect(await shown()).toEqual([{ name: 'card', value: 'y' }])
      await apply([report({ customer_id: 'a', card: 'z' }, {}, 4)])
      expect(await shown()).toEqual([{ name: 'card', value: 'z' }])
      // A user with so many ids that they are read from the table.
      const crowd = Array.from({ length: 100 }, (_, index) =>
        report({ customer_id: `crowd-${index}`, card: 'y' }, {}, 6),
      )
      await apply([...crowd, report({ customer_id: 'a', card: 'x' }, {}, 3)])
      expect(await shown()).toEqual([{ name: 'card', value: 'x' }])
    },
  )

  const emails: [what: string, older: unknown, younger: unknown, key: string | null][] = [
    ['the older user', 'Older@example.com', undefined, 'older@example.com'],
    ['the younger user', undefined, 'Younger@example.com', 'younger@example.com'],
    ['the younger user, if both have one', 'older@example.com', 'younger@example.com', 'younger@example.com'],
    ['neither user, if the younger has cleared it', 'older@example.com', null, null],
  ]
  it.each(emails)('finds a merged user by the address of %s', async (_who, older, younger, key) => {
    const attributes = (email: unknown) => (email === undefined ? {} : { email })
    await apply([report({ customer_id: 'a' }, attributes(older), 1), report({ mobile: '1' }, attributes(younger), 2)])
    await apply([track({ customer_id: 'a', mobile: '1' })])
    expect((await find('customer_id', 'a'))?.emailKey).toBe(key)
  })

  it.each(cuts)('gives a user with identifiers only the first customer_id that it gets, %s', async (_cut, sizes) => {
    await apply(
      [track({ mobile: '1' }), track({ mobile: '1', customer_id: 'a' }), track({ mobile: '1', customer_id: 'b' })],
      sizes,
    )
    expect(await find('customer_id', 'b')).toMatchObject({ customerId: 'a' })
    expect(await storedUsers(database, [workspaceId])).toHaveLength(1)
  })

  it('lists the events of merged users together, newest first', async () => {
    await apply([track({ customer_id: 'a' }, 1), track({ mobile: '1' }, 2), track({ customer_id: 'a' }, 3)])
    await apply([track({ customer_id: 'a', mobile: '1' }, 4)])
    const user = await find('mobile', '1')
    const ids = await listUserIds(database, user?.id ?? 0)
    const events = await listEventsOf(database, ids, { before: undefined, max: 10 })
    expect(events.map(({ receivedAt }) => receivedAt)).toEqual([4, 3, 2, 1])
  })

  it('clears the data of users that were merged into another', async () => {
    await apply([
      report({ customer_id: 'a' }, {}),
      report({ customer_id: 'b', mobile: '1' }, { email: 'a@example.com' }),
    ])
    await apply([track({ customer_id: 'a', mobile: '1' })])
    const merged = await database.query
      .selectFrom('users')
      .select(['customer_id', 'attributes', 'email_key'])
      .where('workspace_id', '=', workspaceId)
      .where('merged_into', 'is not', null)
      .execute()
    expect(merged).toEqual([{ customer_id: null, attributes: '{}', email_key: null }])
  })

  describe('with at most two joined customer ids', () => {
    beforeEach(() => void (customerIdsMax = 2))

    const everybody = (count: number) => {
      return Array.from({ length: count }, (_, index) => track({ customer_id: `c${index}`, mobile: 'everybody' }))
    }
    /** Which customer ids have the same user. */
    const together = async () => {
      const users = await storedUsers(database, [workspaceId])
      const idsOf = (user: ModelUser) => Object.keys(user.identities).filter((identity) => identity.startsWith('cust'))
      return users.map((user) => idsOf(user).map((identity) => identity.slice('customer_id='.length)))
    }

    it.each(cuts)('follows no identifier that would join a third one, %s', async (_cut, sizes) => {
      const start = await apply(everybody(5), sizes)
      expect(await together()).toEqual([['c0', 'c1'], ['c2'], ['c3'], ['c4']])
      expect([...notFollowed]).toEqual([2, 3, 4].map((index) => [start + index, ['mobile']]))
    })

    it.each(cuts)('merges no two users who have three of them together, %s', async (_cut, sizes) => {
      await apply([...everybody(2), track({ customer_id: 'other' })])
      await apply(
        [track({ customer_id: 'other', mobile: 'everybody' }), track({ customer_id: 'c0' }), track({ card: 'x' })],
        sizes,
      )
      expect(await together()).toEqual([['c0', 'c1'], ['other'], []])
    })

    it('still finds the user of the identifier by the identifier alone, and by its own customer ids', async () => {
      const start = await apply(everybody(3))
      await apply([track({ mobile: 'everybody' }), track({ customer_id: 'c1', mobile: 'everybody' })])
      expect(notFollowed.size).toBe(0)
      const [user] = await storedUsers(database, [workspaceId])
      expect(user?.entries).toEqual([start, start + 1, start + 3, start + 4])
    })

    it('leaves out the identifier that leads to the most customer ids, and follows the others', async () => {
      await apply([...everybody(2), track({ customer_id: 'anna', card: 'x' })])
      const start = await apply([track({ mobile: 'everybody', card: 'x' })])
      expect([...notFollowed]).toEqual([[start, ['mobile']]])
      expect((await find('card', 'x'))?.customerId).toBe('anna')
      const users = await storedUsers(database, [workspaceId])
      expect(users.find(({ customerId }) => customerId === 'anna')?.entries).toEqual([start - 1, start])
    })

    it('joins identifiers without customer ids as before', async () => {
      await apply([...everybody(2), track({ card: 'x' })])
      await apply([track({ card: 'x', mobile: 'everybody' })])
      expect(await together()).toEqual([['c0', 'c1']])
    })
  })

  it('keeps users with the same ids in different workspaces apart', async () => {
    const other = { ...track({ customer_id: 'a', mobile: '1' }), workspaceId: `${workspaceId}-other` }
    await apply([track({ customer_id: 'a' }), other, track({ mobile: '1' })])
    expect(await storedUsers(database, [workspaceId])).toHaveLength(2)
    expect(await storedUsers(database, [other.workspaceId])).toHaveLength(1)
  })

  it('distinguishes names and values that are equal when joined', async () => {
    await apply([track({ mobile: 'a\ncard\nb' }), track({ card: 'b' }), track({ mobile: 'a' })])
    expect(await storedUsers(database, [workspaceId])).toHaveLength(3)
  })

  const company: [what: string, ids: Ids][] = [
    ['another customer id', { customer_id: 'b', mobile: '1' }],
    ['a user with a customer id merged into it', { customer_id: 'later', mobile: '1' }],
    ['a user without one merged into it', { card: 'later', mobile: '1' }],
  ]
  it.each(company)('looks up no user with one customer id, until it has %s', async (_, ids) => {
    await apply([track({ customer_id: 'a', mobile: '1' })])
    expect(singleAliasUsers.size).toBe(1)
    await apply([track({ customer_id: 'a' })])
    expect(singleAliasUsers.size).toBe(1)
    await apply([track({ customer_id: 'later' }), track({ card: 'later' })])
    await apply([track(ids)])
    expect(singleAliasUsers.size).toBe(0)
    await apply([track({ customer_id: 'a' })])
    expect(singleAliasUsers.size).toBe(0)
  })

  it('produces the users of the naive model for any log, however it is cut into batches', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEntry(), { maxLength: 24, size: 'max' }),
        fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 12, size: 'max' }),
        fc.constantFrom(1, 2, 3, 1_000),
        async (drawn, sizes, max) => {
          customerIdsMax = max
          const run = `run${++made}`
          const entries = drawn.map((entry) => ({ ...entry, workspaceId: `${run}-${entry.workspaceId}` }))
          const start = await apply(entries, sizes)
          const stored = await storedUsers(database, [`${run}-1`, `${run}-2`])
          expect(stored).toEqual(modelUsers(entries, start, max))
        },
      ),
      { numRuns: RUNS[kind] },
    )
  }, 120_000)
})

function valuesOf(user: User | undefined): object {
  return Object.fromEntries(Object.entries(user?.attributes ?? {}).map(([name, [value]]) => [name, value]))
}

function anyEntry(): fc.Arbitrary<ModelEntry> {
  // Mostly one id, so that there are several users for other entries to merge.
  const id = fc.oneof(
    fc.record({ customer_id: fc.constantFrom('a', 'b', 'c', 'd', 'e') }),
    fc.record({ mobile: fc.constantFrom('1', '2', '3', '4', '5') }),
    fc.record({ card: fc.constantFrom('v', 'w', 'x', 'y', 'z') }),
  )
  const more = fc.tuple(id, id, id).map(([first, second, third]): Ids => ({ ...first, ...second, ...third }))
  const ids = fc.oneof({ weight: 2, arbitrary: id }, { weight: 1, arbitrary: more })
  const attributes = fc.record(
    {
      plan: fc.constantFrom('free', 'paid', 7, null),
      email: fc.constantFrom('One@example.com', 'two@example.com', null),
      city: fc.constantFrom('Bonn', 'Ulm'),
    },
    { requiredKeys: [] },
  )
  return fc.record({
    kind: fc.constantFrom('track_events', 'track_user'),
    // Two workspaces in one log; the second is rare.
    workspaceId: fc.constantFrom('1', '1', '1', '2'),
    // Times in any order, often equal: a clock may be set back.
    receivedAt: fc.integer({ min: 1, max: 4 }),
    ids,
    attributes,
  })
}

function toLogEntry({ kind, workspaceId, receivedAt, ids, attributes }: ModelEntry, position: number): LogEntry {
  const { customer_id, ...user_identifiers } = ids
  const content =
    kind === 'track_events' ? { type: 'event', actions: [{ action: 'A' }] } : { type: 'customer', attributes }
  const body = Buffer.from(JSON.stringify({ customer_id, user_identifiers, ...content }))
  return { position, kind, workspaceId, requestId: `request-${position}`, receivedAt, context: {}, body }
}

/** All users of the workspaces that are not merged into another, oldest first, as stored. */
async function storedUsers({ query }: Database, workspaceIds: readonly string[]): Promise<ModelUser[]> {
  const users = await query
    .selectFrom('users')
    .selectAll()
    .where('workspace_id', 'in', workspaceIds)
    .orderBy('id')
    .execute()
  const identities = await query
    .selectFrom('user_identities')
    .selectAll()
    .where('workspace_id', 'in', workspaceIds)
    .execute()
  const events = await query
    .selectFrom('events')
    .select(['id', 'user_id'])
    .where('workspace_id', 'in', workspaceIds)
    .execute()
  const survivorOf = new Map(users.map(({ id, merged_into }) => [id, merged_into ?? id]))
  return users
    .filter(({ merged_into }) => merged_into === null)
    .map((user) => ({
      id: user.id,
      workspaceId: user.workspace_id,
      customerId: user.customer_id,
      createdAt: user.created_at,
      emailKey: user.email_key,
      attributes: JSON.parse(user.attributes) as ModelUser['attributes'],
      identities: Object.fromEntries(
        identities
          .filter(({ user_id }) => user_id === user.id)
          .map(({ name, value, seen_at }) => [`${name}=${value}`, seen_at]),
      ),
      entries: events
        .filter(({ user_id }) => survivorOf.get(user_id) === user.id)
        .map(({ id }) => id / 16_384)
        .toSorted((left, right) => left - right),
    }))
}
