// Small reports and questions for examples of campaign statistics. By default everything concerns the campaign `c1` and
// its customer `ann` at noon of one day.
import type { Goal } from '../../../src/core/campaigns/goal.ts'
import type { AudienceReport, MessageReport, ModelWorkspace, TrackedEvent } from './statistics-model-facts.ts'
import { StatisticsModel, type ModelControlStats, type ModelVariation, type Question } from './statistics-model.ts'

export const HOUR = 3_600_000
export const NOON = Date.parse('2026-03-10T12:00:00Z')

export const DAY_OF_NOON: Question = {
  startDate: '2026-03-10',
  endDate: '2026-03-10',
  attributionType: 'VIEW_THROUGH',
  metricType: 'TOTAL',
}

export interface Facts extends Partial<ModelWorkspace> {
  /** The goals of the campaign `c1`, when no campaigns are given. */
  readonly goals?: readonly Goal[]
}

export function workspace({ goals = [], ...facts }: Facts): ModelWorkspace {
  const campaigns = [{ id: 'c1', goals }]
  return { timezone: 'UTC', users: [], campaigns, audiences: [], messages: [], events: [], ...facts }
}

export function statsOf(facts: Facts, question: Question = DAY_OF_NOON) {
  return new StatisticsModel(workspace(facts)).campaignStats('c1', question)
}

export interface Where {
  readonly question?: Question
  readonly platform?: string
  readonly locale?: string
  readonly variation?: string
}

export function variationOf(facts: Facts, where: Where = {}): ModelVariation | undefined {
  const { question, platform = 'all_platforms', locale = 'all_locales', variation = 'all_variations' } = where
  const variations = statsOf(facts, question)?.platforms[platform]?.locales[locale]?.variations
  return variations?.[variation] as ModelVariation | undefined
}

export function controlOf(
  facts: Facts,
  group: 'campaign_control_group' | 'global_control_group',
  question: Question = DAY_OF_NOON,
  locale = 'all_locales',
): ModelControlStats | undefined {
  return statsOf(facts, question)?.platforms['all_platforms']?.locales[locale]?.variations[group]
}

/** The locales, and the variations in all of them, without the control groups. */
export function keysOf(facts: Facts): { locales: string[]; variations: string[] } {
  const locales = statsOf(facts)?.platforms['all_platforms']?.locales ?? {}
  const variations = Object.keys(locales['all_locales']?.variations ?? {})
  return {
    locales: Object.keys(locales).toSorted(),
    variations: variations.filter((name) => !name.endsWith('_control_group')).toSorted(),
  }
}

export function member(report: Partial<AudienceReport>): AudienceReport {
  return {
    campaignId: 'c1',
    customerId: 'ann',
    platform: 'email',
    evaluatedAt: NOON,
    group: 'target',
    variation: null,
    locale: null,
    removed: null,
    ...report,
  }
}

export function message(report: Partial<MessageReport>): MessageReport {
  return {
    campaignId: 'c1',
    customerId: 'ann',
    platform: 'email',
    deviceId: null,
    kind: 'sent',
    time: NOON,
    messageId: null,
    reason: null,
    ...report,
  }
}

export function event(report: Partial<TrackedEvent>): TrackedEvent {
  return { eventId: 'e', customerId: 'ann', action: 'purchase', time: NOON, attributes: {}, ...report }
}

export function goal(settings: Partial<Goal>): Goal {
  return { name: 'bought', event: 'purchase', where: [], windowHours: 1, ...settings }
}
