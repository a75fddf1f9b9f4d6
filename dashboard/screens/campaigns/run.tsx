// How far the sending of a campaign is, why it waits, what somebody has to decide, and every message.
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Time } from '../../components/content/time.tsx'
import { LinkButton } from '../../components/controls/button.tsx'
import { Page } from '../../components/frame/page.tsx'
import type { AnswerOf } from '../../data/contracts.ts'
import { getExactly } from '../../data/exact.ts'
import { useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { campaignRunText } from '../../texts/campaigns/run.ts'
import { campaignsText } from '../../texts/campaigns.ts'
import { CampaignStateBadge } from './campaign-state.tsx'
import { Actions } from './report/actions.tsx'
import { InDoubt } from './run/in-doubt.tsx'
import { Messages } from './run/messages.tsx'
import { RunStates } from './run/progress.tsx'

type Campaign = AnswerOf<'GET', '/core-services/v1/campaigns/:campaign_id'>

const TOPICS = ['messages', 'audit'] as const

export default function RunPage({ campaign_id }: { readonly campaign_id: string }) {
  const { page } = useWorkspace()
  const campaign = useQuery({
    key: ['campaign', campaign_id],
    ask: (client, signal) =>
      getExactly(client, '/core-services/v1/campaigns/:campaign_id', { path: { campaign_id }, signal }),
    topics: TOPICS,
  })
  if (campaign.state === 'filled') return <ShownRun campaign={campaign.answer} again={campaign.again} />
  return (
    <Page title={campaignRunText.title} parent={{ href: page('campaigns'), title: campaignsText.title }}>
      <Shown of={campaign} lines={8}>
        {() => null}
      </Shown>
    </Page>
  )
}

function ShownRun({ campaign, again }: { readonly campaign: Campaign; readonly again: () => void }) {
  const { page, may } = useWorkspace()
  const { campaign_id, name, state } = campaign
  const runs = useQuery({
    key: ['runs', campaign_id],
    isWanted: state !== undefined,
    ask: (client, signal) =>
      client.get('/core-services/v1/campaigns/:campaign_id/runs', { path: { campaign_id }, signal }),
    topics: TOPICS,
  })
  const onChanged = () => {
    again()
    runs.again()
  }
  return (
    <Page
      title={campaignRunText.pageTitle(name)}
      beside={<CampaignStateBadge state={state} />}
      lead={campaignRunText.lead}
      actions={<Actions campaign={campaign} onChanged={onChanged} isOnRun />}
      parent={{ href: page('campaigns', campaign_id), title: name }}
    >
      {state === undefined ? (
        <NoRun campaign={campaign} />
      ) : (
        <Shown of={runs} lines={8} empty={<NoRun campaign={campaign} />}>
          {({ data: [run] }) =>
            run && (
              <div class="stack sections">
                <InDoubt campaign={campaign} count={run.states['in_doubt'] ?? 0} onDecided={onChanged} />
                <RunStates run={run} />
                {may('messages.read') && <Messages campaign={campaign} onChanged={onChanged} />}
              </div>
            )
          }
        </Shown>
      )}
    </Page>
  )
}

function NoRun({ campaign: { campaign_id, state, starts_at: startsAt } }: { readonly campaign: Campaign }) {
  const { page, may } = useWorkspace()
  const [title, lead] = campaignRunText.noRun[state ?? 'reported'] ?? campaignRunText.noRunElse
  const isOpen = state === 'draft' && may('campaigns.write')
  return (
    <Card>
      <Empty
        icon="send"
        title={title}
        action={
          isOpen && (
            <LinkButton kind="main" href={`${page('campaigns', campaign_id, 'edit')}?step=review`}>
              {campaignRunText.edit}
            </LinkButton>
          )
        }
      >
        {lead}
        {state === 'scheduled' && startsAt !== undefined && startsAt !== null && (
          <>
            {' '}
            {campaignRunText.startsAt} <Time at={startsAt} />.
          </>
        )}
      </Empty>
    </Card>
  )
}
