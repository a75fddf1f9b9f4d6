// A naive model of campaign statistics to compare the real ones with: for each question it loops over all facts and
// counts with Maps and Sets. Written from `docs/api/statistics.md`, independently of the code under test: it shares only
// types with it.
import type { Group } from '../../../src/core/campaigns/facts.ts'
import type { Goal } from '../../../src/core/campaigns/goal.ts'
import {
  controlConversionsOf,
  conversionsOf,
  countedOf,
  isMetAfter,
  type IsCounted,
} from './statistics-model-conversions.ts'
import type { Attribution, ControlConversion, Conversion } from './statistics-model-conversions.ts'
import { modelFacts, NO_CAPS, type ModelCaps } from './statistics-model-facts.ts'
import type {
  Audience,
  Message,
  ModelCampaign,
  ModelFacts,
  ModelWorkspace,
  Dimensions,
} from './statistics-model-facts.ts'
import { NO_UPLIFT, percentage, upliftOf, type Side, type Uplift } from './statistics-model-numbers.ts'
import { funnelOf, unitsOf, type Funnel } from './statistics-model-units.ts'

export interface Question {
  /** `yyyy-mm-dd`, both inclusive. */
  readonly startDate: string
  readonly endDate: string
  readonly attributionType: Attribution
  readonly metricType: 'TOTAL' | 'UNIQUE'
}

type Named<Value> = Readonly<Record<string, Value>>

export interface ModelGoalStats extends Uplift {
  readonly conversions: number
  readonly cvr: number
}

export interface ModelControlStats {
  readonly conversion_goal_stats: Named<ModelGoalStats>
  readonly delivery_funnel: Named<number>
  readonly failure_breakdown: Named<number>
}

export interface ModelControls {
  readonly campaign_control_group: ModelControlStats
  readonly global_control_group: ModelControlStats
}

export interface ModelVariation extends ModelControls {
  readonly performance_stats: Named<number>
  readonly conversion_goal_stats: Named<ModelGoalStats>
  readonly delivery_funnel: Named<number>
  readonly failure_breakdown: Named<number>
}

/** Beside the variations stand the two control groups, under their own names. */
export interface ModelStats {
  readonly platforms: Named<{
    readonly locales: Named<{ readonly variations: Named<ModelVariation | ModelControlStats> }>
  }>
}

/** Selects the facts of one node in the tree of an answer. */
interface DimensionFilter {
  readonly platform: string
  readonly locale: string
  readonly variation: string
}

/** The facts in the range of a question. */
interface Counted {
  readonly messages: readonly Message[]
  /** The audiences of target groups, and those of control groups. */
  readonly audiences: readonly Audience[]
  readonly controls: readonly Audience[]
  readonly conversions: readonly Conversion[]
  readonly controlConversions: readonly ControlConversion[]
}

const ALL_PLATFORMS = 'all_platforms'
const ALL_LOCALES = 'all_locales'
const ALL_VARIATIONS = 'all_variations'

/** The number of performance that `cvr` divides by. */
const DIVISORS: Readonly<Record<Attribution, string>> = {
  VIEW_THROUGH: 'impression',
  CLICK_THROUGH: 'click',
  IN_SESSION: 'click',
  TOTAL_CONVERSIONS: 'sent',
  CLICK_CONVERSIONS: 'click',
}

const CONTROL_REASONS: Readonly<Record<string, string>> = {
  campaign_control: 'user_removed_due_to_campaing_control_group',
  global_control: 'user_removed_due_to_global_control_group',
}

export class StatisticsModel {
  readonly #campaigns: readonly ModelCampaign[]
  readonly #facts: ModelFacts
  readonly #conversions: readonly Conversion[]
  readonly #controlConversions: readonly ControlConversion[]
  readonly #isCounted: IsCounted

