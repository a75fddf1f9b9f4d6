// Reads the numbers of campaigns for Fetch Campaign Stats, and writes them out as JSON. What has not changed since it was asked
// before is answered from memory (`docs/decisions/0018`).
import { AppError } from '../core/app-error.ts'
import { countCampaign, type DayRange, type SeriesCount, type StatsQuestion } from '../core/campaign-counts.ts'
import { findCampaignsById, findCountedGenerations, type StoredCampaign } from '../store/campaigns.ts'
import { countCampaignsWithCounts, listCampaignsWithCounts, listSeriesCounts } from '../store/series-counts.ts'
import { findRevisions } from '../store/statistics-revisions.ts'
import type { Store } from '../store/store.ts'
import { toCampaignBody, type CampaignStatsBody } from './campaign-stats-body.ts'
import type { KeptAnswers } from './kept-answers.ts'

/** Campaigns of one answer that are read at the same time. */
const READ_AT_ONCE_MAX = 3
/** How often the goals of a page may change while it is read; a change takes longer than reading one. */
const READ_TRIES_MAX = 3

/** Which campaigns are asked for, and which page of them. */
export interface Selection {
  readonly campaign_ids?: readonly string[]
  readonly offset: number
  readonly limit: number
}

/** What is asked of each of them. */
export interface RangeQuestion extends StatsQuestion {
  readonly range: DayRange
}

export interface Page {
  /** The ids of campaigns with any count in the range, and the JSON of what is shown of each. */
  readonly data: readonly (readonly [id: string, json: Buffer])[]
  readonly total: number
}

/** Reads the pages of one question. */
export class StatsReader {
  readonly #store: Store
  readonly #workspaceId: string
  readonly #question: RangeQuestion
  readonly #kept: KeptAnswers

  constructor(store: Store, workspaceId: string, question: RangeQuestion, kept: KeptAnswers) {
    this.#store = store
    this.#workspaceId = workspaceId
    this.#question = question
    this.#kept = kept
  }

  /**
   * The numbers of a page. By which goals its campaigns count, and what they count, are several looks: where a recount of
   * goals ended between them, what the first led to may be deleted already, and all are repeated.
   */
  async readPage(selection: Selection): Promise<Page> {
    for (let tries = 0; tries < READ_TRIES_MAX; tries++) {
      const { campaigns, total } = await this.#findCampaigns(selection)
      const counted = await this.#countAll(campaigns)
      if (!(await this.#areStanding(campaigns))) continue
      for (const { question, revision, json, kept } of counted) if (!kept) this.#kept.keep(question, revision, json)
      return { data: counted.filter(({ json }) => json.byteLength > 0).map(({ id, json }) => [id, json]), total }
    }
    throw new AppError('unavailable', 'The goals of campaigns are changing; please repeat the request.', [], 1)
  }

  /** The campaigns of the page: of those that were asked for, or of all that have counts. */
  async #findCampaigns({ campaign_ids: wanted, offset, limit }: Selection) {
    const [store, workspaceId, { range }] = [this.#store, this.#workspaceId, this.#question]
    if (wanted) {
      const ids = wanted.slice(offset, offset + limit)
      return { campaigns: await findCampaignsById(store, workspaceId, ids), total: wanted.length }
    }
    const total = await countCampaignsWithCounts(store, workspaceId, range)
    return { campaigns: await listCampaignsWithCounts(store, workspaceId, range, { offset, limit }), total }
  }

  /** The revisions are read first: what is counted after that look is no older than they say. */
  async #countAll(campaigns: readonly StoredCampaign[]): Promise<CountedCampaign[]> {
    const numbers = campaigns.map(({ number }) => number)
    const revisions = await findRevisions(this.#store, numbers)
    const asked = campaigns.map((campaign) => {
      const [question, revision] = [this.#questionOf(campaign), revisions.get(campaign.number) ?? 0]
      return { id: campaign.id, campaign, question, revision, kept: this.#kept.find(question, revision) }
    })
    const changed = asked.filter(({ kept }) => kept === undefined)
    const written = new Map<string, Buffer>()
    for await (const { item, value } of readAhead(changed, ({ campaign }) => this.#read(campaign)))
      written.set(item.id, this.#toJson(item.campaign, value))
    return asked.map((one) => ({ ...one, json: one.kept ?? (written.get(one.id) as Buffer) }))
  }

  /** All that what is shown of a campaign depends on, but for its revision. Its goals go with their generation. */
  #questionOf({ number, countedGeneration }: StoredCampaign): string {
    const { range, attributionType, metricType } = this.#question
    return [number, countedGeneration, range.firstDay, range.lastDay, attributionType, metricType].join(' ')
  }

  #read({ number, countedGeneration: generation }: StoredCampaign): Promise<SeriesCount[]> {
    const { range, attributionType } = this.#question
    return listSeriesCounts(this.#store, [{ number, generation }], range, attributionType)
  }

  #toJson({ countedGoals }: StoredCampaign, counts: readonly SeriesCount[]): Buffer {
    const goalNames = countedGoals.map(({ name }) => name)
    const counted = countCampaign(counts, goalNames, this.#question)
    const body: [CampaignStatsBody] = [toCampaignBody(counted)]
    return counted.size > 0 ? Buffer.from(JSON.stringify(body)) : NOTHING_COUNTED
  }

  /** Whether campaigns still count by the goals with which they were read. No generation ever comes back. */
  async #areStanding(campaigns: readonly StoredCampaign[]): Promise<boolean> {
    const numbers = campaigns.map(({ number }) => number)
    const generations = await findCountedGenerations(this.#store, this.#workspaceId, numbers)
    return campaigns.every(({ number, countedGeneration }) => generations.get(number) === countedGeneration)
  }
}

interface CountedCampaign {
  readonly id: string
  readonly question: string
  readonly revision: number
  /** Empty where nothing is counted in the range. */
  readonly json: Buffer
  /** Undefined where it was counted anew. */
  readonly kept: Buffer | undefined
}

const NOTHING_COUNTED = Buffer.alloc(0)

/** What is read for each item, in their order; the next ones are being read while the caller is busy with one. */
async function* readAhead<Item, Value>(items: readonly Item[], read: (item: Item) => Promise<Value>) {
  const readings: Promise<Value>[] = []
  for (const [index, item] of items.entries()) {
    for (const next of items.slice(index + readings.length, index + READ_AT_ONCE_MAX)) {
      const reading = read(next)
      // Whoever gives up at an item before does not wait for it.
      reading.catch(() => {})
      readings.push(reading)
    }
    yield { item, value: await (readings.shift() as Promise<Value>) }
  }
}
