// The goals by which campaigns count, cached for the pipeline and read again when a campaign changes. Reads tables and
// writes none.
import { LRUCache } from 'lru-cache'
import { NO_GENERATION, type Series } from '../core/statistics/cells.ts'
import type { CampaignGoals, Rules } from '../core/statistics/rules.ts'
import { FACT_CAPS, type FactCaps } from '../core/campaigns/facts.ts'
import { hasConditions, windowMs, type Goal } from '../core/campaigns/goal.ts'
import { listAllCampaigns, measureCampaigns, type StoredCampaign } from '../store/campaigns/campaigns.ts'
import { findGoalBackfill, type GoalBackfill } from '../store/campaigns/goal-backfills.ts'
import type { Store } from '../store/store.ts'
import { findWorkspace } from '../store/workspaces/workspaces.ts'

/** The goals of a workspace: those that count now, and those of a running backfill. */
export interface GoalCatalog {
  readonly workspaceId: string
  /** Raised with every change in here except that of the cursor of a backfill. */
  readonly version: number
  readonly caps: FactCaps
  readonly counted: Rules
  readonly pending: PendingGoals | undefined
  /** The last generation that changed goals received. */
  readonly generation: number
  /** The event names of all goals, counted and pending. */
  readonly eventNames: ReadonlySet<string>
  /** Campaign → the event names of its goals, counted and pending, and their longest window. */
  readonly eventsOfCampaign: ReadonlyMap<number, GoalEvents>
}

export interface GoalEvents {
  readonly names: ReadonlySet<string>
  readonly windowMs: number
}

/**
 * The goals by which users count in addition, once the backfill has reached them: only the goals of the campaigns that
 * changed.
 */
export interface PendingGoals {
  readonly rules: Rules
  readonly campaigns: ReadonlySet<number>
  /** The backfill has counted users up to this id. */
  readonly userCursor: number
}

/**
 * The most workspaces cached, and the most bytes of their goals as JSON. Each workspace takes some kilobytes of memory
 * more. The least recently used one is evicted. When more are busy at once, workspaces with thousands of campaigns are
 * read again for each batch, which takes 0.3 s.
 */
const CATALOGS_MAX = 2_000
const CATALOGS_BYTES_MAX = 64 * 1024 * 1024
/** Tries to read campaigns that change meanwhile. */
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
      // The entry read last always fits, however large it is.
      sizeCalculation: ({ bytes }) => Math.max(1, Math.min(bytes, bytesMax)),
    })
  }

  /** The goals as the transaction of `store` sees them. Returns undefined for a workspace without campaigns. */
  async open(store: Store, workspaceId: string): Promise<GoalCatalog | undefined> {
    for (let tries = 0; tries < READ_TRIES_MAX; tries++) {
      const backfill = await findGoalBackfill(store, workspaceId)
      const stored = backfill && (await findWorkspace(store, workspaceId))
      if (!stored) return undefined
      const { timezone } = stored.workspace
      const cached = this.#catalogs.get(workspaceId)
      if (cached?.version === backfill.version && cached.timezone === timezone)
        return withCursor(cached.catalog, backfill)
      const { goalsBytes, countedBytes } = await measureCampaigns(store, workspaceId)
      const campaigns = await listAllCampaigns(store, workspaceId)
      // When each statement sees the latest commits, campaigns may be newer than their backfill.
      if ((await findGoalBackfill(store, workspaceId))?.version !== backfill.version) continue
      const catalog = toCatalog(campaigns, backfill, { timezone, caps: this.#caps })
      // After goals change, the catalog holds the earlier ones too.
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
    const goalsOfEvent = found.get(goal.event)
    if (goalsOfEvent) goalsOfEvent.push(goal)
    else found.set(goal.event, [goal])
  }
  return found
}

/** Whether a series belongs to current or pending goals. Series of past goals wait to be deleted. */
export function isCurrentSeries(
  { counted, pending }: GoalCatalog,
  { campaign, generation }: Pick<Series, 'campaign' | 'generation'>,
): boolean {
  if (generation === NO_GENERATION || generation === counted.campaigns.get(campaign)?.generation) return true
  return generation === pending?.rules.campaigns.get(campaign)?.generation
}

/**
 * Whether campaigns count the same by both catalogs. Campaigns created between the two are in only one: they do not
 * change the counts of others, because no older fact belongs to them.
 */
export function haveSameGoals(one: GoalCatalog, other: GoalCatalog): boolean {
  // Changed goals receive a new generation. When nothing is pending any more, the goals of the backfill are in use.
  const isBoth = (one.pending === undefined) === (other.pending === undefined)
  return isBoth && one.generation === other.generation && one.counted.timezone === other.counted.timezone
}

function withCursor(catalog: GoalCatalog, { userCursor }: GoalBackfill): GoalCatalog {
  return catalog.pending ? { ...catalog, pending: { ...catalog.pending, userCursor } } : catalog
}

/** The settings that all campaigns of a workspace share. */
interface Common {
  readonly timezone: string
  readonly caps: FactCaps
}

function toCatalog(campaigns: readonly StoredCampaign[], backfill: GoalBackfill, common: Common): GoalCatalog {
  const counted = campaigns.map((campaign) => toCounted(campaign, campaign.countedGoals, campaign.countedGeneration))
  const next = campaigns.map((campaign, index) => {
    const { goals, pendingGeneration } = campaign
    // Unchanged campaigns are in memory once.
    return pendingGeneration === null
      ? (counted[index] as CampaignGoals)
      : toCounted(campaign, goals, pendingGeneration)
  })
  const changed = campaigns.filter(({ pendingGeneration }) => pendingGeneration !== null)
  const changedNumbers = new Set(changed.map(({ number }) => number))
  const { userCursor } = backfill
  const pending =
    changedNumbers.size > 0 ? { rules: toRules(next, common), campaigns: changedNumbers, userCursor } : undefined
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
    const earlier = found.get(number)
    const names = new Set([...(earlier?.names ?? []), ...goals.map(({ event }) => event)])
    found.set(number, { names, windowMs: Math.max(earlier?.windowMs ?? 0, ...goals.map(windowMs)) })
  }
  return found
}
