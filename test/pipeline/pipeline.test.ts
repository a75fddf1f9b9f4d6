// Checks the pipeline on every store: a batch is applied as a whole or not at all, each entry takes effect once, and an
// entry that cannot be applied does not delay others.
import { sql, type RawBuilder } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { EVENTS_PER_ENTRY_MAX } from '../../src/core/event.ts'
import { CUSTOMER_ID, USER_ATTRIBUTES_LENGTH_MAX } from '../../src/core/users/user.ts'
import { DEFAULT_SETTINGS } from '../../src/core/workspace.ts'
import { applyBatch, CursorMoved, readBatch, SettingsChanged } from '../../src/pipeline/apply-batch.ts'
import { addEvents, listEventsOf, type StoredEvent } from '../../src/store/users/events.ts'
import { listParkedEntries } from '../../src/store/entries/parked-entries.ts'
import { StoreError, type Database } from '../../src/store/store.ts'
import { hasUsers } from '../../src/store/users/user-counts.ts'
import { findUser, listUserIds } from '../../src/store/users/users.ts'
import { saveSettings } from '../../src/store/workspaces/workspaces.ts'
import { NOW, openPipelineBench, type PipelineBench, type TestEntry } from '../support/pipeline-bench.ts'
import { until } from '../support/server.ts'
import { describeEachStore } from '../support/stores.ts'

