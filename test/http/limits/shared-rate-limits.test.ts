// Limits that several processes share through one PostgreSQL ("Rate limits"): exact over all processes.
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { AppError } from '../../../src/core/app-error.ts'
import { DEFAULT_SETTINGS, LIMIT_DEFAULTS, type Limits, type Workspace } from '../../../src/core/workspace.ts'
import { NeverPasses, type LimitedOperation, type LimitOutcome } from '../../../src/http/limits/limiter.ts'
import { SharedRateLimits, type SharedRateLimitsOptions } from '../../../src/http/limits/shared-rate-limits.ts'
import { trackEvents } from '../../../src/operations/events/track-events.ts'
import { updatePreferences } from '../../../src/operations/preferences/update-preferences.ts'
import { CLOCK_BEHIND_MS_MAX, LimitWindows } from '../../../src/store/workspaces/limit-windows.ts'
import { describeOnPostgres, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

const MINUTE_MS = 60_000
const SECOND_MS = 1_000
const NOON = Date.UTC(2030, 5, 15, 12)
const PROCESSES_MAX = 4
/** How many clients each process has. */
const CLIENTS = 25
const WAIT_MS = 60_000

describeOnPostgres('Shared limits', () => {
  let location: TestLocation
  /** One for each process. */
  let windowsOf: LimitWindows[]
  let made = 0

  beforeAll(async () => {
    location = await makeStore('postgres')
    await (await openTestDatabase(location)).close()
    windowsOf = Array.from({ length: PROCESSES_MAX }, () => new LimitWindows(location.databaseUrl as string))
  })
  afterAll(async () => {
    await Promise.all(windowsOf.map((windows) => windows.close()))
    await location.remove()
  })

  const makeWorkspace = (limits: Partial<Limits>): Workspace => {
    const id = `workspace-${++made}`
    return {
      ...DEFAULT_SETTINGS,
      id,
      name: id,
      createdAt: 0,
      globalControlSeed: 'seed',
      linkKey: 'key',
      limits: { ...LIMIT_DEFAULTS, ...limits },
    }
  }
  const start = (processes: number, options: SharedRateLimitsOptions = {}) => {
    return windowsOf.slice(0, processes).map((windows) => new SharedRateLimits(windows, options))
  }
  /** The outcomes of concurrent requests of one process. */
  const takeAll = (
    limits: SharedRateLimits,
    workspace: Workspace,
    sizes: readonly number[],
    operation: LimitedOperation = trackEvents,
  ): Promise<LimitOutcome[]> => {
    return Promise.all(sizes.map(async (units) => limits.take({ workspace, operation, units, now: 0 })))
  }
  const takeOne = async (limits: SharedRateLimits, workspace: Workspace, units = 1, operation?: LimitedOperation) => {
    return (await takeAll(limits, workspace, [units], operation))[0] as LimitOutcome
  }
  const codeOf = ({ refusal }: LimitOutcome) => (refusal instanceof AppError ? refusal.code : refusal)
  const ones = (count: number) => Array.from({ length: count }, () => 1)

  it.each([2, PROCESSES_MAX])('allow exactly their number of units to %d processes together', async (count) => {
    const workspace = makeWorkspace({ track_events_per_minute: 1_000 })
    const processes = start(count, { clock: () => NOON })
    const outcomes: LimitOutcome[] = []
    // Each client takes sequentially, so that the statements of the processes race to the last unit.
    const takeOften = async (limits: SharedRateLimits) => {
      for (let taken = 0; taken < 2_000 / count / CLIENTS; taken++) outcomes.push(await takeOne(limits, workspace))
    }
    await Promise.all(processes.flatMap((limits) => Array.from({ length: CLIENTS }, () => takeOften(limits))))
    expect(outcomes).toHaveLength(2_000)
    const passed = outcomes.filter(({ refusal }) => !refusal)
    // Each unit is granted once.
    const left = passed.map(({ state }) => state.remaining).toSorted((one, other) => one - other)
    expect(left).toEqual(Array.from({ length: 1_000 }, (_, index) => index))
    const refused = outcomes.filter(({ refusal }) => refusal)
    expect(new Set(refused.map(codeOf))).toEqual(new Set(['rate_limited']))
    expect(new Set(refused.map(({ state }) => state.remaining))).toEqual(new Set([0]))
  })

  it('grant requests of any size, and refuse none that still fits', { timeout: WAIT_MS }, async () => {
    const asked = fc.array(fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 60 }), {
      minLength: 2,
      maxLength: PROCESSES_MAX,
    })
    const property = fc.asyncProperty(fc.integer({ min: 60, max: 2_000 }), asked, async (limit, sizesOf) => {
      const workspace = makeWorkspace({ track_events_per_minute: limit })
      const processes = start(sizesOf.length, { clock: () => NOON })
      const outcomes = await Promise.all(
        processes.map((limits, index) => takeAll(limits, workspace, sizesOf[index] ?? [])),
      )
      const all = outcomes.flatMap((some, process) =>
        some.map((outcome, index) => ({ ...outcome, units: sizesOf[process]?.[index] ?? Number.NaN })),
      )
      const used = all.reduce((sum, { refusal, units }) => (refusal ? sum : sum + units), 0)
      expect(used).toBeLessThanOrEqual(limit)
      for (const { state, units } of all.filter(({ refusal }) => refusal)) {
        expect(units).toBeGreaterThan(state.remaining)
        expect(units).toBeGreaterThan(limit - used)
      }
      const [first] = processes
      const left = first && (await takeOne(first, workspace, limit - used))
      expect(left).toMatchObject({ refusal: undefined, state: { remaining: 0 } })
    })
    await fc.assert(property, { numRuns: 50 })
  })

  it('take from both the minute and the day, or from neither', async () => {
    const workspace = makeWorkspace({ update_preferences_per_minute: 10, update_preferences_per_day: 15 })
    let now = NOON
    const processes = start(2, { clock: () => now })
    const passed = async () => {
      const outcomes = processes.map((limits) => takeAll(limits, workspace, ones(12), updatePreferences))
      return (await Promise.all(outcomes)).flat().filter(({ refusal }) => !refusal).length
    }
    const [minutes, midnight] = [[10, 5, 0], Date.UTC(2030, 5, 16)]
    for (const count of minutes) {
      expect(await passed()).toBe(count)
      now += MINUTE_MS
    }
    const [first] = processes as [SharedRateLimits]
    const refused = await takeOne(first, workspace, 1, updatePreferences)
    expect(refused.state).toEqual({ limit: 15, remaining: 0, reset: midnight / SECOND_MS })
    expect(refused.refusal).toMatchObject({ retryAfterSeconds: (midnight - now) / SECOND_MS })
    now = midnight
    expect(await passed()).toBe(10)
  })

  it('reset with the next minute for every process, even for one that cached a window as full', async () => {
    const workspace = makeWorkspace({ track_events_per_minute: 3 })
    let now = NOON + 17 * SECOND_MS
    const [first, second] = start(2, { clock: () => now }) as [SharedRateLimits, SharedRateLimits]
    await takeAll(first, workspace, ones(3))
    for (const limits of [first, second, second]) {
      const { state, refusal } = await takeOne(limits, workspace)
      expect(state).toEqual({ limit: 3, remaining: 0, reset: (NOON + MINUTE_MS) / SECOND_MS })
      expect(refusal).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 43 })
    }
    now = NOON + MINUTE_MS
    expect(await takeOne(second, workspace, 2)).toMatchObject({ refusal: undefined, state: { remaining: 1 } })
    expect(await takeOne(first, workspace)).toMatchObject({ refusal: undefined, state: { remaining: 0 } })
    expect(codeOf(await takeOne(second, workspace))).toBe('rate_limited')
  })

  it('use the clock of the database, not that of a process', async () => {
    const workspace = makeWorkspace({ track_events_per_minute: 10 })
    const [limits] = start(1) as [SharedRateLimits]
    const before = Date.now()
    vi.useFakeTimers({ toFake: ['Date'], now: NOON })
    const { state } = await takeOne(limits, workspace).finally(() => vi.useRealTimers())
    const ends = [before, Date.now()].map((now) => (Math.floor(now / MINUTE_MS) + 1) * (MINUTE_MS / SECOND_MS))
    expect(ends).toContain(state.reset)
  })

  it('stay in the current window if a clock is slightly behind, and start another if it was set back', async () => {
    const workspace = makeWorkspace({ track_events_per_minute: 10 })
    let now = NOON
    const [limits] = start(1, { clock: () => now }) as [SharedRateLimits]
    await takeOne(limits, workspace)
    for (const [behindMs, remaining] of [
      [1, 8],
      [CLOCK_BEHIND_MS_MAX, 7],
    ] as const) {
      now = NOON - behindMs
      expect((await takeOne(limits, workspace)).state).toMatchObject({
        remaining,
        reset: (NOON + MINUTE_MS) / SECOND_MS,
      })
    }
    now = NOON - CLOCK_BEHIND_MS_MAX - 1
    expect((await takeOne(limits, workspace)).state).toMatchObject({
      remaining: 9,
      reset: (NOON - CLOCK_BEHIND_MS_MAX) / SECOND_MS,
    })
  })

  it('count requests that are refused for other reasons, up to the limit of a window', async () => {
    const workspace = makeWorkspace({ track_events_per_minute: 5 })
    const processes = start(2, { clock: () => NOON }) as [SharedRateLimits, SharedRateLimits]
    const count = (limits: SharedRateLimits) => limits.count({ workspace, operation: trackEvents, now: 0 })
    expect(await count(processes[0])).toMatchObject({ limit: 5, remaining: 4 })
    const left = await Promise.all([...processes, ...processes].map(count))
    expect(Math.min(...left.map(({ remaining }) => remaining))).toBe(0)
    expect(codeOf(await takeOne(processes[1], workspace))).toBe('rate_limited')
    await count(processes[1])
    const raised = { ...workspace, limits: { ...workspace.limits, track_events_per_minute: 6 } }
    expect((await takeOne(processes[0], raised)).state).toMatchObject({ limit: 6, remaining: 0 })
  })

  it('count requests refused for other reasons per day too, and keep the count when the settings change', async () => {
    const limitTo = (units: number) => makeWorkspace({ update_preferences_per_day: units })
    const [limits] = start(1, { clock: () => NOON }) as [SharedRateLimits]
    const { id } = limitTo(0)
    const left = async (perDay: number, units: number) => {
      const { state } = await takeOne(limits, { ...limitTo(perDay), id }, units, updatePreferences)
      return state.remaining
    }
    const count = (perDay: number) => {
      return limits.count({ workspace: { ...limitTo(perDay), id }, operation: updatePreferences, now: 0 })
    }
    await count(5)
    expect(await left(5, 1)).toBe(3)
    // A lower limit neither reduces the count nor lets it grow beyond the limit.
    await count(1)
    expect(await left(5, 1)).toBe(2)
    for (let times = 0; times < 5; times++) await count(5)
    expect(await left(7, 1)).toBe(1)
  })

  it('follow the settings within a running window', async () => {
    const workspace = makeWorkspace({ track_events_per_minute: 5 })
    const limitTo = (units: number) => ({
      ...workspace,
      limits: { ...workspace.limits, track_events_per_minute: units },
    })
    const [first, second] = start(2, { clock: () => NOON }) as [SharedRateLimits, SharedRateLimits]
    await takeOne(first, workspace, 5)
    expect((await takeOne(second, limitTo(8), 2)).state).toMatchObject({ limit: 8, remaining: 1 })
    const lowered = await takeOne(first, limitTo(6))
    expect({ code: codeOf(lowered), ...lowered.state }).toMatchObject({ code: 'rate_limited', limit: 6, remaining: 0 })
    // Used units stay used, and a refused request in between takes none.
    await first.count({ workspace: limitTo(6), operation: trackEvents, now: 0 })
    expect((await takeOne(second, limitTo(8))).state).toMatchObject({ limit: 8, remaining: 0 })
  })

  it('take nothing for a request larger than a whole window', async () => {
    const workspace = makeWorkspace({ track_events_per_minute: 5 })
    const [limits] = start(1, { clock: () => NOON }) as [SharedRateLimits]
    for (const left of [5, 0]) {
      const { state, refusal } = await takeOne(limits, workspace, 6)
      expect(refusal).toEqual(new NeverPasses('track_events_per_minute', 5))
      expect(state.remaining).toBe(left)
      await takeOne(limits, workspace, 5)
    }
  })

  it('belong to one workspace and one operation', async () => {
    const [one, other] = [makeWorkspace({ track_events_per_minute: 1 }), makeWorkspace({ track_events_per_minute: 1 })]
    const renamed = { ...trackEvents, name: 'track_other_events' }
    const [first, second] = start(2, { clock: () => NOON }) as [SharedRateLimits, SharedRateLimits]
    const outcomes = await Promise.all([
      takeOne(first, one),
      takeOne(second, other),
      takeOne(first, one, 1, renamed),
      takeOne(second, other, 1, renamed),
    ])
    expect(outcomes.map(codeOf)).toEqual([undefined, undefined, undefined, undefined])
    expect(codeOf(await takeOne(second, one))).toBe('rate_limited')
  })

  it('use statements that never deadlock, in any order of their requests', async () => {
    for (let round = 1; round <= 10; round++) {
      const questions = Array.from({ length: 300 }, () => {
        const { id: workspaceId } = makeWorkspace({})
        return { workspaceId, operation: trackEvents.name, minuteLimit: 1_000, dayLimit: null, units: 1, refused: 0 }
      })
      const orders = windowsOf.map((_, index) => (index % 2 === 0 ? questions : questions.toReversed()))
      await Promise.all(windowsOf.map((windows, index) => windows.open(orders[index] ?? [])))
      await Promise.all(windowsOf.map((windows, index) => windows.take(orders[index] ?? [], NOON)))
      const used = (await windowsOf[0]?.take(questions, NOON))?.map(({ minute }) => minute.used)
      expect(used).toEqual(questions.map(() => PROCESSES_MAX))
    }
  })

  it('query the database once for all waiting requests of all workspaces, and not at all for windows cached as full', async () => {
    const counting = new CountingWindows(location.databaseUrl as string)
    const limits = new SharedRateLimits(counting, { clock: () => NOON })
    const workspaces = Array.from({ length: 20 }, () => makeWorkspace({ track_events_per_minute: 100 }))
    const takeEach = () => Promise.all(workspaces.map((workspace) => takeAll(limits, workspace, ones(50))))
    await takeEach()
    // The windows must be created first.
    expect(counting.statements).toBe(3)
    expect((await takeEach()).flat().filter(({ refusal }) => refusal)).toEqual([])
    expect(counting.statements).toBe(4)
    expect((await takeEach()).flat().filter(({ refusal }) => !refusal)).toEqual([])
    expect(counting.statements).toBe(4)
    await counting.close()
  })
})

class CountingWindows extends LimitWindows {
  statements = 0

  override take(...asked: Parameters<LimitWindows['take']>): ReturnType<LimitWindows['take']> {
    this.statements++
    return super.take(...asked)
  }

  override open(...asked: Parameters<LimitWindows['open']>): ReturnType<LimitWindows['open']> {
    this.statements++
    return super.open(...asked)
  }
}
