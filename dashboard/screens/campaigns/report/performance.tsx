// Performance: what happened to the messages, as numbers or as percentages.
import { Switch } from '../../../components/controls/field.tsx'
import { useAddress } from '../../../data/address.ts'
import { measureHint, measureTitle, type Measure } from '../../../texts/campaigns/measures.ts'
import { reportText } from '../../../texts/campaigns/report.ts'
import { formatCount, formatPercent } from '../../../texts/format.ts'
import { useReport } from './report-context.ts'
import { Counted, Section } from './section.tsx'

/** A number, and its part of another one. */
const TILES: readonly (readonly [count: Measure, rate: Measure])[] = [
  ['sent', 'sent_rate'],
  ['delivered', 'delivery_rate'],
  ['impression', 'open_rate'],
  ['click', 'ctr'],
  ['failed', 'failure_rate'],
  ['bounce', 'bounce_rate'],
  ['unsubscribe', 'unsubscribe_rate'],
  ['complaint', 'complaint_rate'],
]

const OTHERS: readonly Measure[] = [
  'attempted',
  'hard_bounce',
  'soft_bounce',
  'machine_impression',
  'machine_click',
  'proxy_impression',
]

const VIEWS = [
  { value: 'numbers', label: reportText.numbers },
  { value: 'percent', label: reportText.percent },
] as const

export function Performance() {
  const address = useAddress()
  const { numbers, question } = useReport()
  const stats = numbers.performance_stats
  const view = address.get('show') === 'percent' ? 'percent' : 'numbers'
  const csv = () => ({
    head: [reportText.performance, reportText.metrics[question.metric]],
    rows: [...TILES.flat(), ...OTHERS].map((measure) => [measureTitle(measure), stats[measure]]),
  })
  return (
    <Section
      title={reportText.performance}
      csv={csv}
      actions={
        <Switch
          label={reportText.show}
          value={view}
          options={VIEWS}
          onChange={(value) => address.set({ show: value === 'numbers' ? undefined : value })}
        />
      }
    >
      <div class="tiles inside">
        {TILES.map(([count, rate]) => (
          <Tile key={count} count={count} rate={rate} isPercent={view === 'percent'} />
        ))}
      </div>
      <dl class="small-numbers">
        {OTHERS.map((measure) => (
          <div key={measure}>
            <dt>
              {measureTitle(measure)} <Hint measure={measure} />
            </dt>
            <dd>{formatCount(stats[measure])}</dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}

interface TileProps {
  readonly count: Measure
  readonly rate: Measure
  readonly isPercent: boolean
}

function Tile({ count, rate, isPercent }: TileProps) {
  const { numbers } = useReport()
  const stats = numbers.performance_stats
  const isUnreported = count === 'delivered' && stats.delivered === 0 && stats.sent > 0
  const counted = isUnreported ? reportText.notReported : formatCount(stats[count])
  const shown = isPercent ? rate : count
  const percent = formatPercent(stats[rate])
  const ofRate = `${percent} ${measureTitle(rate).toLowerCase()}`
  const ofCount = isUnreported ? reportText.estimatedRate : reportText.counting(measureTitle(count), counted)
  const isWord = isUnreported && !isPercent
  return (
    <div class="tile">
      <span class="tile-name">
        {measureTitle(shown)} <Hint measure={shown} />
      </span>
      <span class={isWord ? 'tile-value word' : 'tile-value'}>{isPercent ? percent : counted}</span>
      <span class="note">
        {isPercent ? ofCount : ofRate}
        {isUnreported && !isPercent && `, ${reportText.estimated}`}
      </span>
    </div>
  )
}

function Hint({ measure }: { readonly measure: Measure }) {
  const { question } = useReport()
  return (
    <Counted what={measureTitle(measure)} by="message">
      {measureHint(measure, question.metric)}
    </Counted>
  )
}
