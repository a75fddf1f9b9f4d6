// One workspace with campaigns in a real store, to which histories are applied batch by batch. The answers of the
// operation must equal those of the naive model, and verification must find no difference.
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { expect } from 'vitest'
import { FACT_CAPS, type FactCaps } from '../../../src/core/campaigns/facts.ts'
import type { Goal } from '../../../src/core/campaigns/goal.ts'
import { raiseVersion } from '../../../src/operations/campaigns/change-goals.ts'
import { fetchCampaignStats } from '../../../src/operations/statistics/fetch-campaign-stats.ts'
import { fetchDailyStats } from '../../../src/operations/statistics/fetch-daily-stats.ts'
import type { VariationBody } from '../../../src/operations/statistics/campaign-stats-body.ts'
import type { JsonText } from '../../../src/operations/json-text.ts'
import { ResponseMemory } from '../../../src/operations/response-memory.ts'
import { ResponseCache } from '../../../src/operations/statistics/response-cache.ts'
import type { Operation, Parts } from '../../../src/operations/operation.ts'
import { KeyedQueue } from '../../../src/concurrency/keyed-queue.ts'
import { updateCampaign } from '../../../src/operations/campaigns/update-campaign.ts'
import type { LogEntry } from '../../../src/log/event-log.ts'
import { openSqliteLogReader } from '../../../src/log/sqlite/sqlite-log-reader.ts'
import { openSqliteLog } from '../../../src/log/sqlite/sqlite-log.ts'
import { Freshness } from '../../../src/operations/statistics/freshness.ts'
import { applyBatch, readBatch, type ApplyOptions } from '../../../src/pipeline/apply-batch.ts'
import type { Batch } from '../../../src/pipeline/batch.ts'
import { GoalCatalogs } from '../../../src/statistics/goal-catalog.ts'
import { UsersOvertaken } from '../../../src/pipeline/resolve-users.ts'
import { verifyStatistics, type Verification } from '../../../src/statistics/verify-statistics.ts'
import { createWorkspace } from '../../../src/actions/create-workspace.ts'
import { listPipelineCursors } from '../../../src/store/entries/cursors.ts'
import { migrate } from '../../../src/store/migrations.ts'
import { LOG_FILE } from '../../../src/log/open-log.ts'
import { openDatabase } from '../../../src/store/open-database.ts'
import {
  addCampaign,
  listAllCampaigns,
  lockCampaigns,
  type StoredCampaign,
} from '../../../src/store/campaigns/campaigns.ts'
import type { Database } from '../../../src/store/store.ts'
import { findWorkspace } from '../../../src/store/workspaces/workspaces.ts'
import { REQUESTED_BY_TEST } from '../audit/changed-by.ts'
import { workspaceAfter, PERSON, toLogEntry, type HistoryEntry } from './history-entries.ts'
import { makeStore, type StoreKind, type TestLocation } from '../stores.ts'
import { dayOf, type ModelCampaign, type ModelWorkspace } from './statistics-model-facts.ts'
import { StatisticsModel, type Question } from './statistics-model.ts'
import { DAY_MS } from '../../../src/core/time-zone.ts'

const RANGE_DAYS_MAX = 30
const ATTRIBUTION_TYPES = [
  'VIEW_THROUGH',
  'CLICK_THROUGH',
  'IN_SESSION',
  'TOTAL_CONVERSIONS',
  'CLICK_CONVERSIONS',
] as const
const METRIC_TYPES = ['TOTAL', 'UNIQUE'] as const

/** Days of the history, as indexes into the days with facts, and the distances of the ends of the range from them. */
export interface RangeChoice {
  readonly from: number
  readonly days: number
  readonly shift: number
}

export type Range = Pick<Question, 'startDate' | 'endDate'>

export function rangeChoices(): fc.Arbitrary<RangeChoice[]> {
  const choice = fc.record({
    from: fc.nat(),
    days: fc.constantFrom(0, 0, 1, 2, RANGE_DAYS_MAX),
    shift: fc.integer({ min: -1, max: 1 }),
  })
  return fc.array(choice, { minLength: 1, maxLength: 2 })
}

