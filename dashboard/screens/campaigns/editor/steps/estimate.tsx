// Who would get the campaign now: from everybody in the segments to those who are sent a message, each removal with its reason.
import { Card } from '../../../../components/content/card.tsx'
import { Badge } from '../../../../components/content/badge.tsx'
import { Shown } from '../../../../components/content/shown.tsx'
import { Table, type Column } from '../../../../components/content/table.tsx'
import type { AnswerOf } from '../../../../data/contracts.ts'
import type { ShownQuery } from '../../../../data/queries.ts'
import { campaignEditorText } from '../../../../texts/campaigns/editor.ts'
import { reasonHint, reasonTitle } from '../../../../texts/campaigns/report.ts'
import { formatCount, formatDuration } from '../../../../texts/format.ts'

export type CampaignEstimate = AnswerOf<'POST', '/core-services/v1/campaigns/:campaign_id/estimate'>

export function EstimateCard({ estimate }: { readonly estimate: ShownQuery<CampaignEstimate> }) {
  return (
    <Card title={campaignEditorText.estimateTitle} lead={campaignEditorText.estimateLead}>
      <Shown of={estimate} lines={6}>
        {(answer) => <Numbers estimate={answer} />}
      </Shown>
    </Card>
  )
}

function Numbers({ estimate }: { readonly estimate: CampaignEstimate }) {
  const { variations, locales, sendable, seconds } = estimate
  return (
    <div class="stack">
      <Funnel estimate={estimate} />
      <p class="note">{campaignEditorText.duration(formatDuration(seconds))}</p>
      {Object.keys(variations).length > 1 && (
        <Parts title={campaignEditorText.by.variation} counts={variations} all={sendable} />
      )}
      {Object.keys(locales).length > 0 && (
        <Parts title={campaignEditorText.by.locale} counts={locales} all={sendable} />
      )}
      <Missing estimate={estimate} />
      <Coupons estimate={estimate} />
    </div>
  )
}

interface FunnelStep {
  readonly title: string
  readonly hint?: string
  readonly people: number
  readonly isRemoval: boolean
}

function Funnel({ estimate }: { readonly estimate: CampaignEstimate }) {
  const steps = funnelOf(estimate)
  return (
    <Table
      caption={campaignEditorText.estimateCaption}
      columns={funnelColumns(steps)}
      rows={steps}
      keyOf={({ title }) => title}
      hasCards={false}
    />
  )
}

function funnelColumns(steps: readonly FunnelStep[]): readonly Column<FunnelStep>[] {
  const most = steps[0]?.people ?? 0
  return [
    {
      title: campaignEditorText.estimateStep,
      cell: ({ title, hint, isRemoval }) => (
        <span class={isRemoval ? 'named removal' : 'named'}>
          <span>{title}</span>
          {hint !== undefined && <span class="note">{hint}</span>}
        </span>
      ),
    },
    {
      title: campaignEditorText.estimatePeople,
      isNumber: true,
      isTight: true,
      cell: ({ people, isRemoval }) => `${isRemoval ? campaignEditorText.minus : ''}${formatCount(people)}`,
    },
    {
      title: campaignEditorText.part,
      cell: (step) => (
        <span class={step.isRemoval ? 'bar taken' : 'bar'} aria-hidden="true">
          <span style={{ width: shareOf(step.people, most), marginInlineStart: shareOf(startOf(step, steps), most) }} />
        </span>
      ),
    },
  ]
}

/** What is left begins at the edge; what is taken away begins where that ends. */
function startOf(step: FunnelStep, steps: readonly FunnelStep[]): number {
  if (!step.isRemoval) return 0
  const taken = steps.slice(1, steps.indexOf(step) + 1).reduce((sum, { people }) => sum + people, 0)
  return (steps[0]?.people ?? 0) - taken
}

function shareOf(part: number, whole: number): string {
  return `${whole === 0 ? 0 : (100 * part) / whole}%`
}

