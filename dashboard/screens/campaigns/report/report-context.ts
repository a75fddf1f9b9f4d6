// What all sections of a report show: the campaign, the question, and the numbers that answer it.
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { VariationBody } from '../../../../src/operations/statistics/campaign-stats-body.ts'
import type { AnswerOf } from '../../../data/contracts.ts'
import { EVERYTHING, type Campaign, type Level, type ReportQuestion } from './question.ts'

/** The numbers of all platforms, locales and variations. */
export type StatsTree = AnswerOf<'POST', '/core-services/v1/campaign-stats'>['data'][string][0]

export interface ReportState {
  readonly campaign: Campaign
  readonly question: ReportQuestion
  readonly tree: StatsTree
  /** Those of the chosen platform, locale and variation. */
  readonly numbers: VariationBody
  readonly processedUntil: string
}

export const ShownReportContext = createContext<ReportState | undefined>(undefined)

export function useReport(): ReportState {
  const report = useContext(ShownReportContext)
  if (!report) throw new Error('this component is outside of a report')
  return report
}

/** Undefined where nothing is counted. */
export function numbersAt(tree: StatsTree, { platform, locale, variation }: Level): VariationBody | undefined {
  const found = tree.platforms[platform]?.locales[locale]?.variations[variation]
  return found && 'performance_stats' in found ? found : undefined
}

/** The names within an object of the answer, without its aggregate. */
export function namesIn(members: Readonly<Record<string, unknown>> | undefined): string[] {
  const aggregates: readonly string[] = [...Object.values(EVERYTHING), ...CONTROL_GROUPS]
  return Object.keys(members ?? {})
    .filter((name) => !aggregates.includes(name))
    .toSorted()
}

export const CONTROL_GROUPS = ['campaign_control_group', 'global_control_group'] as const
