// Clients of a serving program that report audiences, message events and goal events, repeat many of them, and link
// customers to one person; and the statistics expected once all of it is acknowledged.
import { isDeepStrictEqual } from 'node:util'
import { BOUNCE_REASONS, GROUPS, MESSAGE_KINDS } from '../../../src/core/campaigns/facts.ts'
import type { Goal } from '../../../src/core/campaigns/goal.ts'
import { LIMIT_DEFAULTS, type WorkspaceSettings } from '../../../src/core/workspace.ts'
import { workspaceAfter, PERSON, toBody, type HistoryEntry } from './history-entries.ts'
import { basic } from '../program.ts'
import { until } from '../server.ts'
import { goal } from './statistics-examples.ts'
import { dayOf, type ModelCampaign } from './statistics-model-facts.ts'
import { StatisticsModel } from './statistics-model.ts'
import { questionsOf } from './statistics-run.ts'

const TIMEZONE = 'America/New_York'
const UNLIMITED = 1_000_000_000

/** Settings of the workspace `main` that the clients need. */
export const LOAD_SETTINGS: Partial<WorkspaceSettings> = {
  timezone: TIMEZONE,
  identityResolution: [PERSON],
  limits: {
    ...LIMIT_DEFAULTS,
    track_events_per_minute: UNLIMITED,
    management_per_minute: UNLIMITED,
    campaign_stats_per_minute: UNLIMITED,
  },
}

/** Few of everything, so that most reports coincide with others. */
const CUSTOMERS = 12
/** In pairs, the first customers are one person. */
const PERSONS = 3
const CAMPAIGNS = 3
const HOURS = 40
const HOUR_MS = 3_600_000
const ITEMS_MAX = 5
const CLIENTS = 8
/** The share of requests that repeat earlier ones. */
const REPEATED_SHARE = 0.2
const KEYED_SHARE = 0.3
const COUNTED_WAIT_MS = 30_000

interface SentRequest {
  readonly entry: HistoryEntry
  readonly path: string
  readonly tile: 'data' | 'reports'
  readonly headers: Readonly<Record<string, string>>
  isAcknowledged: boolean
}

export interface LoadKeys {
  readonly dataKey: string
  readonly reportsKey: string
}

export class StatisticsLoad {
  readonly #random: () => number
  readonly #keys: LoadKeys
  readonly #sent: SentRequest[] = []
  /** The earliest instant of all facts. */
  readonly #start = Date.now() - (HOURS + 2) * HOUR_MS
  #campaigns: ModelCampaign[] = []
  #events = 0

  constructor(random: () => number, keys: LoadKeys) {
    this.#random = random
    this.#keys = keys
  }

  get acknowledged(): number {
    return this.#sent.filter(({ isAcknowledged }) => isAcknowledged).length
  }

  /** Creates the campaigns of the reports. */
  async makeCampaigns(url: string): Promise<void> {
    for (let count = 0; count < CAMPAIGNS; count++) {
      const body = { name: 'Summer', platforms: ['EMAIL'], conversion_goals: [], created_by: 'anna' }
      const answer = await this.#call(url, { method: 'POST', path: CAMPAIGNS_PATH, tile: 'reports', body })
      this.#campaigns.push({ id: (answer as { campaign_id: string }).campaign_id, goals: [] })
    }
  }

