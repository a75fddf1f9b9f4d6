// Reads the numbers of campaigns for Fetch Campaign Stats, and writes them out as JSON. Numbers that have not changed since they
// were last asked for are answered from memory (`docs/decisions/0018`).
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
import { nextTurn, writePieces } from '../write-pieces.ts'
import { inDigits } from '../../core/in-digits.ts'

/** Campaigns of one answer that are read at the same time. */
const READ_AT_ONCE_MAX = 3
/** How often the goals of a page may change while it is read; a change takes longer than reading one. */
const READ_TRIES_MAX = 3
/**
 * The most series read in one statement, of those that goals change and of the others separately: hardly any campaign has more.
 */
const SERIES_AT_ONCE_MAX = 5_000
/** The same where a campaign has more and this thread reads them page by page: some 5 ms. */
const SERIES_PER_PAGE = 500
/**
 * The most cells read in one statement, some 50 ms. A campaign has more where it went on for months and reached the same users on
 * differing days: 4,500 series with 2,170 cells each kept everybody else who read from SQLite waiting for four seconds.
 */
const CELLS_AT_ONCE_MAX = 200_000
/** The most cells of one page, which nearly always holds far fewer. */
const CELLS_PER_PAGE = 100_000
/**
 * The most series of a campaign whose numbers can be read; no campaign within the limits of names has more. With p places, r
 * reasons and five goals, there are 6p + 7 places and aggregates: six for each place, one for each of six platforms, and one for
 * everything. At each of these there are 6 kinds of message events, 6 metrics of units, 2 for each goal, one for each reason (and
 * for the unknown one) of a failure and of a removal, and 2 that say that anything is counted, of goals and of the rest: 24 + 2(r
 * + 1). Control groups ignore variations, and have 11 each at the 2p + 7 that remain. Together that is 200p + 12pr + 14r + 336:
 * with 1,000 places and 25 reasons 500,686. They take 51 MiB of memory, and are read in some ten seconds.
 */
export const SERIES_PER_CAMPAIGN_MAX = 510_000

/** Which campaigns are asked for, and which page of them. */
export interface Selection {
  readonly campaign_ids?: readonly string[]
  readonly offset: number
  readonly limit: number
}

/** What is asked about each of them. */
export interface RangeQuestion extends StatsQuestion {
  readonly range: DayRange
}

export interface StatsPage {
  /** The ids of campaigns with any count in the range, and the JSON of what is shown of each. */
  readonly data: readonly (readonly [id: string, json: readonly Buffer[]])[]
  readonly total: number
}

/** What pages are read from, and where they find room. */
export interface StatsSources {
  readonly database: Database
  readonly responseCache: ResponseCache
  readonly responseMemory: ResponseMemory
}

