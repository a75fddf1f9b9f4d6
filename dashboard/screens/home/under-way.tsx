// The campaigns that are scheduled or being sent, with how far they are.
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Time } from '../../components/content/time.tsx'
import type { AnswerOf } from '../../data/contracts.ts'
import { useQuery } from '../../data/queries.ts'
import { usePageIfAllowed } from '../../data/session.ts'
import { formatCount, formatCounted } from '../../texts/format.ts'
import { homeText } from '../../texts/home.ts'
import { CampaignStateBadge } from '../campaigns/campaign-state.tsx'
import { countMessages } from '../campaigns/run/message-counts.ts'

type Campaign = AnswerOf<'GET', '/core-services/v1/campaigns'>['data'][number]

const STATES = ['running', 'waiting', 'paused', 'scheduled', 'overdue'] as const
const LISTED_MAX = 10

export function UnderWay() {
  const pageIfAllowed = usePageIfAllowed()
  const campaigns = useQuery({
    key: ['campaigns under way'],
    ask: (client, signal) =>
      client.get('/core-services/v1/campaigns', { query: { state: STATES.join(','), limit: LISTED_MAX }, signal }),
    topics: ['messages', 'audit'],
  })
  const all = pageIfAllowed('campaigns')
  const empty = (
    <Empty icon="send" title={homeText.noCampaigns}>
      {homeText.noCampaignsLead}
    </Empty>
  )
  return (
    <Card title={homeText.underWay} isFlush actions={all !== undefined && <a href={all}>{homeText.allCampaigns}</a>}>
      <Shown of={campaigns} empty={empty}>
        {({ data, next_before: next }) => (
          <>
            <Table caption={homeText.underWay} columns={COLUMNS} rows={data} keyOf={(row) => row.campaign_id} />
            {next !== null && <p class="pager note">{homeText.newestShown(data.length)}</p>}
          </>
        )}
      </Shown>
    </Card>
  )
}

const COLUMNS: readonly Column<Campaign>[] = [
  { title: homeText.campaign, cell: (campaign) => <CampaignName campaign={campaign} /> },
  { title: homeText.state, cell: ({ state }) => <CampaignStateBadge state={state} />, isTight: true },
  { title: homeText.starts, cell: ({ starts_at: at }) => (at ? <Time at={at} /> : null), isTight: true },
  { title: homeText.progress, cell: (campaign) => <Progress campaign={campaign} /> },
]

function CampaignName({ campaign: { campaign_id: id, name } }: { readonly campaign: Campaign }) {
  const href = usePageIfAllowed()('campaigns', id)
  return href === undefined ? <>{name}</> : <a href={href}>{name}</a>
}

/** Of the messages, how many are done. Removed people and control groups are sent none. */
function Progress({ campaign: { campaign_id: id, state } }: { readonly campaign: Campaign }) {
  const isBegun = state !== 'scheduled' && state !== 'overdue'
  const runs = useQuery({
    key: ['runs', id],
    ask: (client, signal) =>
      client.get('/core-services/v1/campaigns/:campaign_id/runs', { path: { campaign_id: id }, signal }),
    topics: ['messages'],
    isWanted: isBegun,
  })
  if (!isBegun || runs.state !== 'filled') return null
  const [run] = runs.answer.data
  if (!run) return null
  const { done, all } = countMessages(run.states)
  const part = all === 0 ? 1 : done / all
  return (
    <span class="sent-part">
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${part * 100}%` }} />
      </span>
      <span class="number">{homeText.doneOf(formatCount(done), formatCounted(all, 'message'))}</span>
    </span>
  )
}
