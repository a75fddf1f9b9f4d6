// Control groups: people of the audience who are sent nothing, and what they did all the same.
import { Empty } from '../../../components/content/empty.tsx'
import { Table, type Column } from '../../../components/content/table.tsx'
import { reportText } from '../../../texts/campaigns/report.ts'
import { formatCount, formatPercent } from '../../../texts/format.ts'
import { useReport } from './report-context.ts'
import { Counted, Section } from './section.tsx'

const GROUPS = [
  { key: 'campaign_control_group', title: reportText.campaignControl },
  { key: 'global_control_group', title: reportText.globalControl },
] as const

interface ControlRow {
  readonly title: string
  readonly units: number
  readonly goal: string | undefined
  readonly conversions: number
  readonly cvr: number
}

export function Controls() {
  const { numbers } = useReport()
  const rows = GROUPS.flatMap(({ key, title }): ControlRow[] => {
    const { delivery_funnel: funnel, conversion_goal_stats: goals } = numbers[key]
    const units = funnel.reachable_users_in_segment
    if (units === 0) return []
    const named = Object.entries(goals)
    if (named.length === 0) return [{ title, units, goal: undefined, conversions: 0, cvr: 0 }]
    return named.map(([goal, { conversions, cvr }]) => ({ title, units, goal, conversions, cvr }))
  })
  if (rows.length === 0) {
    return (
      <Section title={reportText.controls}>
        <Empty icon="users-round" title={reportText.noControls}>
          {reportText.noControlsLead}
        </Empty>
      </Section>
    )
  }
  const csv = () => ({
    head: [reportText.group, reportText.units, reportText.goal, reportText.conversions, reportText.rate],
    rows: rows.map(({ title, units, goal, conversions, cvr }) => [
      title,
      units,
      goal ?? null,
      ...(goal === undefined ? [null, null] : [conversions, cvr]),
    ]),
  })
  return (
    <Section title={reportText.controls} lead={reportText.controlsLead} csv={csv}>
      <Table
        caption={reportText.controls}
        columns={columns()}
        rows={rows}
        keyOf={({ title, goal }) => `${title} ${goal}`}
      />
    </Section>
  )
}

const counted = (title: string, text: string, by: 'goal' | 'audience') => (
  <Counted what={title} by={by}>
    {text}
  </Counted>
)

const { explain } = reportText
const columns = (): Column<ControlRow>[] => [
  { title: reportText.group, cell: ({ title }) => title },
  {
    title: reportText.units,
    isNumber: true,
    explained: counted(reportText.units, explain.controlUnits, 'audience'),
    cell: ({ units }) => formatCount(units),
  },
  { title: reportText.goal, cell: ({ goal }) => goal ?? '–' },
  {
    title: reportText.conversions,
    isNumber: true,
    explained: counted(reportText.conversions, `${explain.controlConversions} ${reportText.controlHint}`, 'goal'),
    cell: ({ goal, conversions }) => (goal === undefined ? '–' : formatCount(conversions)),
  },
  {
    title: reportText.rate,
    isNumber: true,
    explained: counted(reportText.rate, explain.controlRate, 'goal'),
    cell: ({ goal, cvr }) => (goal === undefined ? '–' : formatPercent(cvr)),
  },
]
