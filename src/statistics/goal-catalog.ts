// What campaigns are counted by, as the pipeline holds it in memory; read anew when a campaign changes.
import { LRUCache } from 'lru-cache'
import { NO_GENERATION, type Series } from '../core/statistics/cells.ts'
import type { CampaignGoals, Rules } from '../core/statistics/rules.ts'
import { FACT_CAPS, type FactCaps } from '../core/campaigns/facts.ts'
import { hasConditions, windowMs, type Goal } from '../core/campaigns/goal.ts'
import { listAllCampaigns, measureCampaigns, type StoredCampaign } from '../store/campaigns/campaigns.ts'
import { findGoalBackfill, type GoalBackfill } from '../store/campaigns/goal-backfills.ts'
import type { Store } from '../store/store.ts'
import { findWorkspace } from '../store/workspaces/workspaces.ts'

/** The goals of a workspace: those by which the numbers in use are counted, and those of a running recount. */
export interface GoalCatalog {
  readonly workspaceId: string
  /** Raised with every change of what is in here, except for the cursor of a recount. */
  readonly version: number
  readonly caps: FactCaps
  readonly counted: Rules
  readonly pending: PendingGoals | undefined
  /** The last generation that was handed out to changed goals. */
  readonly generation: number
  /** The event names of all goals, counted and pending. */
  readonly eventNames: ReadonlySet<string>
  /** Campaign → the event names of its goals, counted and pending, and the longest window of any. */
  readonly eventsOfCampaign: ReadonlyMap<number, GoalEvents>
}

export interface GoalEvents {
  readonly names: ReadonlySet<string>
  readonly windowMs: number
}

/** What users count by in addition, as far as the recount has come: only goals, and only those of the campaigns it concerns. */
export interface PendingGoals {
  readonly rules: Rules
  readonly campaigns: ReadonlySet<number>
  /** The recount has come to users up to this id. */
  readonly userCursor: number
}

/**
 * The most workspaces whose goals are held, and the most bytes of these goals as JSON; in memory, each workspace takes some
 * kilobytes more. The one that was used least recently goes. Where more are busy at once, those with thousands of campaigns are read again
 * for each batch, which takes 0.3 s.
 */
const CATALOGS_MAX = 2_000
const CATALOGS_BYTES_MAX = 64 * 1024 * 1024
/** How often campaigns may change while they are read. */
const READ_TRIES_MAX = 10

interface CachedCatalog {
  readonly version: number
  readonly timezone: string
  readonly bytes: number
  readonly catalog: GoalCatalog
}

export interface GoalCatalogsOptions {
  readonly bytesMax?: number
  readonly caps?: FactCaps
}

export class GoalCatalogs {
  readonly #catalogs: LRUCache<string, CachedCatalog>
  readonly #caps: FactCaps