/** A store as the pipeline opens it, with an empty log beside it. */
export interface StatisticsStore {
  readonly location: TestLocation
  readonly database: Database
  readonly freshness: Freshness
  /** The `processed_until` that a server would report right after its start. */
  processedUntil(): Promise<number>
  close(): Promise<void>
}

export async function openStatisticsStore(kind: StoreKind): Promise<StatisticsStore> {
  const location = await makeStore(kind)
  const database = openDatabase(location, { durable: false })
  await migrate(database, NOW)
  const log = openSqliteLog({ path: join(location.dataDir, LOG_FILE) })
  const logReader = openSqliteLogReader(join(location.dataDir, LOG_FILE))
  const makeFreshness = () => new Freshness({ database, log, logReader, clock: () => NOW })
  return {
    location,
    database,
    freshness: makeFreshness(),
    processedUntil: () => makeFreshness().processedUntil(),
    async close() {
      await log.close()
      await logReader.close()
      await database.close()
      await location.remove()
    },
  }
}

/** The constant time of these tests. */
export const NOW = Date.parse('2026-12-01T10:00:00.000Z')
const PARTITIONS = 2
let made = 0
let lastPosition = 0

interface RunOptions {
  readonly workspaceId: string
  readonly caps: FactCaps
}

/** The names of Fetch Campaign Stats. */
export interface DailyLevel {
  readonly platform: string
  readonly locale: string
  readonly variation: string
}

/** The numbers of one day. */
export interface DailyStats extends Pick<VariationBody, 'performance_stats' | 'conversion_goal_stats'> {
  readonly date: string
}

interface AskOptions {
  readonly database?: Database
  readonly campaignIds?: readonly string[]
}

export class StatisticsRun {
  readonly database: Database
  readonly workspaceId: string
  /** The entries applied so far, in order. */
  readonly applied: HistoryEntry[] = []
  /** The goals by which the current counts were counted. */
  campaigns: readonly ModelCampaign[]
  readonly caps: FactCaps
  readonly #freshness: Freshness
  /** Shared by all questions of the run, so that a wrongly cached answer shows in a later one. */
  readonly #responseCache = new ResponseCache()
  readonly #goalCatalogs: GoalCatalogs
  readonly #history: ModelWorkspace
  /** Campaign → its number. */
  readonly #numbers = new Map<string, number>()

  private constructor(
    { database, freshness }: StatisticsStore,
    history: ModelWorkspace,
    { workspaceId, caps }: RunOptions,
  ) {
    this.database = database
    this.workspaceId = workspaceId
    this.caps = caps
    this.#goalCatalogs = new GoalCatalogs({ caps })
    this.campaigns = history.campaigns
    this.#freshness = freshness
    this.#history = history
  }

  /** Creates a workspace with the campaigns of the history in their order. */
  static async make(opened: StatisticsStore, history: ModelWorkspace, caps = FACT_CAPS): Promise<StatisticsRun> {
    const workspaceId = `workspace-${++made}`
    const settings = { timezone: history.timezone, identityResolution: [PERSON] }
    await createWorkspace(opened.database, workspaceId, settings, NOW)
    const run = new StatisticsRun(opened, history, { workspaceId, caps })
    await run.#addAll(history.campaigns)
    return run
  }

  /** Creates another campaign, as its operation does. */
  async addCampaign(campaign: ModelCampaign): Promise<void> {
    await this.#addAll([campaign])
    this.campaigns = [...this.campaigns, campaign]
  }

