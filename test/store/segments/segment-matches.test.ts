// The statements of conditions and the predicate agree, on every store, over random people and random conditions.
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { conditionFaults } from '../../../src/core/segments/condition-faults.ts'
import type { SegmentCondition } from '../../../src/core/segments/condition.ts'
import { holdsFor, type Person } from '../../../src/core/segments/holds-for.ts'
import type { Rule } from '../../../src/core/segments/rule.ts'
import { DEFAULT_SETTINGS, type Workspace } from '../../../src/core/workspace.ts'
import { addCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { findPerson } from '../../../src/store/segments/find-person.ts'
import { countMatches, listMatches, prepareRule, type MatchSearch } from '../../../src/store/segments/matches.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { findUsers } from '../../../src/store/users/users.ts'
import { CAMPAIGNS, CATEGORIES, madeCondition, madeUser, NOW } from '../../support/segments/segment-arbitraries.ts'
import { storePeople } from '../../support/segments/stored-people.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

/** PostgreSQL plans each of these statements anew, which takes longer than running them. */
const KEYS = { globalControlSeed: 'seed', linkKey: 'key' }
const RUNS = { sqlite: 30, postgres: 10 }
const PEOPLE_MAX = 12
const CONDITIONS_MAX = 25
/** More than the people of a run. */
const IDS_PER_RUN = 100
const SLICE = 5
const ZONES = ['UTC', 'Asia/Kolkata', 'Pacific/Apia', 'America/Sao_Paulo']
const WORKSPACE_ID = 'main'

describeEachStore('The people of a segment', (kind) => {
  let location: TestLocation
  let database: Database
  const campaigns = new Map<string, number>()

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    await database.write(async (store) => {
      for (const id of CAMPAIGNS) {
        const fields = {
          id,
          workspaceId: WORKSPACE_ID,
          name: id,
          platforms: ['EMAIL'],
          goals: [],
          createdBy: 'a',
          createdAt: 0,
        }
        campaigns.set(id, (await addCampaign(store, fields)).number)
      }
    })
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  it('are those for whom the predicate holds, under any condition', async () => {
    let runs = 0
    const property = fc.asyncProperty(
      fc.array(madeUser, { minLength: 1, maxLength: PEOPLE_MAX }),
      fc.array(madeCondition, { minLength: 1, maxLength: CONDITIONS_MAX }),
      fc.constantFrom(...ZONES),
      async (made, conditions, timezone) => {
        const firstId = ++runs * IDS_PER_RUN
        const order = { workspaceId: WORKSPACE_ID, made, firstId, campaigns }
        const people = await database.write((store) => storePeople(store, order))
        const workspace = { ...DEFAULT_SETTINGS, id: WORKSPACE_ID, name: 'Main', timezone, createdAt: 0, ...KEYS }
        for (const condition of conditions) await compare(database, { workspace, people, condition, firstId })
      },
    )
    await fc.assert(property, { numRuns: RUNS[kind] })
    expect(runs).toBeGreaterThan(0)
  }, 120_000)
})

interface Comparison {
  readonly workspace: Workspace
  readonly people: ReadonlyMap<number, Person>
  readonly condition: SegmentCondition
  readonly firstId: number
}

/** Three ways to find the people: the predicate over those that were made, the statements, and the predicate over stored people. */
async function compare(database: Database, { workspace, people, condition, firstId }: Comparison): Promise<void> {
  expect(conditionFaults(condition, 'where', { ...workspace, categories: CATEGORIES })).toEqual([])
  const search = { workspace, condition, now: NOW }
  const rule = await prepareRule(database, search)
  const expected = idsWith(people, rule)
  const after = firstId - 1
  expect(await walk(database, search, after)).toEqual(expected)
  expect((await countMatches(database, { ...search, after, max: IDS_PER_RUN })).users).toBe(expected.length)
  const stored = new Map<number, Person>()
  for (const user of await findUsers(database, [...people.keys()])) {
    stored.set(user.id, await findPerson(database, user, rule))
  }
  expect(idsWith(stored, rule)).toEqual(expected)
}

function idsWith(people: ReadonlyMap<number, Person>, rule: Rule): number[] {
  const ids = [...people].flatMap(([id, person]) => (holdsFor(rule, person) ? [id] : []))
  return ids.toSorted((left, right) => left - right)
}

async function walk(store: Store, search: MatchSearch, first: number): Promise<number[]> {
  const found: number[] = []
  for (let after: number | undefined = first; after !== undefined;) {
    const { matches, next } = await listMatches(store, { ...search, after, max: SLICE })
    found.push(...matches.map(({ userId }) => userId))
    after = next
  }
  return found
}