/** They add up: the first without all removals is the last. */
function funnelOf({
  audience,
  without_address,
  groups,
  removed,
  sendable,
  missing_values: missing,
}: CampaignEstimate): readonly FunnelStep[] {
  const removal = (title: string, people: number, hint?: string) => {
    return { title, people, isRemoval: true, ...(hint !== undefined && { hint }) }
  }
  const removals = [
    removal(campaignEditorText.withoutAddress, without_address),
    removal(campaignEditorText.groups.global_control, groups['global_control'] ?? 0),
    removal(campaignEditorText.groups.campaign_control, groups['campaign_control'] ?? 0),
    ...Object.entries(removed).map(([reason, people]) => removal(reasonTitle(reason), people, reasonHint(reason))),
  ]
  return [
    { title: campaignEditorText.inSegments, people: audience + without_address, isRemoval: false },
    ...removals.filter(({ people }) => people > 0),
    {
      title: campaignEditorText.sendable,
      people: sendable,
      isRemoval: false,
      ...(lacksValues(missing) && { hint: campaignEditorText.sendableMost }),
    },
  ]
}

/** Whether some of those who would be sent a message may lack a value, and get nothing. */
export function lacksValues(missing: CampaignEstimate['missing_values']): boolean {
  return Object.keys(missing).length > 0
}

interface PartsProps {
  readonly title: string
  readonly counts: Readonly<Record<string, number>>
  readonly all: number
}

function Parts({ title, counts, all }: PartsProps) {
  return (
    <Table
      caption={title}
      columns={partColumns(title, all)}
      rows={Object.entries(counts).toSorted(([, one], [, other]) => other - one)}
      keyOf={([name]) => name}
      hasCards={false}
    />
  )
}

function partColumns(title: string, all: number): readonly Column<readonly [string, number]>[] {
  return [
    { title, cell: ([name]) => name },
    {
      title: campaignEditorText.estimatePeople,
      isNumber: true,
      isTight: true,
      cell: ([, people]) => formatCount(people),
    },
    {
      title: campaignEditorText.part,
      cell: ([, people]) => (
        <span class="bar" aria-hidden="true">
          <span style={{ width: shareOf(people, all) }} />
        </span>
      ),
    },
  ]
}

function Missing({
  estimate: { missing_values: missing, checked_people: checked },
}: {
  readonly estimate: CampaignEstimate
}) {
  const rows = Object.entries(missing)
  if (rows.length === 0) return null
  return (
    <div class="stack">
      <h3>{campaignEditorText.missing}</h3>
      <p class="note">{campaignEditorText.missingLead(checked)}</p>
      <Table
        caption={campaignEditorText.missingCaption}
        columns={MISSING_COLUMNS}
        rows={rows}
        keyOf={([name]) => name}
        hasCards={false}
      />
    </div>
  )
}

const MISSING_COLUMNS: readonly Column<readonly [string, number]>[] = [
  { title: campaignEditorText.variable, cell: ([name]) => <code>{name}</code> },
  {
    title: campaignEditorText.estimatePeople,
    isNumber: true,
    isTight: true,
    cell: ([, people]) => formatCount(people),
  },
]

function Coupons({ estimate: { coupons } }: { readonly estimate: CampaignEstimate }) {
  if (coupons.length === 0) return null
  return (
    <div class="stack">
      <h3>{campaignEditorText.couponsTitle}</h3>
      <Table
        caption={campaignEditorText.couponsTitle}
        columns={COUPON_COLUMNS}
        rows={coupons}
        keyOf={({ label }) => label}
        hasCards={false}
      />
    </div>
  )
}

const COUPON_COLUMNS: readonly Column<CampaignEstimate['coupons'][number]>[] = [
  {
    title: campaignEditorText.couponList,
    cell: ({ label, needed, available }) => (
      <span class="row">
        {label}
        {needed > available && <Badge kind="warn">{campaignEditorText.short}</Badge>}
      </span>
    ),
  },
  { title: campaignEditorText.needed, isNumber: true, isTight: true, cell: ({ needed }) => formatCount(needed) },
  {
    title: campaignEditorText.available,
    isNumber: true,
    isTight: true,
    cell: ({ available }) => formatCount(available),
  },
]
