// Campaigns: the list, newest first, with the state of each and its numbers over the last 30 days.
import type { ComponentChildren } from 'preact'
import { toCalendarDate } from '../../../src/core/time-zone.ts'
import { CAMPAIGN_STATES } from '../../../src/core/delivery/delivery-changes.ts'
import type { VariationBody } from '../../../src/operations/statistics/campaign-stats-body.ts'
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { Explain } from '../../components/content/explain.tsx'
import { Pager } from '../../components/content/pager.tsx'
import { Failure, Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Time } from '../../components/content/time.tsx'
import { LinkButton } from '../../components/controls/button.tsx'
import { SelectField } from '../../components/controls/field.tsx'
import { SearchField } from '../../components/controls/search-field.tsx'
import { Page } from '../../components/frame/page.tsx'
import { useAddress } from '../../data/address.ts'
import type { AnswerOf } from '../../data/contracts.ts'
import { useQuery } from '../../data/queries.ts'
import { useToday } from '../../data/today.ts'
import { useWorkspace } from '../../data/session.ts'
import { campaignsText } from '../../texts/campaigns.ts'
import { formatCount, formatDays, formatPercent } from '../../texts/format.ts'
import { shownText } from '../../texts/shown.ts'
import { CampaignStateBadge } from './campaign-state.tsx'

type Campaign = AnswerOf<'GET', '/core-services/v1/campaigns'>['data'][number]

/** The most that one request for statistics takes. */
const PER_PAGE = 10
const DAYS = 30
/** Beside the states in the filter. */
const ARCHIVED = 'archived'

export default function Campaigns() {
  const { may, page } = useWorkspace()
  const address = useAddress()
  const [state, search, before] = [address.get('state'), address.get('search'), address.get('before')]
  const campaigns = useQuery({
    key: ['campaigns', state, search, before],
    ask: (client, signal) => {
      const filter = state === ARCHIVED ? { archived: 'true' as const } : state === undefined ? {} : { state }
      const query = { ...filter, ...(search !== undefined && { search }), ...(before !== undefined && { before }) }
      return client.get('/core-services/v1/campaigns', { query: { ...query, limit: PER_PAGE }, signal })
    },
    topics: ['audit', 'messages'],
  })
  const create = may('campaigns.write') && (
    <LinkButton kind="main" icon="plus" href={page('campaigns', 'new')}>
      {campaignsText.create}
    </LinkButton>
  )
  const isFiltered = state !== undefined || search !== undefined
  return (
    <Page title={campaignsText.title} lead={campaignsText.lead} actions={create}>
      <Filters state={state} />
      <Card isFlush>
        <Shown of={campaigns} lines={10} empty={isFiltered ? <NoMatch /> : <NoCampaigns create={create} />}>
          {({ data, next_before: next }) => (
            <>
              <CampaignTable campaigns={data} />
              <Pager next={next}>{campaignsText.shown(data.length)}</Pager>
            </>
          )}
        </Shown>
      </Card>
    </Page>
  )
}

const STATE_OPTIONS = [
  { value: '', label: campaignsText.anyState },
  ...CAMPAIGN_STATES.map((value) => ({ value, label: campaignsText.states[value] })),
  { value: ARCHIVED, label: campaignsText.archived },
]

function Filters({ state = '' }: { readonly state: string | undefined }) {
  const address = useAddress()
  return (
    <div class="filters">
      <SearchField label={campaignsText.search} />
      <SelectField
        name="state"
        label={campaignsText.state}
        value={state}
        options={STATE_OPTIONS}
        onChange={(value) => address.set({ state: value, before: undefined })}
      />
    </div>
  )
}

function NoMatch() {
  const address = useAddress()
  const all = address.with({ state: undefined, search: undefined, before: undefined })
  return (
    <Empty
      icon="search"
      title={shownText.nothingMatches}
      action={<LinkButton href={all}>{shownText.clear}</LinkButton>}
    >
      {campaignsText.noMatch}
    </Empty>
  )
}

function NoCampaigns({ create }: { readonly create: ComponentChildren }) {
  return (
    <Empty icon="send" title={campaignsText.empty} action={create}>
      {campaignsText.emptyLead}
    </Empty>
  )
}

