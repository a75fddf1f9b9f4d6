// Reads the numbers of campaigns for Fetch Campaign Stats, and serializes them as JSON. Numbers that have not changed since the
// last request come from the response cache (`docs/decisions/0018`).
import { AppError } from '../../core/app-error.ts'
import { CampaignSeries, type DayRange, type StatsQuestion } from '../../core/statistics/campaign-counts.ts'
import { findCampaignsById, findCountedGenerations, type StoredCampaign } from '../../store/campaigns/campaigns.ts'
import {
  boundCells,
  countCampaignsWithCounts,
  sumCells,
  countSeries,
  listCampaignsWithCounts,
  pageSeriesCounts,
  seriesStarts,
  type SeriesStart,
} from '../../store/statistics/series-counts.ts'
import { findCampaignRevisions } from '../../store/statistics/statistics-revisions.ts'
import type { Database } from '../../store/store.ts'
import type { ResponseMemory, MemoryReservation } from '../response-memory.ts'
import { writeCampaignStats } from './campaign-stats-body.ts'
import type { ResponseCache } from './response-cache.ts'
import { yieldToEventLoop, writePieces } from '../write-pieces.ts'
import { inDigits } from '../../core/in-digits.ts'

/** Campaigns of one response that are read at the same time. */
const READ_AT_ONCE_MAX = 3
/** How often a page is read if goals keep changing meanwhile. A change of goals takes longer than reading a page. */
export const READ_TRIES_MAX = 3
/** The most series read in one statement, with goals and without goals separately. Hardly any campaign has more. */
const SERIES_AT_ONCE_MAX = 5_000
/** Series per page if a campaign has more: a page takes this thread some 5 ms. */
const SERIES_PER_PAGE = 500
/**
 * The most cells read in one statement, which takes some 50 ms. A campaign has more if it ran for months and reached the same users
 * on different days: 4,500 series with 2,170 cells each blocked other readers of SQLite for 4 s.
 */
const CELLS_AT_ONCE_MAX = 200_000
/** The most cells of one page. Nearly all pages have far fewer. */
const CELLS_PER_PAGE = 100_000
/**
 * The most series of a campaign that can be read. No campaign within the limits of names has more: with p combinations of platform,
 * locale and variation, r reasons and five goals, there are 6p + 7 combinations with their aggregates: six for each combination,
 * one for each of six platforms, and one for everything. Each of these has 12 kinds of message events, 6 metrics of units, 2 for
 * each goal, one for each reason (and for the unknown one) of a failure and of a removal, and 2 that show that anything is counted,
 * with goals and without: 30 + 2(r + 1). Control groups ignore variations, and have 11 each at the 2p + 7 that remain. Together
 * that is 236p + 12pr + 14r + 378: 536,728 for 1,000 combinations and 25 reasons. They take some 55 MiB of memory, and some 10 s to
 * read.
 */
export const SERIES_PER_CAMPAIGN_MAX = 545_000

/** Which campaigns are requested, and which page of them. */
export interface Selection {
  readonly campaign_ids?: readonly string[]
  readonly offset: number
  readonly limit: number
}

/** What to count of each campaign. */
export interface RangeQuestion extends StatsQuestion {
  readonly range: DayRange
}

export interface StatsPage {
  /** The ids and JSON of the campaigns with any count in the range. */
  readonly data: readonly (readonly [id: string, json: readonly Buffer[]])[]
  readonly total: number
  /** Those of the requested ids on this page that the workspace does not have. */
  readonly unknownIds: readonly string[]
}

export interface StatsSources {
  readonly database: Database
  readonly responseCache: ResponseCache
  readonly responseMemory: ResponseMemory
}

/** Reads pages for one question. */
export class StatsReader {
  readonly #sources: StatsSources
  readonly #workspaceId: string
  readonly #question: RangeQuestion

  constructor(sources: StatsSources, workspaceId: string, question: RangeQuestion) {
    this.#sources = sources
    this.#workspaceId = workspaceId
    this.#question = question
  }

