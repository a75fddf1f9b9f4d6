// Locale × variation: one number in a table of both, with links that show only one of them in the whole report.
import { Table, type Column } from '../../../components/content/table.tsx'
import { SelectField } from '../../../components/controls/field.tsx'
import { useAddress } from '../../../data/address.ts'
import type { VariationBody } from '../../../../src/operations/statistics/campaign-stats-body.ts'
import { measureHint, measureTitle, type Measure } from '../../../texts/campaigns/measures.ts'
import { reportText } from '../../../texts/campaigns/report.ts'
import { formatCount, formatPercent } from '../../../texts/format.ts'
import { EVERYTHING, type ReportQuestion } from './question.ts'
import { namesIn, numbersAt, useReport } from './report-context.ts'
import { Counted, Section } from './section.tsx'

/** A number to choose: its value, as a percentage or a count, and the count beneath it. */
interface Shown {
  readonly key: string
  readonly title: string
  readonly hint: string
  readonly by: 'message' | 'goal'
  readonly isRate: boolean
  readonly of: (numbers: VariationBody) => number
  readonly beneath: (numbers: VariationBody) => number
}

const MEASURES = [
  ['open_rate', 'impression'],
  ['ctr', 'click'],
  ['unsubscribe_rate', 'unsubscribe'],
  ['bounce_rate', 'bounce'],
  ['sent', 'sent'],
] as const satisfies readonly (readonly [measure: Measure, beneath: Measure])[]

export function Breakdown() {
  const address = useAddress()
  const { campaign, question, tree } = useReport()
  const { platform } = question.level
  const locales = tree.platforms[platform]?.locales
  const rows = [EVERYTHING.locale, ...namesIn(locales)]
  const variations = [EVERYTHING.variation, ...namesIn(locales?.[EVERYTHING.locale]?.variations)]
  const numbers = [
    ...MEASURES.map(([measure, beneath]) => ofMeasure(measure, beneath, question)),
    ...campaign.conversion_goals.map(({ name }) => ofGoal(name, question)),
  ]
  const shown = numbers.find(({ key }) => key === address.get('number')) ?? ofMeasure(...MEASURES[0], question)
  const valueAt = (locale: string, variation: string) => {
    const found = numbersAt(tree, { platform, locale, variation })
    return found && { value: shown.of(found), beneath: shown.beneath(found) }
  }
  const greatest = Math.max(
    0,
    ...rows.slice(1).flatMap((locale) => variations.slice(1).map((name) => valueAt(locale, name)?.value ?? 0)),
  )
  const csv = () => ({
    head: [reportText.locale, ...variations.map((name) => `${shown.title} ${titleOf('variation', name)}`)],
    rows: rows.map((locale) => [
      titleOf('locale', locale),
      ...variations.map((name) => valueAt(locale, name)?.value ?? null),
    ]),
  })
  return (
    <Section
      title={reportText.breakdown}
      lead={reportText.breakdownLead}
      csv={csv}
      actions={
        <div class="filters">
          <SelectField
            name="number"
            label={reportText.breakdownNumber}
            value={shown.key}
            options={numbers.map(({ key, title }) => ({ value: key, label: title }))}
            onChange={(number) => address.set({ number: number === MEASURES[0][0] ? undefined : number })}
          />
          <Counted what={shown.title} by={shown.by}>
            {shown.hint}
          </Counted>
        </div>
      }
    >
      <Table
        caption={reportText.breakdown}
        columns={columnsOf(variations, greatest, { shown, valueAt })}
        rows={rows}
        keyOf={(name) => name}
        hasCards={false}
      />
    </Section>
  )
}

interface Found {
  readonly value: number
  readonly beneath: number
}

interface Looked {
  readonly shown: Shown
  readonly valueAt: (locale: string, variation: string) => Found | undefined
}

function columnsOf(variations: readonly string[], greatest: number, { shown, valueAt }: Looked): Column<string>[] {
  return [
    { title: reportText.locale, cell: (locale) => <Choice name="locale" value={locale} /> },
    ...variations.map((variation) => ({
      title: titleOf('variation', variation),
      isNumber: true,
      head: <Choice name="variation" value={variation} />,
      cell: (locale: string) => {
        const isSum = locale === EVERYTHING.locale || variation === EVERYTHING.variation
        const found = valueAt(locale, variation)
        return <Value found={found} isRate={shown.isRate} part={isSum ? 0 : (found?.value ?? 0) / (greatest || 1)} />
      },
    })),
  ]
}

function ofMeasure(measure: Measure, beneath: Measure, { metric }: ReportQuestion): Shown {
  return {
    key: measure,
    title: measureTitle(measure),
    hint: measureHint(measure, metric),
    by: 'message',
    isRate: measure !== beneath,
    of: ({ performance_stats: stats }) => stats[measure],
    beneath: ({ performance_stats: stats }) => stats[beneath],
  }
}

function ofGoal(name: string, { attribution }: ReportQuestion): Shown {
  return {
    key: `goal:${name}`,
    title: reportText.goalRate(name),
    hint: `${reportText.explain.rate(reportText.divisors[attribution])} ${reportText.attributionHints[attribution]}`,
    by: 'goal',
    isRate: true,
    of: ({ conversion_goal_stats: goals }) => goals[name]?.cvr ?? 0,
    beneath: ({ conversion_goal_stats: goals }) => goals[name]?.conversions ?? 0,
  }
}

type Dimension = 'locale' | 'variation'

function titleOf(name: Dimension, value: string): string {
  return value === EVERYTHING[name] ? reportText.all[name] : value
}

/** A link that shows only this locale or variation in the whole report, or everything again. */
function Choice({ name, value }: { readonly name: Dimension; readonly value: string }) {
  const address = useAddress()
  const { question } = useReport()
  const isChosen = question.level[name] === value
  const isEverything = value === EVERYTHING[name]
  const href = address.with({ [name]: isEverything || isChosen ? undefined : value })
  return (
    <a href={href} aria-current={isChosen ? 'true' : undefined}>
      {titleOf(name, value)}
    </a>
  )
}

interface ValueProps {
  readonly found: Found | undefined
  readonly isRate: boolean
  /** Of the greatest value of the table, 0 to 1. */
  readonly part: number
}

function Value({ found, isRate, part }: ValueProps) {
  if (!found) return <span class="quiet-text">–</span>
  return (
    <span class="heat" style={{ '--part': part.toFixed(2) }}>
      {isRate ? formatPercent(found.value) : formatCount(found.value)}
      {isRate && <span class="under note">{formatCount(found.beneath)}</span>}
    </span>
  )
}
