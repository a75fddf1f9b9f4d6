// Over time: the numbers of each day, as lines or as a table.
import { Shown } from '../../../components/content/shown.tsx'
import { Table, type Column } from '../../../components/content/table.tsx'
import { Button } from '../../../components/controls/button.tsx'
import { Switch } from '../../../components/controls/field.tsx'
import { useAddress } from '../../../data/address.ts'
import type { AnswerOf } from '../../../data/contracts.ts'
import { useQuery, type ShownQuery } from '../../../data/queries.ts'
import { measureHint, measureTitle, type Measure } from '../../../texts/campaigns/measures.ts'
import { reportText } from '../../../texts/campaigns/report.ts'
import { formatCount, formatDay, formatDays } from '../../../texts/format.ts'
import { Chart } from './chart/chart.tsx'
import type { ChartLine } from './chart/draw-chart.ts'
import { useReport, type ReportState } from './report-context.ts'
import { Counted, Section } from './section.tsx'

type Answer = AnswerOf<'POST', '/core-services/v1/campaign-stats/daily'>
type Day = Answer['days'][number]

const GROUPS = ['engagement', 'sending', 'conversions'] as const
type Group = (typeof GROUPS)[number]

const MEASURES: { readonly [group in Exclude<Group, 'conversions'>]: readonly Measure[] } = {
  engagement: ['impression', 'click', 'unsubscribe'],
  sending: ['sent', 'delivered', 'bounce'],
}

/** A campaign has at most five goals. */
const COLOURS = ['var(--accent)', 'var(--warn)', 'var(--good)'] as const

/** One line of the chart and one column of the table. */
interface DailySeries {
  readonly title: string
  readonly hint: string
  readonly by: 'message' | 'goal'
  readonly of: (numbers: Pick<Day, 'performance_stats' | 'conversion_goal_stats'>) => number
}

export function OverTime() {
  const address = useAddress()
  const report = useReport()
  const { campaign, question } = report
  const { from, to, metric } = question
  const days = useDays(report)
  const groups = GROUPS.filter((group) => group !== 'conversions' || campaign.conversion_goals.length > 0)
  const group = groups.find((name) => name === address.get('lines')) ?? 'engagement'
  const isTable = address.get('view') === 'table'
  const series = seriesOf(group, report)
  const all = GROUPS.flatMap((name) => seriesOf(name, report))
  const answered = days.state === 'filled' ? days.answer.days : []
  const csv = () => ({
    head: [reportText.day, ...all.map(({ title }) => title)],
    rows: answered.map((day) => [day.date, ...all.map(({ of }) => of(day))]),
  })
  return (
    <Section
      title={reportText.overTime}
      lead={reportText.overTimeLead[metric]}
      csv={csv}
      actions={
        <>
          <Switch
            label={reportText.series}
            value={group}
            options={groups.map((value) => ({ value, label: reportText.groups[value] }))}
            onChange={(value) => address.set({ lines: value === 'engagement' ? undefined : value })}
          />
          <Button
            kind="quiet"
            icon={isTable ? 'chart-line' : 'table'}
            onClick={() => address.set({ view: isTable ? undefined : 'table' })}
          >
            {isTable ? reportText.asChart : reportText.asTable}
          </Button>
        </>
      }
    >
      <Shown of={days} lines={6}>
        {({ days: shown, adds_up: addsUp }) =>
          isTable ? (
            <DayTable days={shown} series={series} addsUp={addsUp} />
          ) : (
            <Chart
              label={reportText.chartLabel(series.map(({ title }) => title).join(', '), formatDays(from, to))}
              days={formatDays(from, to)}
              dates={shown.map(({ date }) => date)}
              lines={series.map((line, index) => toLine(line, index, { days: shown, report }))}
            />
          )
        }
      </Shown>
    </Section>
  )
}

function useDays({ campaign, question }: ReportState): ShownQuery<Answer> {
  const { from, to, attribution, metric, level } = question
  return useQuery({
    key: ['daily', campaign.campaign_id, from, to, attribution, metric, level],
    ask: (client, signal) =>
      client.post('/core-services/v1/campaign-stats/daily', {
        body: {
          request_id: 'report',
          campaign_id: campaign.campaign_id,
          start_date: from,
          end_date: to,
          attribution_type: attribution,
          metric_type: metric,
          // The answer of Fetch Campaign Stats has no other platforms.
          level: level as { readonly platform: 'EMAIL'; readonly locale: string; readonly variation: string },
        },
        signal,
      }),
    topics: ['statistics'],
  })
}

function seriesOf(group: Group, { campaign, question }: ReportState): DailySeries[] {
  if (group === 'conversions') {
    return campaign.conversion_goals.map(({ name }) => ({
      title: name,
      hint: reportText.attributionHints[question.attribution],
      by: 'goal',
      of: ({ conversion_goal_stats: goals }) => goals[name]?.conversions ?? 0,
    }))
  }
  return MEASURES[group].map((measure) => ({
    title: measureTitle(measure),
    hint: measureHint(measure, question.metric),
    by: 'message',
    of: ({ performance_stats: stats }) => stats[measure],
  }))
}

function toLine(
  { title, of }: DailySeries,
  index: number,
  { days, report }: { readonly days: readonly Day[]; readonly report: ReportState },
): ChartLine {
  const colour = COLOURS[index % COLOURS.length] ?? COLOURS[0]
  return { title, colour, isDashed: index >= COLOURS.length, values: days.map(of), sum: of(report.numbers) }
}

interface DayTableProps {
  readonly days: readonly Day[]
  readonly series: readonly DailySeries[]
  readonly addsUp: boolean
}

function DayTable({ days, series, addsUp }: DayTableProps) {
  const { numbers } = useReport()
  const foot = addsUp && (
    <tr>
      <th scope="row">{reportText.total}</th>
      {series.map(({ title, of }) => (
        <td key={title} class="right">
          {formatCount(of(numbers))}
        </td>
      ))}
    </tr>
  )
  return (
    <div class="tall">
      <Table
        caption={reportText.overTime}
        columns={columnsOf(series)}
        rows={days}
        keyOf={({ date }) => date}
        hasCards={false}
        foot={foot}
      />
    </div>
  )
}

function columnsOf(series: readonly DailySeries[]): Column<Day>[] {
  return [
    { title: reportText.day, cell: ({ date }) => <time dateTime={date}>{formatDay(date)}</time> },
    ...series.map(({ title, hint, by, of }) => ({
      title,
      isNumber: true,
      explained: (
        <Counted what={title} by={by}>
          {hint}
        </Counted>
      ),
      cell: (day: Day) => formatCount(of(day)),
    })),
  ]
}