  constructor({ bytesMax = CATALOGS_BYTES_MAX, caps = FACT_CAPS }: GoalCatalogsOptions = {}) {
    this.#caps = caps
    this.#catalogs = new LRUCache({
      max: CATALOGS_MAX,
      maxSize: bytesMax,
      // What was read last is kept, however large it is.
      sizeCalculation: ({ bytes }) => Math.max(1, Math.min(bytes, bytesMax)),
    })
  }

  /** The goals as the transaction of `store` sees them; undefined for a workspace without campaigns. */
  async open(store: Store, workspaceId: string): Promise<GoalCatalog | undefined> {
    for (let tries = 0; tries < READ_TRIES_MAX; tries++) {
      const backfill = await findGoalBackfill(store, workspaceId)
      const stored = backfill && (await findWorkspace(store, workspaceId))
      if (!stored) return undefined
      const { timezone } = stored.workspace
      const known = this.#catalogs.get(workspaceId)
      if (known?.version === backfill.version && known.timezone === timezone) return withCursor(known.catalog, backfill)
      const { goalsBytes, countedBytes } = await measureCampaigns(store, workspaceId)
      const campaigns = await listAllCampaigns(store, workspaceId)
      // Where each statement sees what was committed before it, campaigns may be newer than their recount.
      if ((await findGoalBackfill(store, workspaceId))?.version !== backfill.version) continue
      const catalog = toCatalog(campaigns, backfill, { timezone, caps: this.#caps })
      // Where goals were changed, the earlier ones are in the catalog too.
      const bytes = catalog.pending ? goalsBytes + countedBytes : goalsBytes
      this.#catalogs.set(workspaceId, { version: backfill.version, timezone, bytes, catalog })
      return catalog
    }
    throw new Error(`the campaigns of the workspace ${workspaceId} change faster than they can be read`)
  }
}

/** Event name → the goals of some campaigns, counted and pending, that have conditions on events of that name. */
export function conditionalGoals({ counted, pending }: GoalCatalog, campaigns: Iterable<number>): Map<string, Goal[]> {
  const found = new Map<string, Goal[]>()
  const goals = new Set<Goal>()
  for (const campaign of campaigns) {
    for (const rules of [counted, pending?.rules]) {
      for (const goal of rules?.campaigns.get(campaign)?.goals ?? []) if (hasConditions(goal)) goals.add(goal)
    }
  }
  for (const goal of goals) {
    const known = found.get(goal.event)
    if (known) known.push(goal)
    else found.set(goal.event, [goal])
  }
  return found
}

/** Whether a series is of a number that is shown or will be; series of past goals are waiting to be deleted. */
export function isCurrentSeries(
  { counted, pending }: GoalCatalog,
  { campaign, generation }: Pick<Series, 'campaign' | 'generation'>,
): boolean {
  if (generation === NO_GENERATION || generation === counted.campaigns.get(campaign)?.generation) return true
  return generation === pending?.rules.campaigns.get(campaign)?.generation
}

/**
 * Whether campaigns count alike by both catalogs. Campaigns made between the two are in only one: they change nothing of what others
 * count, because nothing older than they are belongs to them.
 */
export function haveSameGoals(one: GoalCatalog, other: GoalCatalog): boolean {
  // Goals that change take a new generation, and those of a recount are in use once nothing is pending any more.
  const isBoth = (one.pending === undefined) === (other.pending === undefined)
  return isBoth && one.generation === other.generation && one.counted.timezone === other.counted.timezone
}

function withCursor(catalog: GoalCatalog, { userCursor }: GoalBackfill): GoalCatalog {
  return catalog.pending ? { ...catalog, pending: { ...catalog.pending, userCursor } } : catalog
}

/** What applies to all campaigns of a workspace. */
interface Common {
  readonly timezone: string
  readonly caps: FactCaps
}

function toCatalog(campaigns: readonly StoredCampaign[], backfill: GoalBackfill, common: Common): GoalCatalog {
  const counted = campaigns.map((campaign) => toCounted(campaign, campaign.countedGoals, campaign.countedGeneration))
  const next = campaigns.map((campaign, index) => {
    const { goals, pendingGeneration } = campaign
    // Campaigns that did not change are in memory once.
    return pendingGeneration === null
      ? (counted[index] as CampaignGoals)
      : toCounted(campaign, goals, pendingGeneration)
  })
  const recounted = campaigns.filter(({ pendingGeneration }) => pendingGeneration !== null)
  const concerned = new Set(recounted.map(({ number }) => number))
  const { userCursor } = backfill
  const pending = concerned.size > 0 ? { rules: toRules(next, common), campaigns: concerned, userCursor } : undefined
  const either = pending ? [...counted, ...next] : counted
  return {
    workspaceId: backfill.workspaceId,
    version: backfill.version,
    generation: backfill.generation,
    caps: common.caps,
    counted: toRules(counted, common),
    pending,
    eventNames: new Set(either.flatMap(({ goals }) => goals.map(({ event }) => event))),
    eventsOfCampaign: toEventsOfCampaign(either),
  }
}

function toCounted({ id, number }: StoredCampaign, goals: readonly Goal[], generation: number): CampaignGoals {
  return { id, number, goals, generation }
}

function toRules(campaigns: readonly CampaignGoals[], { timezone, caps }: Common): Rules {
  return {
    timezone,
    goalEventsMax: caps.goalEvents,
    campaigns: new Map(campaigns.map((campaign) => [campaign.number, campaign])),
  }
}

function toEventsOfCampaign(campaigns: readonly CampaignGoals[]): Map<number, GoalEvents> {
  const found = new Map<number, GoalEvents>()
  for (const { number, goals } of campaigns) {
    const known = found.get(number)
    const names = new Set([...(known?.names ?? []), ...goals.map(({ event }) => event)])
    found.set(number, { names, windowMs: Math.max(known?.windowMs ?? 0, ...goals.map(windowMs)) })
  }
  return found
}
