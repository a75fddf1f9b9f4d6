// The table of the audit trail: numbers in the order of commits, filters, pages, and what is forgotten.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AuditKind } from '../../../src/core/accounts/audit.ts'
import {
  addAuditEntry,
  findNewestAuditNumber,
  forgetAuditEntries,
  hasAuditEntriesBefore,
  listAuditEntries,
  type AuditFilters,
  type AuditPage,
  type NewAuditEntry,
} from '../../../src/store/accounts/audit-entries.ts'
import type { Database } from '../../../src/store/store.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

const ALL: Omit<AuditPage, 'filters'> = { before: undefined, max: 1_000 }

function entryOf(workspaceId: string, rest: Partial<NewAuditEntry> = {}): NewAuditEntry {
  return {
    workspaceId,
    at: 1_000,
    who: 'key:data',
    address: '192.0.2.1',
    action: 'update_template',
    kind: 'template',
    subjectId: 't1',
    subjectName: 'Welcome',
    changes: [{ field: 'name', before: 'a', after: 'b' }],
    furtherChanges: 0,
    requestId: 'r1',
    ...rest,
  }
}

describeEachStore('The table of the audit trail', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const add = (entry: NewAuditEntry) => database.write((store) => addAuditEntry(store, entry))
  const numbersOf = async (workspaceId: string, filters: AuditFilters = {}, page: Partial<typeof ALL> = {}) => {
    const entries = await listAuditEntries(database, workspaceId, { filters, ...ALL, ...page })
    return entries.map(({ number }) => number)
  }

  it('gives an entry back as it was added', async () => {
    const { workspaceId, ...entry } = entryOf('whole')
    await add({ ...entry, workspaceId })
    await add({ ...entry, workspaceId, address: null, subjectName: null, requestId: null, furtherChanges: 3 })
    expect(await listAuditEntries(database, workspaceId, { filters: {}, ...ALL })).toEqual([
      { ...entry, number: 2, address: null, subjectName: null, requestId: null, furtherChanges: 3 },
      { ...entry, number: 1 },
    ])
  })

  it('numbers the entries of each workspace without gaps, also after a change that was rolled back', async () => {
    await add(entryOf('one'))
    const failed = database.write(async (store) => {
      await addAuditEntry(store, entryOf('one'))
      throw new Error('refused')
    })
    await expect(failed).rejects.toThrow('refused')
    await add(entryOf('one'))
    await add(entryOf('other'))
    expect([await numbersOf('one'), await numbersOf('other'), await numbersOf('none')]).toEqual([[2, 1], [1], []])
    expect(await findNewestAuditNumber(database, 'one')).toBe(2)
    expect(await findNewestAuditNumber(database, 'none')).toBe(0)
  })

  it('shows an entry only when all earlier ones are committed', async () => {
    const changes = Array.from({ length: 40 }, () => add(entryOf('busy')))
    const done = Promise.all(changes).then(() => true)
    for (let isDone = false; !isDone;) {
      const seen = await numbersOf('busy')
      expect(seen).toEqual(Array.from(seen, (_, index) => seen.length - index))
      expect(await findNewestAuditNumber(database, 'busy')).toBeGreaterThanOrEqual(seen.length)
      isDone = await Promise.race([done, numbersOf('busy').then(() => false)])
    }
    expect(await numbersOf('busy')).toHaveLength(40)
  })

  it('filters by each member and by all together, and by a range of time', async () => {
    const kinds: readonly AuditKind[] = ['template', 'campaign', 'segment']
    for (let index = 0; index < 12; index++) {
      const who = index % 2 === 0 ? 'key:data' : 'person:ada@example.com'
      const subject = { kind: kinds[index % 3] as AuditKind, subjectId: `s${index % 4}`, action: `action_${index % 6}` }
      await add(entryOf('filtered', { at: 100 * index, who, ...subject }))
    }
    const table: [AuditFilters, number[]][] = [
      [{ who: 'person:ada@example.com' }, [12, 10, 8, 6, 4, 2]],
      [{ kind: 'campaign' }, [11, 8, 5, 2]],
      [{ action: 'action_5' }, [12, 6]],
      [{ subjectId: 's3' }, [12, 8, 4]],
      [{ from: 900 }, [12, 11, 10]],
      [{ to: 200 }, [2, 1]],
      [{ from: 200, to: 500 }, [5, 4, 3]],
      [{ who: 'key:data', kind: 'segment' }, [9, 3]],
      [{ who: 'key:data', kind: 'segment', subjectId: 's0', action: 'action_2', from: 700, to: 900 }, [9]],
      [{ kind: 'person' }, []],
    ]
    for (const [filters, numbers] of table) {
      expect({ filters, numbers: await numbersOf('filtered', filters) }).toEqual({ filters, numbers })
    }
    expect(await numbersOf('filtered', { to: 600 }, { before: { at: 800, number: 9 }, max: 2 })).toEqual([6, 5])
    expect(await numbersOf('filtered', { to: 600 }, { before: { at: 300, number: 4 }, max: 2 })).toEqual([3, 2])
  })

  it('lists by time, and entries of one instant by their numbers, in pages that neither overlap nor skip', async () => {
    for (const at of [5, 7, 7, 6, 7]) await add(entryOf('paged', { at }))
    const seen: number[] = []
    for (let before: AuditPage['before']; ;) {
      const [entry] = await listAuditEntries(database, 'paged', { filters: {}, before, max: 1 })
      if (!entry) break
      seen.push(entry.number)
      before = entry
    }
    expect(seen).toEqual([5, 3, 2, 4, 1])
  })

  it('forgets entries from before an instant, and goes on with their numbers', async () => {
    for (const at of [3, 1, 2, 4]) await add(entryOf('old', { at }))
    await add(entryOf('old-too', { at: 1 }))
    expect(await hasAuditEntriesBefore(database, 'old', 1)).toBe(false)
    expect(await hasAuditEntriesBefore(database, 'old', 2)).toBe(true)
    await database.write((store) => forgetAuditEntries(store, 'old', 5))
    expect([await numbersOf('old'), await numbersOf('old-too')]).toEqual([[], [1]])
    expect(await findNewestAuditNumber(database, 'old')).toBe(4)
    await add(entryOf('old', { at: 5 }))
    expect(await numbersOf('old')).toEqual([5])
  })
})
