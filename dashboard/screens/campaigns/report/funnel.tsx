// The delivery funnel: how many of the audience were sent a message, and what took the others away. Its steps add up.
import { Notice } from '../../../components/content/notice.tsx'
import { Table, type Column } from '../../../components/content/table.tsx'
import { reasonHint, reasonTitle, reportText } from '../../../texts/campaigns/report.ts'
import { formatCount, formatPercent } from '../../../texts/format.ts'
import { addsUp, restsOf, termsOf, toFunnelSteps, type FunnelStep } from './funnel-steps.ts'
import { useReport } from './report-context.ts'
import { Counted, Section } from './section.tsx'

export function Funnel() {
  const { numbers } = useReport()
  const steps = toFunnelSteps(numbers)
  const { reachable_users_in_segment: audience, sent, impressions, ...devices } = numbers.delivery_funnel
  const csv = () => ({
    head: [reportText.step, reportText.units, reportText.share],
    rows: steps.map((step) => [
      titleOf(step),
      step.kind === 'left' ? step.units : -step.units,
      percentOf(step.units, audience),
    ]),
  })
  return (
    <Section title={reportText.funnel} lead={reportText.funnelLead} csv={csv}>
      <Table
        caption={reportText.funnel}
        columns={columnsOf(steps, audience)}
        rows={steps}
        keyOf={(step) => titleOf(step)}
        hasCards={false}
      />
      <div class="card-foot">
        <p class="number">{reportText.sum(termsOf(steps), sent)}</p>
        {!addsUp(steps) && <Notice kind="bad">{reportText.doesNotAddUp}</Notice>}
        <p class="note">
          {reportText.opened(impressions, percentOf(impressions, sent))}{' '}
          {reportText.devices(devices.user_devices, devices.active_device_token)}
        </p>
      </div>
    </Section>
  )
}

function columnsOf(steps: readonly FunnelStep[], audience: number): Column<FunnelStep>[] {
  const rests = restsOf(steps)
  return [
    { title: reportText.step, cell: (step) => <StepName step={step} /> },
    {
      title: reportText.units,
      isNumber: true,
      isTight: true,
      explained: (
        <Counted what={reportText.units} by="audience">
          {reportText.explain.units}
        </Counted>
      ),
      cell: ({ kind, units }) => (
        <span class={`step ${kind}`}>{(kind === 'left' ? '' : '− ') + formatCount(units)}</span>
      ),
    },
    {
      title: reportText.share,
      isNumber: true,
      isTight: true,
      cell: ({ kind, units }) => <span class={`step ${kind}`}>{formatPercent(percentOf(units, audience))}</span>,
    },
    {
      title: reportText.bar,
      cell: (step) => <Bar of={step} rest={rests[steps.indexOf(step)] ?? 0} audience={audience} />,
    },
  ]
}

/** With two decimals, as the API has percentages. */
function percentOf(units: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((units / whole) * 10_000) / 100
}

function titleOf(step: FunnelStep): string {
  switch (step.kind) {
    case 'left':
      return reportText.steps[step.name]
    case 'reason':
      return reasonTitle(step.reason)
    case 'pending':
      return reportText.pending
  }
}

function StepName({ step }: { readonly step: FunnelStep }) {
  const hint = step.kind === 'reason' ? reasonHint(step.reason) : undefined
  return (
    <span class={`step ${step.kind}`} title={hint}>
      {titleOf(step)}
    </span>
  )
}

interface BarProps {
  readonly of: FunnelStep
  /** Left after the step. */
  readonly rest: number
  readonly audience: number
}

/** What is left begins at the edge; what is taken away begins where that ends. */
function Bar({ of: { kind, units }, rest, audience }: BarProps) {
  const style = {
    width: widthOf(units, audience),
    ...(kind !== 'left' && { marginInlineStart: widthOf(rest, audience) }),
  }
  return (
    <span class={kind === 'left' ? 'bar' : 'bar taken'}>
      <span style={style} />
    </span>
  )
}

function widthOf(units: number, audience: number): string {
  return `${Math.min(100, percentOf(units, audience))}%`
}
