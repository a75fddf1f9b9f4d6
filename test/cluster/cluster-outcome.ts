// Checks a cluster after faults: every acknowledged request has taken effect exactly once, and the statistics equal those of the
// naive model.
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { ClusterLoad, SentRequest } from './cluster-load.ts'
import { queryOf } from './cluster-requests.ts'
import type { Cluster } from './cluster.ts'
import type { HistoryEntry } from '../support/statistics/history-entries.ts'
import { runJson } from '../support/program.ts'
import { until } from '../support/server.ts'
import { dayOf, type ModelWorkspace } from '../support/statistics/statistics-model-facts.ts'
import { StatisticsModel, type Question } from '../support/statistics/statistics-model.ts'
import type { Fate } from '../support/calls/tracking.ts'

/** How long the cluster may take to be up to date again. */
export const RESUMED_WITHIN_MS = 60_000
const PAGE = 500
const AT_ONCE = 16
const ATTRIBUTION_TYPES = [
  'VIEW_THROUGH',
  'CLICK_THROUGH',
  'IN_SESSION',
  'TOTAL_CONVERSIONS',
  'CLICK_CONVERSIONS',
] as const
const METRIC_TYPES = ['TOTAL', 'UNIQUE'] as const

/** Waits until the statistics of every HTTP process include everything received before an instant. */
export async function untilCurrent(cluster: Cluster, since: number): Promise<void> {
  for (const target of cluster.running('http').keys()) {
    await until('the numbers are current', () => isCurrent(cluster, target, since), RESUMED_WITHIN_MS)
  }
}

async function isCurrent(cluster: Cluster, target: number, since: number): Promise<boolean> {
  const today = dayOf(since, 'UTC')
  const question = { startDate: today, endDate: today, attributionType: 'VIEW_THROUGH', metricType: 'TOTAL' } as const
  const answer = await askStats(cluster, [], question, target).catch(() => undefined)
  return answer?.status === 200 && Date.parse((answer.body as { processed_until: string }).processed_until) >= since
}

/**
 * Expects every request of these stopped loads exactly once. Every HTTP process must be able to respond.
 */
export async function expectExactlyOnce(cluster: Cluster, loads: readonly ClusterLoad[]): Promise<void> {
  await untilCurrent(cluster, Date.now())
  for (const load of loads) await expectApplied(cluster, load)
  const verified = await runJson(['statistics', 'verify'], cluster.environment)
  expect(verified, 'statistics verify').toMatchObject({ status: 0, body: { equal: true } })
}

async function expectApplied(cluster: Cluster, load: ClusterLoad): Promise<void> {
  expect(load.surprises, 'answers that no client should get').toEqual([])
  await expectProcessed(cluster, load)
  const applied = await expectEvents(cluster, load)
  await expectModel(cluster, load.writer.workspaceAfter(applied))
}

/** Expects that nothing was parked. */
export async function expectNothingParked(cluster: Cluster): Promise<void> {
  expect(await runJson(['parked', 'list'], cluster.environment)).toMatchObject({ status: 0, body: { parked: [] } })
}

/** Every acknowledged request has a receipt, and only retries without a key are duplicates. */
async function expectProcessed(cluster: Cluster, { acknowledged }: ClusterLoad): Promise<void> {
  await inTurns(acknowledged, async (request) => {
    const ids = [...new Set(request.requestIds)]
    const fates = await Promise.all(ids.map((id) => fateOf(cluster, id)))
    const [events, duplicates] = [sizeOf(request.entry), fates.map((fate) => fate.duplicates)]
    expect(fates, `fate of ${request.body}`).toMatchObject(ids.map(() => ({ status: 'processed', events })))
    if (request.manner === 'keyed') expect(ids, 'ids of one keyed request').toHaveLength(1)
    const isCertain = request.manner !== 'identified' || request.uncertainTries === 0
    const firsts = duplicates.filter((count) => count === 0).length
    const repeats = duplicates.filter((count) => count === events && count > 0).length
    if (events === 0) return
    expect({ firsts, repeats }, `fate of ${request.body}`).toEqual({
      firsts: isCertain ? 1 : firsts,
      repeats: ids.length - firsts,
    })
    expect(firsts, `fate of ${request.body}`).toBeLessThanOrEqual(1)
  })
}

async function fateOf(cluster: Cluster, requestId: string): Promise<Fate> {
  const { status, body } = await cluster.ask('GET', `/v1/event/main/requests/${requestId}`, {
    target: requestId.length,
  })
  expect(status, `the fate of ${requestId}`).toBe(200)
  return body as Fate
}

