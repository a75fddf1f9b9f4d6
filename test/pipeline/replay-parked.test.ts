// Checks parked entries on every store: an operator replays or drops one, and the receipt of its request says so.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { CUSTOMER_ID } from '../../src/core/users/user.ts'
import { dropParked as drop } from '../../src/actions/parked-entries.ts'
import { replayParked } from '../../src/pipeline/replay-parked.ts'
import { listEventsOf } from '../../src/store/users/events.ts'
import {
  countParkedEntries,
  findParkedEntry,
  hasParkedEntries,
  listParkedEntries,
  listParkedSummaries,
  parkEntries,
} from '../../src/store/entries/parked-entries.ts'
import { hasUsers } from '../../src/store/users/user-counts.ts'
import { findUser, listUserIds } from '../../src/store/users/users.ts'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { entriesAddedBy } from '../support/audit/audit-entries.ts'
import { changedByTest } from '../support/audit/changed-by.ts'
import { NOW, openPipelineBench, type PipelineBench } from '../support/pipeline-bench.ts'
import { explain, expectIndexed } from '../support/query-plan.ts'
import { recordQueries } from '../support/record-queries.ts'
import { describeEachStore } from '../support/stores.ts'

describeEachStore('A parked entry', (kind) => {
  let bench: PipelineBench
  let made = 0

  beforeAll(async () => void (bench = await openPipelineBench(kind)))
  afterAll(() => bench.close())
  beforeEach(() => bench.makeWorkspace())

  const body = (customer_id: string, ...actions: object[]) => ({ type: 'event', customer_id, actions })

  const changeOf = (position: number, now = NOW) => ({ position, by: changedByTest('main', now) })
  const replay = (position: number, now?: number) => replayParked(bench.database, changeOf(position, now))
  const dropParked = (position: number) => bench.database.write((store) => drop(store, changeOf(position)))
  const unparked = (position: number) => ({ code: 'not_found', message: `No entry is parked at ${position}.` })

  /** An entry that was parked because its workspace was missing, and that can be applied now. */
  async function parkOne(...actions: object[]) {
    const workspaceId = `late-${++made}`
    const start = await bench.cursor()
    const [requestId = ''] = await bench.append({ body: body('c1', ...actions), workspaceId, receivedAt: NOW + 1 })
    await bench.follow()
    const position = (await listParkedEntries(bench.database, start, 1))[0]?.position as number
    await createWorkspace(bench.database, workspaceId, { name: 'late' }, NOW)
    return { workspaceId, requestId, position }
  }

  async function actionsOf(workspaceId: string): Promise<string[]> {
    const user = await findUser(bench.database, workspaceId, { name: CUSTOMER_ID, value: 'c1' })
    const page = { before: undefined, max: 100 }
    const found = user && (await listEventsOf(bench.database, await listUserIds(bench.database, user.id), page))
    return found?.map(({ action }) => action) ?? []
  }

  it('takes its original effect when it is replayed, and its receipt says so', async () => {
    const { workspaceId, requestId, position } = await parkOne(
      { action: 'A', event_id: 'x' },
      { action: 'B', event_id: 'x' },
    )
    expect(await bench.receipt(requestId, workspaceId)).toMatchObject({ status: 'parked', events: 2 })
    expect(await replay(position)).toEqual({ outcome: 'applied' })
    expect(await actionsOf(workspaceId)).toEqual(['A'])
    expect(await findParkedEntry(bench.database, position)).toBeUndefined()
    expect(await bench.receipt(requestId, workspaceId)).toEqual({
      requestId,
      workspaceId,
      status: 'processed',
      events: 2,
      duplicates: 1,
      notCounted: 0,
      error: null,
      receivedAt: NOW + 1,
    })
  })

  it('is applied once when several replays race', async () => {
    const { workspaceId, position } = await parkOne({ action: 'A' })
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => replay(position)))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
    expect(refused).toMatchObject(Array.from({ length: 4 }, () => unparked(position)))
    expect(await actionsOf(workspaceId)).toEqual(['A'])
  })

  it('is applied once when a replay and the pipeline race for the same user', async () => {
    const { workspaceId, position } = await parkOne({ action: 'A' })
    await bench.append(...Array.from({ length: 50 }, () => ({ body: body('c1', { action: 'B' }), workspaceId })))
    await Promise.all([bench.follow(), replay(position)])
    expect((await actionsOf(workspaceId)).toSorted()).toEqual(['A', ...Array.from({ length: 50 }, () => 'B')])
  })

  it('stays parked with the current reason when it still cannot be read', async () => {
    const start = await bench.cursor()
    const [requestId] = await bench.append({ body: '[]' })
    await bench.follow()
    const position = (await listParkedEntries(bench.database, start, 1))[0]?.position as number
    const reason = 'the body is not an object'
    expect(await replay(position, NOW + 5)).toEqual({ outcome: 'not_applied', reason })
    expect(await findParkedEntry(bench.database, position)).toMatchObject({ error: reason, parkedAt: NOW + 5 })
    expect(await bench.receipt(requestId)).toMatchObject({ status: 'parked', error: reason })
  })

  it('stays parked without any effect when a step of its replay fails', async () => {
    const start = await bench.cursor()
    await bench.append({ body: { customer_id: 'c1', actions: [{ action: 'A' }, {}] } })
    await bench.follow()
    const position = (await listParkedEntries(bench.database, start, 1))[0]?.position as number
    expect(await replay(position)).toEqual({
      outcome: 'not_applied',
      reason: expect.stringMatching(/null/i) as string,
    })
    expect(await findParkedEntry(bench.database, position)).toBeDefined()
    expect(await hasUsers(bench.database, bench.workspaceId)).toBe(false)
  })

  it('disappears without effect when it is dropped, and its receipt says so', async () => {
    const { workspaceId, requestId, position } = await parkOne({ action: 'A' })
    await dropParked(position)
    expect(await findParkedEntry(bench.database, position)).toBeUndefined()
    await expect(dropParked(position)).rejects.toMatchObject(unparked(position))
    await expect(replay(position)).rejects.toMatchObject(unparked(position))
    expect(await actionsOf(workspaceId)).toEqual([])
    expect(await bench.receipt(requestId, workspaceId)).toMatchObject({
      status: 'parked',
      error: `dropped by an operator; the workspace ${workspaceId} does not exist`,
    })
  })

  it('has an entry of the audit trail when it is replayed or dropped, without its error and content', async () => {
    for (const [action, change, after] of [
      ['replay_parked', replay, 'processed'],
      ['drop_parked', dropParked, null],
    ] as const) {
      const { workspaceId, requestId, position } = await parkOne({ action: 'A' })
      const entries = await entriesAddedBy(bench.database, workspaceId, () => change(position))
      expect(entries).toMatchObject([
        { action, kind: 'parked_entry', subjectId: String(position), who: 'command:test', furtherChanges: 0 },
      ])
      const dropped = [
        { field: 'kind', before: 'track_events', after: null },
        { field: 'request_id', before: requestId, after: null },
      ]
      const status = { field: 'status', before: 'parked', after }
      expect(entries[0]?.changes).toEqual(after === null ? [...dropped, status] : [status])
    }
  })

  it('is counted and found by its workspace without reading the entries of others', async () => {
    const [count, find, list] = await recordQueries(bench.database, async (store) => {
      await countParkedEntries(store)
      await hasParkedEntries(store, 'main')
      await listParkedSummaries(store, 'main', { before: { position: 7 }, max: 51 })
    })
    if (!count || !find || !list) throw new Error('nothing was asked')
    const { accesses } = await explain(bench.database, count)
    // PostgreSQL stores large texts outside of the row, so each row stays small.
    const indexes = { sqlite: ['parked_entries_by_workspace'], postgres: [expect.stringMatching(/^parked_entries_/)] }
    expect(accesses.map(({ index }) => index)).toEqual(indexes[kind])
    expectIndexed(await explain(bench.database, find), 'workspace_id')
    const listed = await explain(bench.database, list)
    expectIndexed(listed, 'workspace_id')
    expect(listed).toMatchObject({ sorts: false })
  })

  it('is parked with many others by one statement, and entries parked before keep their positions', async () => {
    const entries = Array.from({ length: 300 }, (_, index) => ({
      position: 1_000_000 + index,
      workspaceId: 'apart',
      kind: 'track_events',
      requestId: `request ${index}`,
      receivedAt: NOW + index,
      context: '{}',
      body: `[${index}, "\\u00e4 'ä'"]`,
      error: index % 2 === 0 ? 'even' : 'odd',
      parkedAt: NOW,
    }))
    const queries = await recordQueries(bench.database, (store) => parkEntries(store, entries))
    expect(queries).toHaveLength(1)
    expect(await listParkedEntries(bench.database, 999_999, 301)).toEqual(entries)
    const again = { error: 'still', parkedAt: NOW + 5 }
    const changed = entries.slice(0, 2).map((entry) => ({ ...entry, body: 'another', ...again }))
    await bench.database.write((store) => parkEntries(store, changed))
    const expected = entries.map((entry, index) => (index < 2 ? { ...entry, ...again } : entry))
    expect(await listParkedEntries(bench.database, 999_999, 301)).toEqual(expected)
  })
})