  /**
   * The numbers of a page. It first reads the generation of each campaign's goals, then the numbers of that generation. If a
   * backfill ended in between, those numbers may be deleted, so it starts over. Throws AppError: `conflict` if the page is too
   * large for one response, `unavailable` if other responses leave no memory.
   */
  async readPage(selection: Selection): Promise<StatsPage> {
    const reservation = this.#sources.responseMemory.open()
    try {
      for (let tries = 0; tries < READ_TRIES_MAX; tries++) {
        reservation.release()
        const { campaigns, total, unknownIds } = await this.#findCampaigns(selection)
        const written = await this.#writeAll(campaigns, reservation)
        if (!(await this.#haveSameGoals(campaigns))) continue
        this.#cache(written)
        const data = written.filter(({ json }) => json.length > 0).map(({ id, json }) => [id, json] as const)
        return { data, total, unknownIds }
      }
      throw goalsChange()
    } finally {
      reservation.release()
    }
  }

  /** The campaigns of the page: of those with the requested ids, or of all with counts. */
  async #findCampaigns({ campaign_ids: wanted, offset, limit }: Selection) {
    const [store, workspaceId, { range }] = [this.#sources.database, this.#workspaceId, this.#question]
    if (wanted) {
      const ids = wanted.slice(offset, offset + limit)
      const campaigns = await findCampaignsById(store, workspaceId, ids)
      const found = new Set(campaigns.map(({ id }) => id))
      return { campaigns, total: wanted.length, unknownIds: ids.filter((id) => !found.has(id)) }
    }
    const total = await countCampaignsWithCounts(store, workspaceId, range)
    const campaigns = await listCampaignsWithCounts(store, workspaceId, range, { offset, limit })
    return { campaigns, total, unknownIds: [] }
  }

  /** Reads the revisions before the numbers, so that the numbers are not older than their revision. */
  async #writeAll(campaigns: readonly StoredCampaign[], reservation: MemoryReservation): Promise<WrittenCampaign[]> {
    const numbers = campaigns.map(({ number }) => number)
    const revisions = await findCampaignRevisions(this.#sources.database, numbers)
    const asked = campaigns.map((campaign) => {
      const [question, revision] = [this.#questionOf(campaign), revisions.get(campaign.number) ?? 0]
      return {
        id: campaign.id,
        campaign,
        question,
        revision,
        cached: this.#sources.responseCache.find(question, revision),
      }
    })
    for (const { cached } of asked) reservation.add(cached?.byteLength ?? 0)
    const changed = asked.filter(({ cached }) => cached === undefined)
    const written = new Map<string, readonly Buffer[]>()
    for await (const { item, value } of readAhead(changed, ({ campaign }) => this.#read(campaign))) {
      written.set(item.id, await this.#toJson(item.campaign, value, reservation))
      await yieldToEventLoop()
    }
    return asked.map((one) => ({ ...one, json: one.cached ? toPieces(one.cached) : (written.get(one.id) ?? []) }))
  }

  /** Caches only JSON in one piece: JSON in several pieces is too large. */
  #cache(written: readonly WrittenCampaign[]): void {
    for (const { question, revision, json, cached } of written) {
      const [only = NO_JSON, ...others] = json
      if (!cached && others.length === 0) this.#sources.responseCache.set(question, revision, only)
    }
  }

  /** Everything that the numbers of a campaign depend on, except its revision. The generation stands for the goals. */
  #questionOf({ number, countedGeneration }: StoredCampaign): string {
    const { range, attributionType, metricType } = this.#question
    return [number, countedGeneration, range.firstDay, range.lastDay, attributionType, metricType].join(' ')
  }

  /** Undefined if the campaign has more series or cells than one statement reads. */
  async #read({ number, countedGeneration: generation }: StoredCampaign): Promise<CampaignSeries | undefined> {
    const starts = seriesStarts([{ number, generation }])
    const { database } = this.#sources
    if (await this.#hasManyCells(starts)) return undefined
    const { counts, rest } = await pageSeriesCounts(database, starts, this.#question, SERIES_AT_ONCE_MAX)
    return rest.length === 0 ? new CampaignSeries().add(counts) : undefined
  }

  /** Counts cells only if there may be too many. A campaign of a few days cannot have too many. */
  async #hasManyCells(starts: readonly SeriesStart[]): Promise<boolean> {
    const { database } = this.#sources
    const cellsPerSeriesMax = await boundCells(database, starts, this.#question.range)
    if (cellsPerSeriesMax * starts.length * SERIES_AT_ONCE_MAX <= CELLS_AT_ONCE_MAX) return false
    return (await sumCells(database, starts, this.#question, CELLS_AT_ONCE_MAX)) > CELLS_AT_ONCE_MAX
  }

  /** Reads large campaigns one at a time, so that memory holds only one. */
  #toJson(
    campaign: StoredCampaign,
    read: CampaignSeries | undefined,
    reservation: MemoryReservation,
  ): Promise<Buffer[]> {
    if (read) return this.#write(campaign, read, reservation)
    const work = async () => this.#write(campaign, await this.#readLarge(campaign), reservation)
    return this.#sources.responseMemory.prepareLarge(this.#workspaceId, work)
  }

  /** Reads page by page from one snapshot, and lets other requests run between pages. */
  async #readLarge({ id, number, countedGeneration: generation }: StoredCampaign): Promise<CampaignSeries> {
    const { database } = this.#sources
    const starts = seriesStarts([{ number, generation }])
    const wanted = await countSeries(database, starts, this.#question.attributionType, SERIES_PER_CAMPAIGN_MAX)
    if (wanted > SERIES_PER_CAMPAIGN_MAX) throw tooManySeries(id)
    return database.readSnapshot(async (store) => {
      const series = new CampaignSeries()
      const cellsPerSeriesMax = await boundCells(store, starts, this.#question.range)
      const max = Math.max(1, Math.min(SERIES_PER_PAGE, Math.floor(CELLS_PER_PAGE / Math.max(1, cellsPerSeriesMax))))
      for (let rest = starts; rest.length > 0; await yieldToEventLoop()) {
        const page = await pageSeriesCounts(store, rest, this.#question, max)
        series.add(page.counts)
        rest = page.rest
      }
      return series
    })
  }

  async #write(
    { countedGoals }: StoredCampaign,
    series: CampaignSeries,
    reservation: MemoryReservation,
  ): Promise<Buffer[]> {
    if (series.isEmpty) return []
    const goalNames = countedGoals.map(({ name }) => name)
    return writePieces(writeCampaignStats(series.count(goalNames, this.#question)), reservation)
  }

  /** Whether the campaigns still use the goals with which they were read. A generation is never reused. */
  async #haveSameGoals(campaigns: readonly StoredCampaign[]): Promise<boolean> {
    const numbers = campaigns.map(({ number }) => number)
    const generations = await findCountedGenerations(this.#sources.database, this.#workspaceId, numbers)
    return campaigns.every(({ number, countedGeneration }) => generations.get(number) === countedGeneration)
  }
}

interface WrittenCampaign {
  readonly id: string
  readonly question: string
  readonly revision: number
  /** Empty if nothing is counted in the range. */
  readonly json: readonly Buffer[]
  /** Undefined if the numbers were read from the store. */
  readonly cached: Buffer | undefined
}

const NO_JSON = Buffer.alloc(0)

function toPieces(json: Buffer): readonly Buffer[] {
  return json.byteLength > 0 ? [json] : []
}

/** The goals of a campaign change again and again while its numbers are read. */
export function goalsChange(): AppError {
  return new AppError('unavailable', 'Campaign goals are being updated. Retry after 1 second.', [], 1)
}

function tooManySeries(id: string): AppError {
  const problem = `Campaign ${id} has more than ${inDigits(SERIES_PER_CAMPAIGN_MAX)} series`
  const where = 'across its platforms, locales, variations and reasons'
  return new AppError(
    'conflict',
    `${problem} ${where}, which is too many for one response. Leave it out of campaign_ids.`,
  )
}

/** Reads a value for each item, in order. Reads the next ones while the caller works on one. */
async function* readAhead<Item, Value>(items: readonly Item[], read: (item: Item) => Promise<Value>) {
  const readings: Promise<Value>[] = []
  for (const [index, item] of items.entries()) {
    for (const next of items.slice(index + readings.length, index + READ_AT_ONCE_MAX)) {
      const reading = read(next)
      // Nobody awaits this value if the caller fails at an earlier item.
      reading.catch(() => {})
      readings.push(reading)
    }
    yield { item, value: await (readings.shift() as Promise<Value>) }
  }
}