/** Reads the events of all users. Returns the entries that were applied. */
async function expectEvents(cluster: Cluster, load: ClusterLoad): Promise<HistoryEntry[]> {
  const lists = new Map<string, number[]>()
  const names = new Set(load.requests.flatMap(({ entry }) => namesOf(entry)))
  await inTurns([...names], async (name) => void lists.set(name, await listNumbers(cluster, name)))
  const found = new Set([...lists.values()].flat())
  const uncertain = load.uncertain.filter(({ entry }) => numbersOf(entry).some((number) => found.has(number)))
  const applied = [...load.acknowledged, ...uncertain].map(({ entry }: SentRequest) => entry)
  const { users, events } = load.writer.workspaceAfter(applied)
  const groups = [
    ...users,
    ...[...names].filter((name) => !users.some((user) => user.includes(name))).map((name) => [name]),
  ]
  for (const group of groups) {
    const own = events.filter(({ customerId }) => group.includes(customerId)).map(numberOf)
    for (const name of group) {
      expect(lists.get(name)?.toSorted(byNumber), `events of ${name}`).toEqual(own.toSorted(byNumber))
    }
  }
  return applied
}

/** The numbers of a user's events; empty for a user who does not exist. */
async function listNumbers(cluster: Cluster, name: string): Promise<number[]> {
  const numbers: number[] = []
  let before = ''
  for (;;) {
    const { status, body } = await cluster.ask('GET', `/v1/event/main?${queryOf(name)}&limit=${PAGE}${before}`)
    if (status === 404) return numbers
    expect(status).toBe(200)
    const page = body as { data: { attributes: Record<string, unknown> }[]; next_before: string | null }
    numbers.push(...page.data.map(numberOf))
    if (page.next_before === null) return numbers
    before = `&before=${encodeURIComponent(page.next_before)}`
  }
}

/** Queries all statistics of the campaigns, and expects those of the naive model. */
async function expectModel(cluster: Cluster, workspace: ModelWorkspace): Promise<void> {
  const model = new StatisticsModel(workspace)
  const facts = [
    ...workspace.audiences.map(({ evaluatedAt }) => evaluatedAt),
    ...workspace.messages.map(({ time }) => time),
  ]
  const days = [...facts, ...workspace.events.map(({ time }) => time)].map((time) => dayOf(time, workspace.timezone))
  const [startDate = '', endDate = ''] = [days.toSorted()[0], days.toSorted().at(-1)]
  const ids = workspace.campaigns.map(({ id }) => id)
  for (const attributionType of ATTRIBUTION_TYPES) {
    for (const metricType of METRIC_TYPES) {
      const question = { startDate, endDate, attributionType, metricType }
      const { status, body } = await askStats(cluster, ids, question)
      expect(status).toBe(200)
      const counted = ids.flatMap((id) => {
        const stats = model.campaignStats(id, question)
        return stats === undefined ? [] : [[id, [stats]]]
      })
      const answers = { found: (body as { data: unknown }).data, expected: Object.fromEntries(counted) as object }
      // A comparison that shows the difference takes longer than everything else.
      if (!isDeepStrictEqual(answers.found, answers.expected)) expect(answers.found).toEqual(answers.expected)
    }
  }
}

function askStats(cluster: Cluster, ids: readonly string[], question: Question, target = 0) {
  const body = {
    request_id: 'r',
    start_date: question.startDate,
    end_date: question.endDate,
    attribution_type: question.attributionType,
    metric_type: question.metricType,
    ...(ids.length > 0 && { campaign_ids: ids }),
  }
  return cluster.ask('POST', '/core-services/v1/campaign-stats', { target, body: JSON.stringify(body) })
}

/** The aliases of a request's users. Reports contain many customer ids, which other requests use too. */
function namesOf({ customerId, person, audiences, messages }: HistoryEntry): string[] {
  const reported = [...audiences, ...messages].map((report) => report.customerId)
  return [customerId, person, ...reported].filter((name) => name !== undefined)
}

function numbersOf({ events }: HistoryEntry): number[] {
  return events.map(numberOf)
}

function numberOf({ attributes }: { readonly attributes: Readonly<Record<string, unknown>> }): number {
  return attributes['number'] as number
}

function byNumber(left: number, right: number): number {
  return left - right
}

/** The number of events or facts in an entry. */
function sizeOf({ audiences, messages, events }: HistoryEntry): number {
  return audiences.length + messages.length + events.length
}

/** Runs a task for each item, a few at a time. */
async function inTurns<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = items.values()
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (const item of waiting) await work(item)
  })
  await Promise.all(workers)
}
