// The recount that a change of goals starts, on every store: which campaigns it includes, by which goals, and how clients see it.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { toJsonNumber } from '../../../src/core/json/exact-number.ts'
import { startBackfill } from '../../../src/operations/campaigns/change-goals.ts'
import type { Parts } from '../../../src/operations/operation.ts'
import { KeyedQueue, QUEUED_PER_KEY_MAX } from '../../../src/concurrency/keyed-queue.ts'
import { updateCampaign } from '../../../src/operations/campaigns/update-campaign.ts'
import { findCampaign, saveCampaign, type StoredCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { findGoalBackfill, saveGoalBackfill, type GoalBackfill } from '../../../src/store/campaigns/goal-backfills.ts'
import { mergeUsers, saveUsers } from '../../../src/store/users/users.ts'
import { findWorkspace } from '../../../src/store/workspaces/workspaces.ts'
import { REQUESTED_BY_TEST } from '../../support/audit/changed-by.ts'
import { campaignCallsOf, type CampaignCalls } from '../../support/calls/campaign-calls.ts'
import { meddled } from '../../support/meddled-store.ts'
import { countValues } from '../../support/record-queries.ts'
import { startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOON = Date.parse('2026-03-10T12:00:00Z')

const goalOn = (event: string, fields: Readonly<Record<string, unknown>> = {}) => ({
  name: `On ${event}`,
  event,
  ...fields,
})
const goalWhere = (...where: object[]) => goalOn('A', { where })

describeEachStore('A change of goals (update_campaign)', (kind) => {
  let server: TestServer
  let calls: CampaignCalls
  let workspace: TestWorkspace

  beforeAll(async () => {
    // Without a pipeline, a recount never ends.
    server = await startServer(kind, {}, { withPipeline: false })
    calls = campaignCallsOf(server)
  })
  beforeEach(async () => {
    server.setClock(NOON)
    workspace = await server.makeWorkspace()
  })
  afterAll(() => server.stop())

  const make = (...conversion_goals: object[]) => calls.make({ conversion_goals }, workspace)
  const setGoals = async (id: string, ...conversion_goals: object[]) => {
    const answer = await calls.patch(id, { conversion_goals }, workspace)
    expect(answer.status).toBe(200)
    return answer.body
  }
  const stored = async (id: string) => (await findCampaign(server.database, workspace.id, id)) as StoredCampaign
  const recount = async () => (await findGoalBackfill(server.database, workspace.id)) as GoalBackfill
  const saveRecount = async (changes: Partial<GoalBackfill>) => {
    const changed = { ...(await recount()), ...changes }
    await server.database.write((store) => saveGoalBackfill(store, changed))
  }
  /** Changes goals without HTTP, with these parts. */
  const changeBy = async (parts: Pick<Parts, 'database' | 'queue'>, campaign_id: string, { id }: TestWorkspace) => {
    const found = await findWorkspace(server.database, id)
    const body = { conversion_goals: [goalOn('D')] }
    const sent = { path: { campaign_id }, body, now: NOON }
    const request = { ...REQUESTED_BY_TEST, workspace: found?.workspace, ...sent }
    await updateCampaign.handle(request as never, parts as Parts)
  }
  /** Ends a recount like the pipeline: the pending goals and generation become the counted ones. */
  const finish = async (...ids: string[]) => {
    for (const campaign of await Promise.all(ids.map(stored))) {
      const { goals: countedGoals, pendingGeneration, countedGeneration: before } = campaign
      const counted = { ...campaign, countedGoals, countedGeneration: pendingGeneration ?? before }
      await server.database.write((store) => saveCampaign(store, { ...counted, pendingGeneration: null }))
    }
    await saveRecount({ isRunning: false })
  }
  const addUsers = async (as: TestWorkspace, ...ids: number[]) => {
    const users = ids.map((id) => {
      return { id, workspaceId: as.id, customerId: `c${id}`, attributes: {}, emailKey: null, createdAt: 1 }
    })
    await server.database.write((store) => saveUsers(store, users))
  }

  it('is stored at once, while the counted numbers keep their goals and generation', async () => {
    const id = await make(goalOn('A'))
    const { goals: before } = await stored(id)
    await setGoals(id, goalOn('B'))
    const after = await stored(id)
    expect(after.goals.map(({ event }) => event)).toEqual(['B'])
    expect(after).toMatchObject({ countedGoals: before, countedGeneration: 1, pendingGeneration: 2 })
  })

  it('shows a recount of all users of the workspace, except those merged into others', async () => {
    await addUsers(workspace, 1, 2, 3, 4)
    await addUsers(server.workspace, 5)
    await server.database.write((store) => mergeUsers(store, [{ from: 3, into: 1 }]))
    const id = await make(goalOn('A'))
    server.setClock(NOON + 1_000)
    const { recount: begun } = await setGoals(id, goalOn('B'))
    expect(begun).toEqual({ counted_users: 0, all_users: 3, started_at: '2026-03-10T12:00:01.000Z' })
    expect((await calls.fetch(id, workspace)).recount).toEqual(begun)
    await saveRecount({ countedUsers: 2, userCursor: 2 })
    const shown = { ...begun, counted_users: 2 }
    expect((await calls.fetch(id, workspace)).recount).toEqual(shown)
    expect((await calls.list('', workspace)).body.data.map(({ recount }) => recount)).toEqual([shown])
    await finish(id)
    expect((await calls.fetch(id, workspace)).recount).toBeNull()
  })

  it('counts all users only when a recount begins, not for each of many changes', async () => {
    await addUsers(workspace, 11, 12)
    const id = await make(goalOn('A'))
    expect((await setGoals(id, goalOn('B'))).recount).toMatchObject({ all_users: 2 })
    await addUsers(workspace, 13)
    expect((await setGoals(id, goalOn('C'))).recount).toMatchObject({ all_users: 2 })
    await finish(id)
    expect((await setGoals(id, goalOn('D'))).recount).toMatchObject({ all_users: 3 })
  })

  it('counts all users once for many concurrent changes', async () => {
    const ids = await Promise.all(['A', 'B', 'C'].map((event) => make(goalOn(event))))
    let counts = 0
    const parts = { database: meddled(server.database, 'users', async () => void counts++, 3), queue: new KeyedQueue() }
    await Promise.all(ids.map((id) => changeBy(parts, id, workspace)))
    expect(counts).toBe(1)
    expect((await recount()).generation).toBe(4)
  })

  it('does not wait for changes in other workspaces', async () => {
    const other = await server.makeWorkspace()
    const [id, otherId] = [await make(goalOn('A')), await calls.make({ conversion_goals: [goalOn('A')] }, other)]
    const gate = Promise.withResolvers<void>()
    const parts = { database: meddled(server.database, 'users', () => gate.promise), queue: new KeyedQueue() }
    const waiting = changeBy(parts, id, workspace)
    await changeBy({ ...parts, database: server.database }, otherId, other)
    expect((await stored(id)).pendingGeneration).toBeNull()
    gate.resolve()
    await waiting
  })

  it('can wait in the queue after as many others as the workspace may send', async () => {
    const id = await make(goalOn('A'))
    const changes = Array.from({ length: QUEUED_PER_KEY_MAX + 2 }, (_, index) => setGoals(id, goalOn(`B${index}`)))
    await Promise.all(changes)
    expect(await recount()).toMatchObject({ generation: changes.length + 1 })
  })

  it('does not show a recount that ended while the campaign was read', async () => {
    const id = await make(goalOn('A'))
    await setGoals(id, goalOn('B'))
    await saveRecount({ isRunning: false })
    expect((await calls.fetch(id, workspace)).recount).toBeNull()
  })

  const condition = { attribute: 'a', operator: 'is', value: { x: [1], y: 0 } }
  const same: [what: string, before: object[], after: object[]][] = [
    ['no goals', [], []],
    ['the same goals', [goalOn('A'), goalOn('B')], [goalOn('A'), goalOn('B')]],
    ['an explicit default', [goalOn('A')], [goalOn('A', { window_hours: 36, where: [] })]],
    ['members in another order', [goalOn('A')], [{ event: 'A', name: 'On A' }]],
    [
      'a value with members in another order',
      [goalWhere(condition)],
      [goalWhere({ ...condition, value: { y: 0, x: [1] } })],
    ],
    [
      'a long number in another notation',
      [goalWhere({ ...condition, value: toJsonNumber('1e400') })],
      [goalWhere({ ...condition, value: toJsonNumber('10e399') })],
    ],
    ['a negative zero', [goalWhere({ ...condition, value: 0 })], [goalWhere({ ...condition, value: -0 })]],
    [
      'a value that the operator ignores',
      [goalWhere({ attribute: 'a', operator: 'exists' })],
      [goalWhere({ attribute: 'a', operator: 'exists', value: 1 })],
    ],
  ]
  it.each(same)('starts no recount for %s', async (_what, before, after) => {
    const id = await make(...before)
    expect((await setGoals(id, ...after)).recount).toBeNull()
    expect(await stored(id)).toMatchObject({ pendingGeneration: null })
    expect(await recount()).toMatchObject({ isRunning: false, generation: 1, startedAt: null })
  })

  it('starts no recount for another name or other platforms', async () => {
    const id = await make(goalOn('A'))
    const { status, body } = await calls.patch(id, { name: 'Other', platforms: ['WEB'] }, workspace)
    expect([status, body.recount]).toEqual([200, null])
    expect(await recount()).toMatchObject({ isRunning: false, generation: 1 })
  })

  const different: [what: string, before: object[], after: object[]][] = [
    ['another name', [goalOn('A')], [goalOn('A', { name: 'Other' })]],
    ['another event', [goalOn('A')], [goalOn('B')]],
    ['another window', [goalOn('A')], [goalOn('A', { window_hours: 35 })]],
    ['another condition', [goalOn('A')], [goalWhere(condition)]],
    ['another operator', [goalWhere(condition)], [goalWhere({ ...condition, operator: 'is_not' })]],
    ['another attribute', [goalWhere(condition)], [goalWhere({ ...condition, attribute: 'b' })]],
    ['a value of another type', [goalWhere({ ...condition, value: 1 })], [goalWhere({ ...condition, value: '1' })]],
    ['a value that differs inside', [goalWhere(condition)], [goalWhere({ ...condition, value: { x: [2], y: 0 } })]],
    [
      'a number that differs in its last digit',
      [goalWhere({ ...condition, value: toJsonNumber('1610521604143693812') })],
      [goalWhere({ ...condition, value: toJsonNumber('1610521604143693813') })],
    ],
    ['a first goal', [], [goalOn('A')]],
    ['one goal more', [goalOn('A')], [goalOn('A'), goalOn('B')]],
    ['one goal less', [goalOn('A'), goalOn('B')], [goalOn('A')]],
    ['no goals any more', [goalOn('A')], []],
  ]
  it.each(different)('starts a recount for %s', async (_what, before, after) => {
    const id = await make(...before)
    expect((await setGoals(id, ...after)).recount).not.toBeNull()
    expect(await stored(id)).toMatchObject({ countedGeneration: 1, pendingGeneration: 2 })
    const progress = { isRunning: true, generation: 2, userCursor: 0, countedUsers: 0, startedAt: NOON }
    expect(await recount()).toMatchObject(progress)
  })

  const others: [what: string, goals: object[], isRecounted: boolean][] = [
    ['a goal on its old event', [goalOn('Old')], true],
    ['a goal on its new event', [goalOn('New', { name: 'x', window_hours: 1 })], true],
    ['one of several goals on its event', [goalOn('Other'), goalOn('New')], true],
    ['a goal on an event it still has', [goalOn('Kept')], true],
    ['a goal on another event', [goalOn('Other')], false],
    ['a goal on its event in another case', [goalOn('new')], false],
    ['no goal', [], false],
  ]
  it.each(others)('recounts another campaign with %s: %j', async (_what, goals, isRecounted) => {
    const id = await make(goalOn('Old'), goalOn('Kept'))
    const other = await make(...goals)
    const before = await stored(other)
    await setGoals(id, goalOn('New'), goalOn('Kept'))
    expect(await stored(other)).toEqual({ ...before, pendingGeneration: isRecounted ? 2 : null })
    expect((await calls.fetch(other, workspace)).recount !== null).toBe(isRecounted)
  })

  it('does not recount campaigns of other workspaces', async () => {
    const foreign = await calls.make({ conversion_goals: [goalOn('A')] })
    const before = await findGoalBackfill(server.database, server.workspace.id)
    await setGoals(await make(goalOn('A')), goalOn('B'))
    expect((await calls.fetch(foreign)).recount).toBeNull()
    expect(await findGoalBackfill(server.database, server.workspace.id)).toEqual(before)
  })

  it('also recounts campaigns whose numbers still include its event by their previous goals', async () => {
    const [former, changed] = [await make(goalOn('A')), await make(goalOn('A'))]
    await setGoals(former, goalOn('B'))
    // As if it were not marked as pending.
    const unmarked = { ...(await stored(former)), pendingGeneration: null }
    await server.database.write((store) => saveCampaign(store, unmarked))
    await setGoals(changed, goalOn('C'))
    expect(await stored(former)).toMatchObject({ pendingGeneration: 3 })
  })

  it('finds the other campaigns by their events, without reading their goals', async () => {
    const [id, beside, apart] = [await make(goalOn('A')), await make(goalOn('A')), await make(goalOn('Z'))]
    const change = { before: await stored(id), goals: [], allUsers: 0, now: NOON }
    const values = await countValues(server.database, (store) => startBackfill(store, change))
    expect([values.get('goals'), values.get('counted_goals')]).toEqual([undefined, undefined])
    expect(await stored(beside)).toMatchObject({ pendingGeneration: 2 })
    expect(await stored(apart)).toMatchObject({ pendingGeneration: null })
  })

  it('restarts a running recount, with all its campaigns, under a new generation', async () => {
    const [first, beside, second, apart] = [
      await make(goalOn('A')),
      await make(goalOn('A')),
      await make(goalOn('X')),
      await make(goalOn('Z')),
    ]
    await setGoals(first, goalOn('B'))
    await saveRecount({ userCursor: 7, countedUsers: 5 })
    server.setClock(NOON + 1)
    await setGoals(second, goalOn('Y'))
    const pending = []
    for (const id of [first, beside, second, apart]) pending.push((await stored(id)).pendingGeneration)
    expect(pending).toEqual([3, 3, 3, null])
    const again = { isRunning: true, generation: 3, userCursor: 0, countedUsers: 0, startedAt: NOON + 1 }
    expect(await recount()).toMatchObject(again)
  })

  it('that is reverted during its recount is another change', async () => {
    const id = await make(goalOn('A'))
    await setGoals(id, goalOn('B'))
    const taken = await setGoals(id, goalOn('A'))
    expect(taken.recount).not.toBeNull()
    expect(await stored(id)).toMatchObject({ countedGeneration: 1, pendingGeneration: 3 })
  })

  it('gets a generation that no goals had before', async () => {
    const id = await make(goalOn('A'))
    for (const [event, generation] of [
      ['B', 2],
      ['A', 3],
      ['B', 4],
    ] as const) {
      await setGoals(id, goalOn(event))
      expect(await stored(id)).toMatchObject({ pendingGeneration: generation })
      await finish(id)
    }
    expect(await stored(id)).toMatchObject({ countedGeneration: 4, pendingGeneration: null })
  })

  it('continues its recount when campaigns are renamed or created meanwhile', async () => {
    const id = await make(goalOn('A'))
    await setGoals(id, goalOn('B'))
    await saveRecount({ userCursor: 7, countedUsers: 5 })
    const running = await recount()
    expect((await calls.patch(id, { name: 'Renamed' }, workspace)).body.recount).toMatchObject({ counted_users: 5 })
    const late = await make(goalOn('B'))
    expect(await stored(late)).toMatchObject({ countedGeneration: 1, pendingGeneration: 2 })
    expect(await stored(id)).toMatchObject({ name: 'Renamed', pendingGeneration: 2 })
    expect(await recount()).toEqual({ ...running, version: running.version + 1 })
  })

  it('raises the version of the workspace, like a new campaign, but unlike another name or other platforms', async () => {
    expect(await findGoalBackfill(server.database, workspace.id)).toBeUndefined()
    const versions: number[] = []
    const note = async () => versions.push((await recount()).version)
    const id = await make(goalOn('A'))
    await note()
    await setGoals(id, goalOn('B'))
    await note()
    await calls.patch(id, { name: 'Renamed', platforms: ['WEB'] }, workspace)
    await note()
    await make()
    await note()
    expect(versions).toEqual([1, 2, 2, 3])
  })

  it('of one campaign never undoes a concurrent change of another', async () => {
    const ids = await Promise.all(['A', 'B', 'C', 'D'].map((event) => make(goalOn(event))))
    await Promise.all(ids.map((id) => setGoals(id, goalOn('E'))))
    const campaigns = await Promise.all(ids.map(stored))
    expect(campaigns.map(({ pendingGeneration }) => pendingGeneration)).toEqual([5, 5, 5, 5])
    expect(await recount()).toMatchObject({ version: 8, generation: 5, isRunning: true })
  })
})
