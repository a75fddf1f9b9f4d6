// A campaign's report: one choice of days and people for all sections, each of which says what its numbers count.
import { Empty } from '../../components/content/empty.tsx'
import { Notice } from '../../components/content/notice.tsx'
import { Copied } from '../../components/content/copy.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Time } from '../../components/content/time.tsx'
import { LinkButton } from '../../components/controls/button.tsx'
import { Page } from '../../components/frame/page.tsx'
import { useAddress } from '../../data/address.ts'
import { getExactly } from '../../data/exact.ts'
import { useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { reportText } from '../../texts/campaigns/report.ts'
import { shownText } from '../../texts/shown.ts'
import { CampaignStateBadge } from './campaign-state.tsx'
import { Actions } from './report/actions.tsx'
import { Breakdown } from './report/breakdown.tsx'
import { Check } from './report/check.tsx'
import { Controls } from './report/controls.tsx'
import { Failures } from './report/failures.tsx'
import { Filters } from './report/filters.tsx'
import { Funnel } from './report/funnel.tsx'
import { Goals } from './report/goals.tsx'
import { OverTime } from './report/over-time.tsx'
import { Performance } from './report/performance.tsx'
import { useReportQuestion, type Campaign, type ReportQuestion } from './report/question.ts'
import { numbersAt, ShownReportContext, type StatsTree } from './report/report-context.ts'

type ReportProps = { readonly campaign_id: string }

export default function CampaignReport({ campaign_id }: ReportProps) {
  const { page } = useWorkspace()
  const campaign = useQuery({
    key: ['campaign', campaign_id],
    ask: (client, signal) =>
      getExactly(client, '/core-services/v1/campaigns/:campaign_id', { path: { campaign_id }, signal }),
    topics: ['audit', 'messages'],
  })
  const parent = { href: page('campaigns'), title: reportText.parent }
  if (campaign.state !== 'filled') {
    return (
      <Page title={campaign.state === 'loading' ? shownText.loading : reportText.notFound} parent={parent}>
        <Shown of={campaign}>{() => null}</Shown>
      </Page>
    )
  }
  const { answer, again } = campaign
  return (
    <Page
      title={answer.name}
      parent={parent}
      beside={<CampaignStateBadge state={answer.state} />}
      lead={<About campaign={answer} />}
      actions={<Actions campaign={answer} onChanged={again} />}
    >
      <Answered campaign={answer} />
    </Page>
  )
}

function About({ campaign }: { readonly campaign: Campaign }) {
  const { created_at: createdAt, starts_at: startsAt, updated_at: updatedAt, updated_by: updatedBy } = campaign
  const isAhead = campaign.state === 'draft' || campaign.state === 'scheduled'
  return (
    <span class="about">
      <Copied text={campaign.campaign_id} what={reportText.id} />
      <span>
        {reportText.created} <Time at={createdAt} /> {reportText.by} {campaign.created_by}
      </span>
      {typeof startsAt === 'string' && (
        <span>
          {isAhead ? reportText.starts : reportText.started} <Time at={startsAt} />
        </span>
      )}
      {updatedAt !== createdAt && (
        <span>
          {reportText.changed} <Time at={updatedAt} /> {updatedBy !== null && `${reportText.by} ${updatedBy}`}
        </span>
      )}
      {campaign.archived_at !== null && (
        <span>
          {reportText.archived} <Time at={campaign.archived_at} />
        </span>
      )}
    </span>
  )
}

function Answered({ campaign }: { readonly campaign: Campaign }) {
  const question = useReportQuestion(campaign)
  const { campaign_id: id, recount } = campaign
  const { from, to, attribution, metric } = question
  const stats = useQuery({
    key: ['campaign-stats', id, from, to, attribution, metric],
    ask: (client, signal) =>
      client.post('/core-services/v1/campaign-stats', {
        body: {
          request_id: 'report',
          campaign_ids: [id],
          start_date: from,
          end_date: to,
          attribution_type: attribution,
          metric_type: metric,
        },
        signal,
      }),
    topics: ['statistics'],
    isEmpty: () => false,
  })
  const answer = stats.state === 'filled' ? stats.answer : undefined
  return (
    <>
      <Filters question={question} tree={answer?.data[id]?.[0]} processedUntil={answer?.processed_until} />
      {recount && <Notice>{reportText.recounting(recount.counted_users, recount.all_users)}</Notice>}
      <Shown of={stats} lines={12}>
        {({ data, processed_until: processedUntil }) => (
          <Sections tree={data[id]?.[0]} {...{ campaign, question, processedUntil }} />
        )}
      </Shown>
      <Check campaign={campaign} />
    </>
  )
}

interface SectionsProps {
  readonly campaign: Campaign
  readonly question: ReportQuestion
  readonly tree: StatsTree | undefined
  readonly processedUntil: string
}

function Sections({ campaign, question, tree, processedUntil }: SectionsProps) {
  if (!tree) return <NothingCounted campaign={campaign} question={question} />
  const numbers = numbersAt(tree, question.level)
  if (!numbers) return <NoMatch />
  return (
    <ShownReportContext.Provider value={{ campaign, question, tree, numbers, processedUntil }}>
      <div class="report">
        <Performance />
        <OverTime />
        <Goals />
        <div class="columns">
          <Breakdown />
          <Controls />
        </div>
        <div class="columns wide-first">
          <Funnel />
          <Failures />
        </div>
      </div>
    </ShownReportContext.Provider>
  )
}

function NothingCounted({ campaign, question }: Pick<SectionsProps, 'campaign' | 'question'>) {
  const address = useAddress()
  const others = address.with({ days: '31', from: undefined, to: undefined })
  return (
    <div class="card">
      <Empty
        icon="chart-line"
        title={reportText.nothing}
        action={question.preset !== '31' && <LinkButton href={others}>{reportText.otherDays}</LinkButton>}
      >
        {campaign.state === undefined ? reportText.nothingReported : reportText.nothingSent}
      </Empty>
    </div>
  )
}

function NoMatch() {
  const address = useAddress()
  const all = address.with({ platform: undefined, locale: undefined, variation: undefined })
  return (
    <div class="card">
      <Empty
        icon="search"
        title={shownText.nothingMatches}
        action={<LinkButton href={all}>{shownText.clear}</LinkButton>}
      >
        {reportText.noMatch}
      </Empty>
    </div>
  )
}