  constructor(workspace: ModelWorkspace, caps: ModelCaps = NO_CAPS) {
    this.#campaigns = workspace.campaigns
    this.#facts = modelFacts(workspace, caps)
    const isCounted = countedOf(workspace.campaigns, this.#facts, caps)
    const countsEvent = (conversion: Conversion | ControlConversion) =>
      isCounted(conversion.campaignId, conversion.event)
    this.#conversions = conversionsOf(workspace.campaigns, this.#facts).filter(countsEvent)
    this.#controlConversions = controlConversionsOf(workspace.campaigns, this.#facts).filter(countsEvent)
    this.#isCounted = isCounted
  }

  /** The answer of Fetch Campaign Stats at `data[campaignId][0]`; undefined when it has none. */
  campaignStats(campaignId: string, question: Question): ModelStats | undefined {
    const counted = this.#countedOf(campaignId, question)
    const goals = this.#campaigns.find(({ id }) => id === campaignId)?.goals ?? []
    const all = dimensionsOf(counted)
    if (all.length === 0) return undefined
    return {
      platforms: namedOf([ALL_PLATFORMS, ...all.map((one) => one.platform)], (platform) => {
        const onPlatform = all.filter((one) => matches(one, { ...EVERYWHERE, platform }))
        return {
          locales: namedOf([ALL_LOCALES, ...onPlatform.map((one) => one.locale)], (locale) => {
            const filter = { platform, locale, variation: ALL_VARIATIONS }
            const names = onPlatform.filter((one) => matches(one, filter)).map((one) => one.variation)
            const controls = this.#controlsAt(filter, counted, goals, question)
            const variations = namedOf([ALL_VARIATIONS, ...names], (variation) => {
              return { ...this.#variationAt({ ...filter, variation }, counted, goals, question), ...controls }
            })
            return { variations: { ...variations, ...controls } }
          }),
        }
      }),
    }
  }

  #countedOf(campaignId: string, { startDate, endDate }: Question): Counted {
    const isInRange = (fact: { campaignId: string; day: string }): boolean =>
      fact.campaignId === campaignId && fact.day >= startDate && fact.day <= endDate
    const audiences = this.#facts.audiences.filter((audience) => isInRange(audience) && audience.isCounted)
    return {
      messages: this.#facts.messages.filter(isInRange),
      audiences: audiences.filter(({ group }) => group === 'target'),
      controls: audiences.filter(({ group }) => group !== 'target'),
      conversions: this.#conversions.filter(isInRange),
      controlConversions: this.#controlConversions.filter(isInRange),
    }
  }

  #variationAt(filter: DimensionFilter, counted: Counted, goals: readonly Goal[], question: Question) {
    const messages = counted.messages.filter((message) => matches(message, filter))
    const audiences = counted.audiences.filter((audience) => matches(audience, filter))
    const emails = messages.filter(({ platform }) => platform === 'EMAIL')
    const performance = performanceOf(messages, emails, question)
    const { delivery_funnel, failure_breakdown }: Funnel = funnelOf(unitsOf(audiences, this.#facts.messages))
    const controlUsers = this.#upliftControls(filter, counted)
    const goalStats = (goal: Goal): ModelGoalStats => {
      const conversions = counted.conversions
        .filter((conversion) => conversion.goal === goal.name && matches(conversion, filter))
        .filter(({ attribution }) => attribution === question.attributionType)
      const count = countOf(conversions, question)
      const divisor = performance[DIVISORS[question.attributionType]] ?? 0
      const uplift = upliftOf(this.#sideOf(audiences, goal), this.#sideOf(controlUsers, goal))
      return { conversions: count, cvr: percentage(count, divisor), ...uplift }
    }
    return {
      performance_stats: performance,
      conversion_goal_stats: namedGoals(goals, goalStats),
      delivery_funnel,
      failure_breakdown,
    }
  }

  /** The audience of the campaign control group at this platform and locale; where it has none, of the global one. */
  #upliftControls(filter: DimensionFilter, { controls }: Counted): Audience[] {
    const here = controls.filter((audience) => matches(audience, { ...filter, variation: ALL_VARIATIONS }))
    const ofCampaign = here.filter(({ group }) => group === 'campaign_control')
    return ofCampaign.length > 0 ? ofCampaign : here
  }

  /** The number of users in these audiences, and of those who met the goal in the window after one. */
  #sideOf(audiences: readonly Audience[], goal: Goal): Side {
    const met = audiences.filter((audience) => {
      const events = this.#facts.events.filter((event) => this.#isCounted(audience.campaignId, event))
      return isMetAfter(audience, goal, events)
    })
    return { users: usersIn(audiences), met: usersIn(met) }
  }

  #controlsAt(filter: DimensionFilter, counted: Counted, goals: readonly Goal[], question: Question): ModelControls {
    const controlAt = (wanted: Group): ModelControlStats => {
      const audiences = counted.controls.filter((audience) => audience.group === wanted && matches(audience, filter))
      const conversions = counted.controlConversions.filter((one) => one.group === wanted && matches(one, filter))
      const units = unitsOf(audiences, []).length
      const goalStats = (goal: Goal): ModelGoalStats => {
        const ofGoal = conversions.filter((conversion) => conversion.goal === goal.name)
        const count = countOf(ofGoal, question)
        return { conversions: count, cvr: percentage(count, usersIn(audiences)), ...NO_UPLIFT }
      }
      return {
        conversion_goal_stats: namedGoals(goals, goalStats),
        delivery_funnel: { reachable_users_in_segment: units },
        failure_breakdown: units > 0 ? { [CONTROL_REASONS[wanted] ?? wanted]: units } : {},
      }
    }
    return { campaign_control_group: controlAt('campaign_control'), global_control_group: controlAt('global_control') }
  }
}