/** Reads the pages of one question. */
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
   * The numbers of a page. It takes several reads to find by which goals its campaigns count, and what they count: where a
   * recount of goals ended between them, what the first read led to may be deleted already, and all are repeated. Throws AppError
   * `conflict` for what is too much for one answer, `unavailable` where there is no room beside other answers.
   */
  async readPage(selection: Selection): Promise<StatsPage> {
    const held = this.#sources.responseMemory.open()
    try {
      for (let tries = 0; tries < READ_TRIES_MAX; tries++) {
        held.release()
        const { campaigns, total } = await this.#findCampaigns(selection)
        const counted = await this.#countAll(campaigns, held)
        if (!(await this.#areStanding(campaigns))) continue
        this.#keep(counted)
        return { data: counted.filter(({ json }) => json.length > 0).map(({ id, json }) => [id, json]), total }
      }
      throw new AppError('unavailable', 'Campaign goals are being updated. Retry after 1 second.', [], 1)
    } finally {
      held.release()
    }
  }

  /** The campaigns of the page: of those that were asked for, or of all that have counts. */
  async #findCampaigns({ campaign_ids: wanted, offset, limit }: Selection) {
    const [store, workspaceId, { range }] = [this.#sources.database, this.#workspaceId, this.#question]
    if (wanted) {
      const ids = wanted.slice(offset, offset + limit)
      return { campaigns: await findCampaignsById(store, workspaceId, ids), total: wanted.length }
    }
    const total = await countCampaignsWithCounts(store, workspaceId, range)
    return { campaigns: await listCampaignsWithCounts(store, workspaceId, range, { offset, limit }), total }
  }

  /** The revisions are read first: what is counted after that is no older than they say. */
  async #countAll(campaigns: readonly StoredCampaign[], held: MemoryReservation): Promise<CountedCampaign[]> {
    const numbers = campaigns.map(({ number }) => number)
    const revisions = await findCampaignRevisions(this.#sources.database, numbers)
    const asked = campaigns.map((campaign) => {
      const [question, revision] = [this.#questionOf(campaign), revisions.get(campaign.number) ?? 0]
      return {
        id: campaign.id,
        campaign,
        question,
        revision,
        kept: this.#sources.responseCache.find(question, revision),
      }
    })
    for (const { kept } of asked) held.add(kept?.byteLength ?? 0)
    const changed = asked.filter(({ kept }) => kept === undefined)
    const written = new Map<string, readonly Buffer[]>()
    for await (const { item, value } of readAhead(changed, ({ campaign }) => this.#read(campaign))) {
      written.set(item.id, await this.#toJson(item.campaign, value, held))
      await nextTurn()
    }
    return asked.map((one) => ({ ...one, json: one.kept ? toPieces(one.kept) : (written.get(one.id) ?? []) }))
  }

  /** Keeps only what is one piece: what takes more is larger than what is kept. */
  #keep(counted: readonly CountedCampaign[]): void {
    for (const { question, revision, json, kept } of counted) {
      const [only = NOTHING_COUNTED, ...others] = json
      if (!kept && others.length === 0) this.#sources.responseCache.keep(question, revision, only)
    }
  }

  /** Everything that the shown numbers of a campaign depend on, except for its revision. Its goals go with their generation. */
  #questionOf({ number, countedGeneration }: StoredCampaign): string {
    const { range, attributionType, metricType } = this.#question
    return [number, countedGeneration, range.firstDay, range.lastDay, attributionType, metricType].join(' ')
  }

  /** Undefined where a campaign has more series, or more cells of them, than are read at once. */
  async #read({ number, countedGeneration: generation }: StoredCampaign): Promise<CampaignSeries | undefined> {
    const starts = seriesStarts([{ number, generation }])
    const { database } = this.#sources
    if (await this.#hasManyCells(starts)) return undefined
    const { counts, rest } = await pageSeriesCounts(database, starts, this.#question, SERIES_AT_ONCE_MAX)
    return rest.length === 0 ? new CampaignSeries().add(counts) : undefined
  }

  /** Counts cells only where there may be too many: not those of campaigns of a few days. */
  async #hasManyCells(starts: readonly SeriesStart[]): Promise<boolean> {
    const { database } = this.#sources
    const cellsPerSeriesMax = await boundCells(database, starts, this.#question.range)
    if (cellsPerSeriesMax * starts.length * SERIES_AT_ONCE_MAX <= CELLS_AT_ONCE_MAX) return false
    return (await sumCells(database, starts, this.#question, CELLS_AT_ONCE_MAX)) > CELLS_AT_ONCE_MAX
  }

  /** Large campaigns one at a time, so that memory holds no more than one. */
  #toJson(campaign: StoredCampaign, read: CampaignSeries | undefined, held: MemoryReservation): Promise<Buffer[]> {
    if (read) return this.#write(campaign, read, held)
    const work = async () => this.#write(campaign, await this.#readLarge(campaign), held)
    return this.#sources.responseMemory.prepareLarge(this.#workspaceId, work)
  }

  /** Page by page of one moment, with turns for other requests between them. */
  async #readLarge({ id, number, countedGeneration: generation }: StoredCampaign): Promise<CampaignSeries> {
    const { database } = this.#sources
    const starts = seriesStarts([{ number, generation }])
    const wanted = await countSeries(database, starts, this.#question.attributionType, SERIES_PER_CAMPAIGN_MAX)
    if (wanted > SERIES_PER_CAMPAIGN_MAX) throw tooManySeries(id)
    return database.readSnapshot(async (store) => {
      const series = new CampaignSeries()
      const cellsPerSeriesMax = await boundCells(store, starts, this.#question.range)
      const max = Math.max(1, Math.min(SERIES_PER_PAGE, Math.floor(CELLS_PER_PAGE / Math.max(1, cellsPerSeriesMax))))
      for (let rest = starts; rest.length > 0; await nextTurn()) {
        const page = await pageSeriesCounts(store, rest, this.#question, max)
        series.add(page.counts)
        rest = page.rest
      }
      return series
    })
  }

  async #write({ countedGoals }: StoredCampaign, series: CampaignSeries, held: MemoryReservation): Promise<Buffer[]> {
    if (series.isEmpty) return []
    const goalNames = countedGoals.map(({ name }) => name)
    return writePieces(writeCampaignStats(series.count(goalNames, this.#question)), held)
  }

  /** Whether campaigns still count by the goals with which they were read. No generation ever comes back. */
  async #areStanding(campaigns: readonly StoredCampaign[]): Promise<boolean> {
    const numbers = campaigns.map(({ number }) => number)
    const generations = await findCountedGenerations(this.#sources.database, this.#workspaceId, numbers)
    return campaigns.every(({ number, countedGeneration }) => generations.get(number) === countedGeneration)
  }
}

interface CountedCampaign {
  readonly id: string
  readonly question: string
  readonly revision: number
  /** Empty where nothing is counted in the range. */
  readonly json: readonly Buffer[]
  /** Undefined where it was counted anew. */
  readonly kept: Buffer | undefined
}

const NOTHING_COUNTED = Buffer.alloc(0)

function toPieces(kept: Buffer): readonly Buffer[] {
  return kept.byteLength > 0 ? [kept] : []
}

function tooManySeries(id: string): AppError {
  const what = `Campaign ${id} has more than ${inDigits(SERIES_PER_CAMPAIGN_MAX)} different numbers`
  const why = 'across its platforms, locales, variations and reasons'
  return new AppError(
    'conflict',
    `${what} ${why}, which is too many for one response. Request other campaigns without it.`,
  )
}

/** What is read for each item, in their order; the next ones are being read while the caller is busy with one. */
async function* readAhead<Item, Value>(items: readonly Item[], read: (item: Item) => Promise<Value>) {
  const readings: Promise<Value>[] = []
  for (const [index, item] of items.entries()) {
    for (const next of items.slice(index + readings.length, index + READ_AT_ONCE_MAX)) {
      const reading = read(next)
      // A caller that gives up at an earlier item does not wait for this one.
      reading.catch(() => {})
      readings.push(reading)
    }
    yield { item, value: await (readings.shift() as Promise<Value>) }
  }
}