  /** Changes the goals of the campaigns, one after the other. */
  async changeGoals(url: string): Promise<void> {
    for (const { id } of this.#campaigns) {
      const goals = ['bought', 'signed up'].map((name) => this.#makeGoal(name))
      const conversion_goals = goals.map(({ windowHours, ...others }) => ({ ...others, window_hours: windowHours }))
      const path = `${CAMPAIGNS_PATH}/${id}`
      await this.#call(url, { method: 'PATCH', path, tile: 'reports', body: { conversion_goals } })
      this.#campaigns = this.#campaigns.map((one) => (one.id === id ? { id, goals } : one))
    }
  }

  /** All clients send until the server is gone or `stop` is called. */
  async send(url: string, isOver = () => false): Promise<void> {
    const client = async () => {
      while (!isOver()) if (!(await this.#post(url, this.#next()))) return
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
  }

  /** A client without a response repeats its request. */
  async retryUnanswered(url: string): Promise<void> {
    for (const request of this.#sent) {
      if (!request.isAcknowledged) await this.#post(url, request)
    }
  }

  /** Waits until everything acknowledged is counted by the goals set last. */
  async waitUntilCounted(url: string): Promise<void> {
    const acknowledgedAt = Date.now()
    await until(
      'everything is counted',
      async () => {
        const asked = { method: 'POST', path: STATS_PATH, tile: 'reports', body: this.#question('TOTAL') } as const
        const { processed_until } = (await this.#call(url, asked)) as { processed_until: string }
        return Date.parse(processed_until) > acknowledgedAt && !(await this.#isRecounting(url))
      },
      COUNTED_WAIT_MS,
    )
  }

  /** The differences between the answers about the campaigns and those of the naive model. */
  async findWrong(url: string): Promise<object[]> {
    const { entries, campaigns } = { entries: this.#sent.map(({ entry }) => entry), campaigns: this.#campaigns }
    const nothing = { users: [], audiences: [], messages: [], events: [] }
    const model = new StatisticsModel(workspaceAfter({ timezone: TIMEZONE, campaigns, ...nothing }, entries))
    const wrong: object[] = []
    for (const question of questionsOf(this.#range())) {
      const { attributionType, metricType } = question
      const body = { ...this.#question(metricType), attribution_type: attributionType }
      const { data } = (await this.#call(url, { method: 'POST', path: STATS_PATH, tile: 'reports', body })) as {
        data: Record<string, unknown>
      }
      for (const { id } of campaigns) {
        const expected = [model.campaignStats(id, question)]
        if (!isDeepStrictEqual(data[id], expected)) wrong.push({ question, id, found: data[id], expected })
      }
    }
    return wrong
  }

  #range() {
    const end = this.#start + HOURS * HOUR_MS
    return { startDate: dayOf(this.#start, TIMEZONE), endDate: dayOf(end, TIMEZONE) }
  }

  #question(metric_type: string): object {
    const { startDate, endDate } = this.#range()
    return { request_id: 'r', start_date: startDate, end_date: endDate, attribution_type: 'CLICK_THROUGH', metric_type }
  }

  async #isRecounting(url: string): Promise<boolean> {
    const { data } = (await this.#call(url, { method: 'GET', path: CAMPAIGNS_PATH, tile: 'reports' })) as {
      data: { recount: unknown }[]
    }
    return data.some(({ recount }) => recount !== null)
  }

  async #call(
    url: string,
    { method, path, tile, body }: { method: string; path: string; tile: 'data' | 'reports'; body?: object },
  ): Promise<unknown> {
    const sent = body && JSON.stringify(body)
    const response = await fetch(url + path, {
      method,
      headers: this.#headers(tile, sent),
      ...(sent && { body: sent }),
    })
    const answer: unknown = await response.json()
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
    return answer
  }

  /** Returns false when the connection broke: the server may or may not have stored the request. */
  async #post(url: string, request: SentRequest): Promise<boolean> {
    const body = JSON.stringify(toBody(request.entry))
    const headers = { ...this.#headers(request.tile, body), ...request.headers }
    let status: number
    try {
      const response = await fetch(url + request.path, { method: 'POST', headers, body })
      await response.arrayBuffer()
      ;({ status } = response)
    } catch {
      return false
    }
    if (status !== 200 && status !== 503) throw new Error(`${request.path} was answered ${status}`)
    if (status === 200) request.isAcknowledged = true
    return true
  }

  #headers(tile: 'data' | 'reports', body: string | undefined): Record<string, string> {
    const key = tile === 'data' ? this.#keys.dataKey : this.#keys.reportsKey
    const headers = { authorization: basic('main', key), 'svc-appkey': 'main' }
    return body === undefined ? headers : { ...headers, 'content-type': 'application/json' }
  }

  #next(): SentRequest {
    const before = this.#sent[this.#below(this.#sent.length)]
    if (before && this.#random() < REPEATED_SHARE) return before
    const entry = this.#makeEntry()
    const campaignId = (entry.audiences[0] ?? entry.messages[0])?.campaignId
    const isKeyed = this.#random() < KEYED_SHARE
    const request: SentRequest = {
      entry,
      path: pathOf(entry.kind, campaignId),
      tile: campaignId === undefined ? 'data' : 'reports',
      headers: isKeyed ? { 'idempotency-key': `key-${this.#sent.length}` } : {},
      isAcknowledged: false,
    }
    this.#sent.push(request)
    return request
  }

  #makeEntry(): HistoryEntry {
    const nothing = { audiences: [], messages: [], events: [] } as const
    const campaignId = this.#oneOf(this.#campaigns).id
    const items = Array.from({ length: 1 + this.#below(ITEMS_MAX) })
    const kind = this.#oneOf(['svc_audience', 'svc_message_events', 'svc_message_events', 'track_events'] as const)
    if (this.#random() < 0.05) {
      const number = this.#below(2 * PERSONS)
      return { ...nothing, kind: 'track_user', customerId: `customer-${number}`, person: `person-${number >> 1}` }
    }
    switch (kind) {
      case 'svc_audience':
        return { ...nothing, kind, audiences: items.map(() => this.#makeMember(campaignId)) }
      case 'svc_message_events':
        return { ...nothing, kind, messages: items.map(() => this.#makeMessage(campaignId)) }
      case 'track_events': {
        const customerId = this.#customer()
        return { ...nothing, kind, customerId, events: items.map(() => this.#makeEvent(customerId)) }
      }
    }
  }

  #makeMember(campaignId: string) {
    return {
      campaignId,
      customerId: this.#customer(),
      platform: this.#oneOf(['EMAIL', 'web', 'Fridge']),
      evaluatedAt: this.#instant(),
      group: this.#oneOf(['target' as const, 'target' as const, ...GROUPS]),
      variation: this.#oneOf([null, 'A', 'B']),
      locale: this.#oneOf([null, 'en', 'de']),
      removed: this.#oneOf([null, null, 'user_removed_due_to_opt_out']),
    }
  }

  #makeMessage(campaignId: string) {
    const kind = this.#oneOf(MESSAGE_KINDS)
    return {
      campaignId,
      customerId: this.#customer(),
      platform: this.#oneOf(['EMAIL', 'web', 'Fridge']),
      deviceId: this.#oneOf([null, 'd1']),
      kind,
      time: this.#instant(),
      messageId: this.#oneOf([null, 'm1']),
      reason: kind === 'bounce' ? this.#oneOf(BOUNCE_REASONS) : this.#oneOf([null, 'bounced']),
    }
  }

  #makeEvent(customerId: string) {
    const eventId = `event-${this.#events++}`
    const attributes = { amount: this.#below(3) }
    return { eventId, customerId, action: this.#oneOf(['purchase', 'signup']), time: this.#instant(), attributes }
  }

  #makeGoal(name: string): Goal {
    const where = this.#oneOf([[], [{ attribute: 'amount', operator: 'greater_than' as const, value: 0 }]])
    return goal({ name, event: this.#oneOf(['purchase', 'signup']), where, windowHours: this.#oneOf([1, 12, 36]) })
  }

  #customer(): string {
    return `customer-${this.#below(CUSTOMERS)}`
  }

  #instant(): number {
    return this.#start + this.#below(HOURS) * HOUR_MS
  }

  #oneOf<Value>(values: readonly Value[]): Value {
    return values[this.#below(values.length)] as Value
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }
}

const CAMPAIGNS_PATH = '/core-services/v1/campaigns'
const STATS_PATH = '/core-services/v1/campaign-stats'

function pathOf(kind: HistoryEntry['kind'], campaignId: string | undefined): string {
  switch (kind) {
    case 'track_events':
      return '/v1/event/main'
    case 'track_user':
      return '/v1/customer/main'
    case 'svc_audience':
      return `${CAMPAIGNS_PATH}/${campaignId}/audience`
    case 'svc_message_events':
      return `${CAMPAIGNS_PATH}/${campaignId}/message-events`
  }
}