function CampaignTable({ campaigns }: { readonly campaigns: readonly Campaign[] }) {
  const { zone } = useWorkspace()
  const ids = campaigns.map(({ campaign_id: id }) => id)
  const today = useToday()
  const [first, last] = [toCalendarDate(today - DAYS + 1), toCalendarDate(today)]
  const stats = useQuery({
    key: ['campaign-stats', ids, first, last],
    ask: async (client, signal) => {
      const body = { ...QUESTION, campaign_ids: ids, start_date: first, end_date: last }
      return client.post('/core-services/v1/campaign-stats', { body, signal })
    },
    topics: ['statistics'],
    keepsPrevious: false,
  })
  if (stats.state === 'failed') return <Failure error={stats.error} again={stats.again} />
  const answer = stats.state === 'filled' ? stats.answer.data : undefined
  const numbersOf = ({ campaign_id: id }: Campaign): Numbers => {
    if (!answer) return 'loading'
    const everywhere = answer[id]?.[0].platforms['all_platforms']?.locales['all_locales']?.variations['all_variations']
    return everywhere as VariationBody | undefined
  }
  return (
    <Table
      caption={campaignsText.caption}
      columns={columnsOf(numbersOf, { days: formatDays(first, last), zone })}
      rows={campaigns}
      keyOf={({ campaign_id: id }) => id}
    />
  )
}

const QUESTION = { request_id: 'campaigns', attribution_type: 'CLICK_THROUGH', metric_type: 'UNIQUE' } as const

/** Undefined: nothing is counted in these days. */
type Numbers = VariationBody | 'loading' | undefined

function columnsOf(
  numbersOf: (campaign: Campaign) => Numbers,
  { days, zone }: { readonly days: string; readonly zone: string },
): Column<Campaign>[] {
  const number = (
    name: keyof typeof campaignsText.explain,
    show: (numbers: VariationBody, campaign: Campaign) => ComponentChildren,
  ): Column<Campaign> => ({
    title: campaignsText[name],
    isNumber: true,
    isTight: true,
    group: campaignsText.days(days),
    explained: (
      <Explain what={campaignsText[name]}>
        <p>{campaignsText.explain[name]}</p>
        <p>{campaignsText.explainDays(zone)}</p>
      </Explain>
    ),
    cell: (campaign) => {
      const numbers = numbersOf(campaign)
      if (numbers === 'loading') return <span class="ghost-number" />
      return numbers ? show(numbers, campaign) : <Nothing />
    },
  })
  return [
    { title: campaignsText.name, isName: true, cell: (campaign) => <Named campaign={campaign} /> },
    {
      title: campaignsText.state,
      isTight: true,
      cell: ({ state }) => <CampaignStateBadge state={state} />,
    },
    number('sent', ({ performance_stats: { sent } }) => formatCount(sent)),
    number('openRate', ({ performance_stats: { open_rate: rate } }) => formatPercent(rate)),
    number('clickRate', ({ performance_stats: { ctr } }) => formatPercent(ctr)),
    number('conversions', ({ conversion_goal_stats: goals }, campaign) => <Conversions of={campaign} goals={goals} />),
  ]
}

function Nothing() {
  return (
    <span class="quiet-text" title={campaignsText.noNumbers}>
      –
    </span>
  )
}

function Named({ campaign }: { readonly campaign: Campaign }) {
  const { page } = useWorkspace()
  return (
    <>
      <a href={page('campaigns', campaign.campaign_id)}>{campaign.name}</a>
      <span class="under note">
        <Time at={campaign.created_at} /> {campaignsText.by} {campaign.created_by}
      </span>
    </>
  )
}

interface ConversionsProps {
  readonly of: Campaign
  readonly goals: VariationBody['conversion_goal_stats']
}

/** Distinct people of several goals do not add up, so it shows those of the first. */
function Conversions({ of: campaign, goals }: ConversionsProps) {
  const [first, ...others] = campaign.conversion_goals
  if (!first) return <Nothing />
  return (
    <>
      {formatCount(goals[first.name]?.conversions ?? 0)}
      <span class="under note">
        {first.name} {others.length > 0 && campaignsText.moreGoals(others.length)}
      </span>
    </>
  )
}