describeEachStore('The pipeline', (kind) => {
  let bench: PipelineBench

  /** The end of the log before the test. */
  let start: number

  beforeAll(async () => void (bench = await openPipelineBench(kind)))
  afterAll(() => bench.close())
  beforeEach(async () => {
    await bench.makeWorkspace()
    start = await bench.cursor()
  })

  const events = (customer_id: string, ...actions: object[]) => ({ body: { type: 'event', customer_id, actions } })
  const numbered = (count: number) => Array.from({ length: count }, (_, index) => events('c1', { action: `e${index}` }))

  async function actionsOf(customerId: string): Promise<string[]> {
    const user = await findUser(bench.database, bench.workspaceId, { name: CUSTOMER_ID, value: customerId })
    if (!user) return []
    const page = { before: undefined, max: 10_000 }
    const found = await listEventsOf(bench.database, await listUserIds(bench.database, user.id), page)
    return found.map(({ action }) => action).toReversed()
  }

  /** Stores an event under the numbers of the entry at `position`, so that the entry cannot be applied. */
  async function replaceEntry(position: number): Promise<void> {
    const event: StoredEvent = {
      id: position * EVENTS_PER_ENTRY_MAX,
      givenId: null,
      action: 'in the way',
      attributes: '{}',
      platform: null,
      appVersion: null,
      time: NOW,
      workspaceId: 'other',
      userId: 1,
      deviceId: null,
      ip: null,
      projectCode: null,
      receivedAt: NOW,
    }
    await bench.database.write((store) => addEvents(store, [event]))
  }

  it('applies all entries of the log in order and moves the cursor past them', async () => {
    const ids = await bench.append(...numbered(20), { kind: 'track_user', body: { customer_id: 'c2' } })
    const { batches, failures } = await bench.follow()
    expect(failures).toEqual([])
    expect(batches.reduce((sum, { entries }) => sum + entries, 0)).toBe(21)
    expect(batches.reduce((sum, { events }) => sum + events, 0)).toBe(20)
    expect(await bench.cursor()).toBe(await bench.logReader.lastPosition())
    expect(await actionsOf('c1')).toEqual(Array.from({ length: 20 }, (_, index) => `e${index}`))
    expect(await bench.receipt(ids[0])).toMatchObject({ status: 'processed', events: 1, duplicates: 0, error: null })
    expect(await bench.receipt(ids[20])).toMatchObject({ status: 'processed', events: 0, duplicates: 0, error: null })
  })

  it('rolls back the whole batch when a step fails', async () => {
    const ids = await bench.append(events('c1', { action: 'A' }), events('c2', { action: 'B' }))
    const entries = await bench.readNew()
    await replaceEntry(entries[1]?.position as number)
    const batch = await readBatch(bench.database, entries, { now: NOW })
    await expect(applyBatch(bench.database, batch, { from: [start] })).rejects.toThrow(StoreError)
    expect(await hasUsers(bench.database, bench.workspaceId)).toBe(false)
    expect(await bench.receipt(ids[0])).toBeUndefined()
    expect(await bench.cursor()).toBe(start)
    await bench.follow()
  })

  it('gives entries one effect when they are applied twice', async () => {
    await bench.append(events('c1', { action: 'A' }), { kind: 'track_user', body: { customer_id: 'c2' } })
    const batch = await readBatch(bench.database, await bench.readNew(), { now: NOW })
    await applyBatch(bench.database, batch, { from: [start] })
    await expect(applyBatch(bench.database, batch, { from: [start] })).rejects.toThrow(CursorMoved)
    expect(await actionsOf('c1')).toEqual(['A'])
    expect(await bench.cursor()).toBe(batch.lastPositions.get(0))
  })

  it('refuses a batch that was read with earlier settings', async () => {
    await bench.append({ kind: 'track_user', body: { customer_id: 'c1', attributes: { email: 'ada@example.com' } } })
    const batch = await readBatch(bench.database, await bench.readNew(), { now: NOW })
    const settings = { ...DEFAULT_SETTINGS, name: 'tokens', emailProtection: 'tokenized' as const }
    await bench.database.write((store) => saveSettings(store, bench.workspaceId, settings))
    await expect(applyBatch(bench.database, batch, { from: [start] })).rejects.toThrow(SettingsChanged)
    expect(await bench.cursor()).toBe(start)
    expect((await bench.follow()).failures).toEqual([])
    const user = await findUser(bench.database, bench.workspaceId, { name: CUSTOMER_ID, value: 'c1' })
    expect(user).toMatchObject({ attributes: {}, emailKey: null })
  })

  it('applies each entry once when several followers share a log', async () => {
    for (let round = 0; round < 10; round++) await bench.append(...numbered(30))
    const { failures } = await bench.follow(3)
    expect(failures).toEqual([])
    expect(await actionsOf('c1')).toHaveLength(300)
    expect(await listParkedEntries(bench.database, start, 1)).toEqual([])
  })

  it('parks an entry that cannot be applied with its reason and continues with the rest', async () => {
    const ids = await bench.append(...numbered(9))
    const taken = (await bench.readNew())[4]?.position as number
    await replaceEntry(taken)
    const { failures } = await bench.follow()
    expect(failures).toEqual([`entry ${taken} cannot be applied and was parked`])
    expect(await actionsOf('c1')).toEqual(['e0', 'e1', 'e2', 'e3', 'e5', 'e6', 'e7', 'e8'])
    const [parked, ...others] = await listParkedEntries(bench.database, start, 10)
    expect(others).toEqual([])
    expect(parked).toMatchObject({
      position: taken,
      workspaceId: bench.workspaceId,
      kind: 'track_events',
      parkedAt: NOW,
    })
    expect(parked?.error).toMatch(/unique/i)
    expect(JSON.parse(parked?.body ?? '')).toEqual(numbered(9)[4]?.body)
    const receipt = await bench.receipt(ids[4])
    expect(receipt).toMatchObject({ status: 'parked', events: 1, duplicates: 0, error: parked?.error })
    expect(await bench.receipt(ids[5])).toMatchObject({ status: 'processed', events: 1 })
  })

  const broken: [what: string, body: unknown, reason: RegExp, events: number][] = [
    ['no JSON', '{"type":"event"', /^the body is not JSON$/, 0],
    ['no bytes', '', /^the body is not JSON$/, 0],
    ['NUL characters', '\u0000\u0000', /^the body is not JSON$/, 0],
    ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe, 0xc0]), /^the body is not JSON$/, 0],
    ['a list', '[1]', /^the body is not an object$/, 0],
    ['null', 'null', /^the body is not an object$/, 0],
    ['no user', { actions: [{ action: 'A' }] }, /does not identify a user by a configured identifier/, 1],
    ['no actions', { customer_id: 'c1' }, /./, 0],
    ['an action without name', { customer_id: 'c1', actions: [{ action: 'A' }, {}] }, /./, 2],
    ['actions that are no objects', { customer_id: 'c1', actions: [null, 1, 2] }, /./, 3],
  ]
  it.each(broken)(
    'parks a body of %s, and applies the entries before and after it',
    async (_what, body, reason, count) => {
      const [, id] = await bench.append(events('c1', { action: 'A' }), { body }, events('c1', { action: 'B' }))
      await bench.follow()
      expect(await actionsOf('c1')).toEqual(['A', 'B'])
      const [parked] = await listParkedEntries(bench.database, start, 10)
      expect(parked?.error).toMatch(reason)
      expect(await bench.receipt(id)).toMatchObject({ status: 'parked', events: count, error: parked?.error })
    },
  )

  it('parks an entry of a workspace that does not exist', async () => {
    const [id] = await bench.append({ ...events('c1', { action: 'A' }), workspaceId: 'gone' })
    await bench.follow()
    expect(await bench.receipt(id, 'gone')).toMatchObject({
      status: 'parked',
      events: 1,
      error: 'the workspace gone does not exist',
    })
  })

  it('reports unreadable entries once per batch', async () => {
    const gone = { ...events('c1', { action: 'A' }), workspaceId: 'gone' }
    await bench.append(gone, events('c1', { action: 'B' }), gone, { body: '[]' })
    const [first] = await bench.readNew()
    const { failures } = await bench.follow()
    expect(failures).toEqual([`entry ${first?.position} cannot be applied and was parked, as were 2 entries after it`])
    expect(await actionsOf('c1')).toEqual(['B'])
  })

  it('finds every broken entry of many by splitting', async () => {
    await bench.append(...numbered(64))
    const entries = await bench.readNew()
    const bad = [0, 17, 18, 63]
    for (const index of bad) await replaceEntry(entries[index]?.position as number)
    await bench.follow()
    expect(await actionsOf('c1')).toHaveLength(60)
    const parked = await listParkedEntries(bench.database, start, 100)
    expect(parked.map(({ position }) => position)).toEqual(bad.map((index) => entries[index]?.position))
  })

  it('waits and parks nothing while the machine refuses writes, as on a full disk', async () => {
    const { database, followed, stop } = bench.startFollower()
    try {
      const repair = await fillDisk(database)
      const [id] = await bench.append(events('c1', { action: 'A', attributes: { text: 'x'.repeat(100_000) } }))
      const failed = () => followed.failures.length >= 2
      await until('applying has failed twice', failed)
      expect(await bench.cursor()).toBe(start)
      await repair()
      const receipt = await until('the entry is applied', () => bench.receipt(id))
      expect(receipt).toMatchObject({ status: 'processed', events: 1 })
      expect(new Set(followed.failures)).toEqual(new Set(['cannot apply the log; retrying']))
      expect(await listParkedEntries(bench.database, start, 1)).toEqual([])
    } finally {
      await stop()
    }
  })

  it('drops repeats of an event_id within a request, within a batch and across batches, and counts them', async () => {
    const once = { action: 'first', event_id: 'x' }
    const ids = await bench.append(
      events('c1', once, { action: 'other', event_id: 'y' }, { action: 'again', event_id: 'x' }),
      events('c2', { action: 'by another user', event_id: 'x' }, { action: 'new', event_id: 'z' }),
    )
    await bench.follow()
    ids.push(...(await bench.append(events('c1', once, once), events('c1', { action: 'plain' }))))
    await bench.follow()
    const receipts = await Promise.all(ids.map((id) => bench.receipt(id)))
    expect(receipts.map((receipt) => [receipt?.events, receipt?.duplicates])).toEqual([
      [3, 1],
      [2, 1],
      [2, 2],
      [1, 0],
    ])
    expect(await actionsOf('c1')).toEqual(['first', 'other', 'plain'])
    expect(await actionsOf('c2')).toEqual(['new'])
  })

  it('accepts the same event_id in two workspaces', async () => {
    const entry = events('c1', { action: 'A', event_id: 'x' })
    const [first] = await bench.append(entry)
    const workspaceId = bench.workspaceId
    await bench.makeWorkspace()
    const [second] = await bench.append(entry)
    await bench.follow()
    expect(await bench.receipt(first, workspaceId)).toMatchObject({ events: 1, duplicates: 0 })
    expect(await bench.receipt(second)).toMatchObject({ events: 1, duplicates: 0 })
  })

  it('drops attributes that exceed the limit of a user and says so in the receipt', async () => {
    const report = (...names: string[]) => {
      const filling = 'x'.repeat(USER_ATTRIBUTES_LENGTH_MAX / 3)
      const attributes = Object.fromEntries(names.map((name) => [name, filling]))
      return { kind: 'track_user' as const, body: { customer_id: 'c1', attributes } }
    }
    const ids = await bench.append(report('a'), report('b'), report('c'), report('d', 'a'))
    expect((await bench.follow()).failures).toEqual([])
    const user = await findUser(bench.database, bench.workspaceId, { name: CUSTOMER_ID, value: 'c1' })
    expect(Object.keys(user?.attributes ?? {})).toEqual(['a', 'b'])
    expect(await bench.receipt(ids[1])).toMatchObject({ status: 'processed', error: null })
    const error = expect.stringContaining('one attribute was not stored') as unknown
    expect(await bench.receipt(ids[2])).toMatchObject({ status: 'processed', error })
    expect(await bench.receipt(ids[3])).toMatchObject({ status: 'processed', error })
  })

  it('drops an address sent before emails were protected and says so in the receipt', async () => {
    await bench.makeWorkspace({ emailProtection: 'tokenized' })
    const filling = 'x'.repeat(USER_ATTRIBUTES_LENGTH_MAX)
    const report = (attributes: object) => ({
      kind: 'track_user' as const,
      body: { customer_id: 'c1', attributes: { email: 'anna@example.com', ...attributes } },
    })
    const [few, many] = await bench.append(report({ plan: 'free' }), report({ filling }))
    await bench.follow()
    const user = await findUser(bench.database, bench.workspaceId, { name: CUSTOMER_ID, value: 'c1' })
    expect(Object.keys(user?.attributes ?? {})).toEqual(['plan'])
    const dropped =
      'the email was not stored: the email protection of the workspace changed after the request was received'
    expect(await bench.receipt(few)).toMatchObject({ status: 'processed', error: dropped })
    const error = expect.stringMatching(`^one attribute was not stored: .*; ${dropped}$`) as unknown
    expect(await bench.receipt(many)).toMatchObject({ status: 'processed', error })
  })

  it('merges two users completely, up to a limit beyond which it parks the request', async () => {
    await bench.makeWorkspace({ identityResolution: ['crm'] })
    const filling = 'x'.repeat(USER_ATTRIBUTES_LENGTH_MAX - 100)
    const report = (names: object, attributes: object = {}) => ({
      kind: 'track_user' as const,
      body: { ...names, attributes },
    })
    const crm = (index: number) => ({ user_identifiers: { crm: `${index}` } })
    await bench.append(...Array.from({ length: 9 }, (_, index) => report(crm(index), { [`a${index}`]: filling })))
    const joins = Array.from({ length: 9 }, (_, index) => report({ customer_id: 'c1', ...crm(index) }))
    const ids = await bench.append(...joins)
    await bench.follow()
    const user = await findUser(bench.database, bench.workspaceId, { name: CUSTOMER_ID, value: 'c1' })
    expect(Object.keys(user?.attributes ?? {})).toHaveLength(8)
    expect(await bench.receipt(ids[7])).toMatchObject({ status: 'processed', error: null })
    const error = expect.stringContaining('the attributes of the merged user would exceed') as unknown
    expect(await bench.receipt(ids[8])).toMatchObject({ status: 'parked', error })
    // Another try would fail the same way and delay the entries behind it.
    const again = await bench.append(joins[8] as TestEntry)
    expect(await countWrites(bench)).toBe(2)
    expect(await bench.receipt(again[0])).toMatchObject({ status: 'parked', error })
  })

  it('reads only as many large users at once as fit into memory', async () => {
    const filling = 'x'.repeat(USER_ATTRIBUTES_LENGTH_MAX - 100)
    const names = Array.from({ length: 12 }, (_, index) => `large-${index}`)
    const report = (customer_id: string, attributes: object) => {
      return { kind: 'track_user' as const, body: { customer_id, attributes } }
    }
    await bench.append(...names.map((name) => report(name, { filling })))
    await bench.follow()
    await bench.append(...names.map((name) => report(name, { a: 1 })))
    const { batches, failures } = await bench.follow()
    expect(failures).toEqual([])
    expect(batches.map(({ entries }) => entries)).toEqual([6, 6])
  })
})

/** The number of transactions it takes to follow the log to its end. */
async function countWrites(bench: PipelineBench): Promise<number> {
  const end = await bench.logReader.lastPosition()
  const { database, stop } = bench.startFollower()
  const write = vi.spyOn(database, 'write')
  await until('the log is followed to its end', async () => (await bench.cursor()) >= end)
  await stop()
  return write.mock.calls.length
}

/** Makes all writes of this database fail as on a full disk, until the returned function is called. */
async function fillDisk(database: Database): Promise<() => Promise<void>> {
  const run = (...statements: RawBuilder<unknown>[]) => {
    return database.write(async ({ query }) => {
      for (const statement of statements) await statement.execute(query)
    })
  }
  if (database.kind === 'sqlite') {
    // Limits this connection only: the file may not grow beyond its size.
    await run(sql`pragma max_page_count = 1`)
    return () => run(sql`pragma max_page_count = 1073741823`)
  }
  await run(
    sql`create function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`,
    sql`create trigger refuse before insert on events execute function refuse()`,
  )
  return () => run(sql`drop trigger refuse on events`, sql`drop function refuse`)
}