  async #addAll(campaigns: readonly ModelCampaign[]): Promise<void> {
    const { workspaceId } = this
    const added = await this.database.write(async (store) => {
      await lockCampaigns(store, workspaceId)
      const numbers = new Map<string, number>()
      for (const { id, goals } of campaigns) {
        const fields = { name: id, platforms: ['EMAIL'], createdBy: 'anna', createdAt: NOW }
        const made = await addCampaign(store, { id: storedId(workspaceId, id), workspaceId, goals, ...fields })
        await raiseVersion(store, workspaceId)
        numbers.set(id, made.number)
      }
      return numbers
    })
    for (const [id, number] of added) this.#numbers.set(id, number)
  }

  /** The entries in the form of the log, after all earlier ones. */
  toLog(entries: readonly HistoryEntry[], receivedAt = NOW): LogEntry[] {
    const { workspaceId } = this
    const numberOf = (campaignId: string) => this.#numbers.get(campaignId) ?? 0
    return entries.map((entry) => toLogEntry(entry, { workspaceId, position: ++lastPosition, receivedAt, numberOf }))
  }

  /** Reads entries of the log as one batch. */
  async read(entries: readonly LogEntry[]): Promise<Batch> {
    const batch = await readBatch(this.database, entries, { now: NOW })
    const [unreadable] = batch.unreadable
    if (unreadable) throw new Error(unreadable.reason)
    return batch
  }

  /** The options to apply a batch at the current cursors. */
  async applyOptions(goalCatalogs = this.#goalCatalogs): Promise<ApplyOptions> {
    return { from: await listPipelineCursors(this.database, PARTITIONS), goalCatalogs }
  }

  /** Applies entries as one batch. */
  async apply(entries: readonly HistoryEntry[], { receivedAt = NOW, database = this.database } = {}): Promise<void> {
    await applyBatch(database, await this.read(this.toLog(entries, receivedAt)), await this.applyOptions())
    this.applied.push(...entries)
  }

  /** Applies batches of a partition of the log one after the other, as a separate process would. */
  async follow(partition: number, batches: readonly (readonly HistoryEntry[])[]): Promise<void> {
    const goalCatalogs = new GoalCatalogs({ caps: this.caps })
    for (const entries of batches) {
      const log = this.toLog(entries).map((entry) => ({ ...entry, partition }))
      for (let isApplied = false; !isApplied;) {
        try {
          await applyBatch(this.database, await this.read(log), await this.applyOptions(goalCatalogs))
          isApplied = true
        } catch (error) {
          // Another process applied a batch first, which happens at most once per batch.
          if (!(error instanceof UsersOvertaken)) throw error
        }
      }
      this.applied.push(...entries)
    }
  }

  /** Changes the goals of a campaign as its operation does. Backfills use the goals set last. */
  async setGoals(campaignId: string, goals: readonly Goal[]): Promise<void> {
    const conversion_goals = goals.map(({ windowHours, ...goal }) => ({ ...goal, window_hours: windowHours }))
    const path = { campaign_id: storedId(this.workspaceId, campaignId) }
    await this.#call(updateCampaign, { path, body: { conversion_goals }, now: NOW })
  }

  campaignRows(): Promise<StoredCampaign[]> {
    return listAllCampaigns(this.database, this.workspaceId)
  }

  verify(): Promise<Verification> {
    return verifyStatistics(this.database, this.workspaceId, () => {}, this.caps)
  }

  /** The naive model of the entries applied. */
  model(): StatisticsModel {
    return new StatisticsModel({ ...workspaceAfter(this.#history, this.applied), campaigns: this.campaigns }, this.caps)
  }

  /** `data` of Fetch Campaign Stats: every campaign with any count, or the named ones. */
  async ask(
    { startDate, endDate, attributionType, metricType }: Question,
    { database = this.database, campaignIds }: AskOptions = {},
  ): Promise<Record<string, unknown>> {
    const range = { request_id: 'r', start_date: startDate, end_date: endDate }
    const named = campaignIds && { campaign_ids: campaignIds.map((id) => storedId(this.workspaceId, id)) }
    const body = { ...range, attribution_type: attributionType, metric_type: metricType, ...named }
    const answer = await this.#call(fetchCampaignStats, { body }, database)
    const { data } = JSON.parse(Buffer.concat((answer as JsonText).pieces).toString()) as {
      data: Record<string, unknown>
    }
    const prefix = storedId(this.workspaceId, '')
    return Object.fromEntries(Object.entries(data).map(([id, stats]) => [id.slice(prefix.length), stats]))
  }

  /** `days` of Fetch daily stats. */
  async askDaily(
    campaignId: string,
    { startDate, endDate, attributionType, metricType }: Question,
    level: DailyLevel,
  ): Promise<readonly DailyStats[]> {
    const range = { request_id: 'r', start_date: startDate, end_date: endDate }
    const asked = { ...range, attribution_type: attributionType, metric_type: metricType, level }
    const body = { ...asked, campaign_id: storedId(this.workspaceId, campaignId) }
    return ((await this.#call(fetchDailyStats, { body })) as { readonly days: readonly DailyStats[] }).days
  }

  /** The ranges chosen among the days of the whole history. */
  ranges(choices: readonly RangeChoice[]): Range[] {
    const { timezone, audiences, messages, events } = this.#history
    const instants = [...audiences.map(({ evaluatedAt }) => evaluatedAt), ...[...messages, ...events].map(timeOf)]
    const days = [...new Set(instants.map((instant) => dayOf(instant, timezone)))].toSorted()
    if (days.length === 0) return []
    return choices.map(({ from, days: length, shift }) => {
      const startDate = shifted(days[from % days.length] ?? '', shift)
      return { startDate, endDate: shifted(startDate, length) }
    })
  }

  async #call(operation: Operation, request: object, database = this.database): Promise<unknown> {
    const workspace = (await findWorkspace(this.database, this.workspaceId))?.workspace
    const caches = { freshness: this.#freshness, responseCache: this.#responseCache }
    const parts: Partial<Parts> = { database, ...caches, responseMemory: new ResponseMemory(), queue: new KeyedQueue() }
    return operation.handle({ ...REQUESTED_BY_TEST, workspace, ...request } as never, parts as Parts)
  }
}

/** Expects that the table equals a count of the facts. */
export async function expectVerified(run: StatisticsRun): Promise<Verification> {
  const verification = await run.verify()
  const { differingCells, differences } = verification
  expect({ differingCells, differences }).toEqual({ differingCells: 0, differences: [] })
  return verification
}

/** Expects the answers of the model to every question of these ranges. */
export async function expectAnswers(run: StatisticsRun, ranges: readonly Range[]): Promise<void> {
  const model = run.model()
  for (const question of ranges.flatMap(questionsOf)) {
    const expected = run.campaigns.flatMap(({ id }) => {
      const stats = model.campaignStats(id, question)
      return stats === undefined ? [] : [[id, [stats]]]
    })
    const answers = { found: await run.ask(question), expected: Object.fromEntries(expected) as object }
    // Deep comparison takes longer than everything else.
    if (!isDeepStrictEqual(answers.found, answers.expected)) {
      expect({ question, data: answers.found }).toEqual({ question, data: answers.expected })
    }
  }
}

/** Ids of campaigns are unique over all workspaces; these keep their order in the history. */
function storedId(workspaceId: string, campaignId: string): string {
  return `${workspaceId} ${campaignId}`
}

/** Cuts entries into batches of these sizes; the last takes the rest. */
export function cut<Entry>(entries: readonly Entry[], sizes: readonly number[]): Entry[][] {
  const rest = [...entries]
  const batches = sizes.map((size) => rest.splice(0, size))
  return [...batches, rest].filter(({ length }) => length > 0)
}

/** Every question about a range. */
export function questionsOf(range: Range): Question[] {
  return ATTRIBUTION_TYPES.flatMap((attributionType) =>
    METRIC_TYPES.map((metricType) => ({ ...range, attributionType, metricType })),
  )
}

function timeOf({ time }: { readonly time: number }): number {
  return time
}

function shifted(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
}
