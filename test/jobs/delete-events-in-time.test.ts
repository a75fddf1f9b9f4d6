// The setting `retention_days.events`: a job deletes older events, of each workspace by its own setting.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { DAY_MS } from '../../src/core/time-zone.ts'
import { deleteEventsInTime } from '../../src/jobs/delete-events-in-time.ts'
import { DEFAULT_SETTINGS } from '../../src/core/workspace.ts'
import { listEventsOf } from '../../src/store/users/events.ts'
import { findUserId } from '../../src/store/users/users.ts'
import { saveSettings } from '../../src/store/workspaces/workspaces.ts'
import { NOW, openPipelineBench, type PipelineBench } from '../support/pipeline-bench.ts'
import { describeEachStore } from '../support/stores.ts'

describeEachStore('Events that are no longer kept', (kind) => {
  let bench: PipelineBench
  beforeAll(async () => {
    bench = await openPipelineBench(kind)
  })
  afterAll(() => bench.close())

  /** A workspace with events this many days ago. */
  const makeWorkspace = async (eventRetentionDays: number | null, ...daysAgo: readonly number[]) => {
    const id = await bench.makeWorkspace({ eventRetentionDays })
    const actions = daysAgo.map((days) => ({ action: String(days), user_time: NOW - days * DAY_MS }))
    await bench.append({ body: { type: 'event', customer_id: 'ann', actions } })
    await bench.follow()
    return id
  }
  const daysOf = async (workspaceId: string) => {
    const { database } = bench
    const userId = (await findUserId(database, workspaceId, { name: 'customer_id', value: 'ann' })) as number
    const events = await listEventsOf(database, [userId], { before: undefined, max: 100 })
    return events.map(({ action }) => Number(action))
  }

  it('are deleted by the time when they happened, and those of other workspaces stay', async () => {
    const month = await makeWorkspace(30, 1, 7, 8, 30, 31, 400)
    const week = await makeWorkspace(7, 1, 7, 8, 30)
    const always = await makeWorkspace(null, 1, 400)
    await deleteEventsInTime({ database: bench.database, clock: () => NOW }).run(() => false)
    expect([await daysOf(month), await daysOf(week), await daysOf(always)]).toEqual([
      [1, 7, 8, 30],
      [1, 7],
      [1, 400],
    ])
  })

  it('are deleted once an hour, and at once when the setting changes', async () => {
    const id = await makeWorkspace(30, 1, 8, 29.96)
    let now = NOW
    const job = deleteEventsInTime({ database: bench.database, clock: () => now })
    const daysAfterRun = async () => {
      await job.run(() => false)
      return daysOf(id)
    }
    expect(await daysAfterRun()).toEqual([1, 8, 29.96])
    now += 59 * 60 * 1000
    expect(await daysAfterRun()).toEqual([1, 8, 29.96])
    now += 60 * 1000
    expect(await daysAfterRun()).toEqual([1, 8])
    const settings = { ...DEFAULT_SETTINGS, name: id, eventRetentionDays: 7 }
    await bench.database.write((store) => saveSettings(store, id, settings))
    expect(await daysAfterRun()).toEqual([1])
  })
})
