// Conversion goals: who did what the campaign is for, and what a control group did without it.
import { Badge } from '../../../components/content/badge.tsx'
import { Empty } from '../../../components/content/empty.tsx'
import { Table, type Column } from '../../../components/content/table.tsx'
import { LinkButton } from '../../../components/controls/button.tsx'
import type { AttributionType } from '../../../../src/core/statistics/cells.ts'
import type { VariationBody } from '../../../../src/operations/statistics/campaign-stats-body.ts'
import { useWorkspace } from '../../../data/session.ts'
import { reportText } from '../../../texts/campaigns/report.ts'
import { formatChange, formatCount, formatPercent } from '../../../texts/format.ts'
import { useReport } from './report-context.ts'
import { Counted, Section } from './section.tsx'

type GoalNumbers = VariationBody['conversion_goal_stats'][string]

interface NamedGoal extends GoalNumbers {
  readonly name: string
}

export function Goals() {
  const { numbers, question } = useReport()
  const goals = Object.entries(numbers.conversion_goal_stats).map(([name, goal]) => ({ name, ...goal }))
  if (goals.length === 0) return <NoGoals />
  const csv = () => ({
    head: [
      reportText.goal,
      reportText.conversions,
      reportText.rate,
      reportText.uplift,
      reportText.low,
      reportText.high,
      reportText.verdict,
    ],
    rows: goals.map((goal) => [
      goal.name,
      goal.conversions,
      goal.cvr,
      ...(isCompared(goal) ? [goal.uplift, goal.uplift_low, goal.uplift_high] : [null, null, null]),
      verdictOf(goal)[1],
    ]),
  })
  return (
    <Section title={reportText.goals} lead={reportText.goalsLead} csv={csv}>
      <Table
        caption={reportText.goals}
        columns={columnsOf(goals, question.attribution)}
        rows={goals}
        keyOf={({ name }) => name}
      />
    </Section>
  )
}

function NoGoals() {
  const { may, page } = useWorkspace()
  const { campaign } = useReport()
  const add = may('campaigns.write') && (
    <LinkButton href={page('campaigns', campaign.campaign_id, 'edit')}>{reportText.addGoals}</LinkButton>
  )
  return (
    <Section title={reportText.goals}>
      <Empty icon="target" title={reportText.noGoals} action={add}>
        {reportText.noGoalsLead}
      </Empty>
    </Section>
  )
}

function columnsOf(goals: readonly NamedGoal[], attribution: AttributionType): Column<NamedGoal>[] {
  const explained = (title: string, text: string, by: 'goal' | 'audience' = 'goal') => (
    <Counted what={title} by={by}>
      {text}
    </Counted>
  )
  const { explain } = reportText
  const widest = Math.max(
    ...goals.flatMap((goal) => [toScale(goal.uplift_low), toScale(goal.uplift_high)].map(Math.abs)),
  )
  return [
    { title: reportText.goal, cell: ({ name }) => name },
    {
      title: reportText.conversions,
      isNumber: true,
      explained: explained(
        reportText.conversions,
        `${explain.conversions} ${reportText.attributionHints[attribution]}`,
      ),
      cell: ({ conversions }) => formatCount(conversions),
    },
    {
      title: reportText.rate,
      isNumber: true,
      explained: explained(reportText.rate, explain.rate(reportText.divisors[attribution])),
      cell: ({ cvr }) => formatPercent(cvr),
    },
    {
      title: reportText.uplift,
      isNumber: true,
      explained: explained(reportText.uplift, explain.uplift, 'audience'),
      cell: (goal) => (isCompared(goal) ? formatChange(goal.uplift) : <span class="quiet-text">–</span>),
    },
    {
      title: reportText.interval,
      explained: explained(reportText.interval, explain.interval, 'audience'),
      cell: (goal) => isCompared(goal) && <Interval goal={goal} widest={widest} />,
    },
    { title: reportText.verdict, isTight: true, cell: (goal) => <Verdict goal={goal} /> },
  ]
}

/** The API answers 0 for all three where there is nothing to compare. */
function isCompared({ uplift, uplift_low: low, uplift_high: high }: GoalNumbers): boolean {
  return uplift !== 0 || low !== 0 || high !== 0
}

function verdictOf(goal: GoalNumbers): readonly [kind: 'plain' | 'good' | 'bad', text: string] {
  if (!isCompared(goal)) return ['plain', reportText.noControl]
  if (!goal.uplift_significant) return ['plain', reportText.unsure]
  return goal.uplift > 0 ? ['good', reportText.better] : ['bad', reportText.worse]
}

function Verdict({ goal }: { readonly goal: GoalNumbers }) {
  const [kind, text] = verdictOf(goal)
  const icon = kind === 'good' ? 'trending-up' : kind === 'bad' ? 'trending-down' : undefined
  return (
    <span title={isCompared(goal) ? undefined : reportText.noControlHint}>
      <Badge kind={kind} {...(icon && { icon })}>
        {text}
      </Badge>
    </span>
  )
}

const WIDTH = 120
const HEIGHT = 16
/** Ten times as many. */
const SCALE_MAX = Math.log(10)

/** Of ratios, as the interval is computed: twice as many is as far from 0 as half as many. */
function toScale(uplift: number): number {
  return Math.max(-SCALE_MAX, Math.min(SCALE_MAX, Math.log(1 + uplift / 100)))
}

/** The interval as a line around its estimate, over the line of no difference. `widest`: the farthest bound in the table, on the scale. */
function Interval({ goal, widest }: { readonly goal: GoalNumbers; readonly widest: number }) {
  const { uplift, uplift_low: low, uplift_high: high } = goal
  const toX = (value: number) => WIDTH / 2 + (toScale(value) / (widest || 1)) * (WIDTH / 2 - 4)
  const middle = HEIGHT / 2
  return (
    <span class="interval">
      <svg class={verdictOf(goal)[0]} width={WIDTH} height={HEIGHT} aria-hidden="true">
        <line class="zero" x1={toX(0)} x2={toX(0)} y1={0} y2={HEIGHT} />
        <line x1={toX(low)} x2={toX(high)} y1={middle} y2={middle} />
        <circle cx={toX(uplift)} cy={middle} r={3.5} />
      </svg>
      <span class="number">{reportText.intervalLabel(formatChange(low), formatChange(high))}</span>
    </span>
  )
}