const EVERYWHERE: DimensionFilter = { platform: ALL_PLATFORMS, locale: ALL_LOCALES, variation: ALL_VARIATIONS }

function matches(dimensions: Dimensions, { platform, locale, variation }: DimensionFilter): boolean {
  return (
    (platform === ALL_PLATFORMS || dimensions.platform === platform) &&
    (locale === ALL_LOCALES || dimensions.locale === locale) &&
    (variation === ALL_VARIATIONS || dimensions.variation === variation)
  )
}

/** The dimensions that create keys of the tree; control groups ignore variations. */
function dimensionsOf({ messages, audiences, controls, conversions, controlConversions }: Counted): Dimensions[] {
  const ofControls = controls.map(({ platform, locale }) => ({ platform, locale, variation: null }))
  return [...messages, ...audiences, ...ofControls, ...conversions, ...controlConversions]
}

/** Each name once with its value. Null is no name. */
function namedOf<Value>(names: readonly (string | null)[], valueOf: (name: string) => Value): Named<Value> {
  const distinct = [...new Set(names)].filter((name) => name !== null)
  return Object.fromEntries(distinct.map((name) => [name, valueOf(name)]))
}

function namedGoals(goals: readonly Goal[], statsOf: (goal: Goal) => ModelGoalStats): Named<ModelGoalStats> {
  return Object.fromEntries(goals.map((goal) => [goal.name, statsOf(goal)]))
}

/** Both lists are of one node of the tree; `emails` are the messages on EMAIL. */
function performanceOf(messages: readonly Message[], emails: readonly Message[], question: Question): Named<number> {
  const countIn = (some: readonly Message[], wanted: string): number =>
    countOf(
      some.filter(({ kind }) => kind === wanted),
      question,
    )
  const count = (wanted: string) => countIn(messages, wanted)
  const bounces = (wanted: string) =>
    countOf(
      messages.filter(({ kind, reason }) => kind === 'bounce' && reason === wanted),
      question,
    )
  const [attempted, sent, failed, delivered] = [count('attempted'), count('sent'), count('failed'), count('delivered')]
  const [impression, click] = [count('impression'), count('click')]
  const [bounce, complaint, unsubscribe] = [count('bounce'), count('complaint'), count('unsubscribe')]
  const isAssumed = countIn(emails, 'delivered') === 0 && countIn(emails, 'sent') > 0
  const assumed = isAssumed ? Math.max(0, countIn(emails, 'sent') - countIn(emails, 'bounce')) : 0
  return {
    attempted,
    sent,
    failed,
    impression,
    click,
    ctr: percentage(click, impression),
    delivery_rate: percentage(delivered > 0 || isAssumed ? delivered + assumed : impression, sent),
    sent_rate: percentage(sent, attempted),
    failure_rate: percentage(failed, attempted),
    delivered,
    bounce,
    hard_bounce: bounces('hard_bounce'),
    soft_bounce: bounces('soft_bounce'),
    complaint,
    unsubscribe,
    machine_impression: count('machine_impression'),
    machine_click: count('machine_click'),
    proxy_impression: count('proxy_impression'),
    open_rate: percentage(impression, delivered + assumed),
    unsubscribe_rate: percentage(unsubscribe, sent),
    complaint_rate: percentage(complaint, sent),
    bounce_rate: percentage(bounce, sent),
  }
}

function countOf(facts: readonly { user: string }[], { metricType }: Question): number {
  return metricType === 'TOTAL' ? facts.length : usersIn(facts)
}

function usersIn(facts: readonly { user: string }[]): number {
  return new Set(facts.map(({ user }) => user)).size
}
