// The editor of a campaign: a new one, a copy of another (`?from=`), a draft, or name and goals of one that has started.
import { Shown } from '../../components/content/shown.tsx'
import { Page } from '../../components/frame/page.tsx'
import { useAddress } from '../../data/address.ts'
import { getExactly } from '../../data/exact.ts'
import { useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { campaignEditorText } from '../../texts/campaigns/editor.ts'
import { campaignsText } from '../../texts/campaigns.ts'
import { copyOf, fromCampaign, NEW_CAMPAIGN } from './editor/campaign-form.ts'
import { CampaignEditor } from './editor/campaign-editor.tsx'
import { useSenders } from './editor/summary.ts'

export default function Editor({ campaign_id: id }: { readonly campaign_id?: string }) {
  const { page } = useWorkspace()
  const from = useAddress().get('from')
  const campaignId = id ?? from
  const senders = useSenders()
  const campaign = useQuery({
    key: ['campaign', campaignId],
    isWanted: campaignId !== undefined,
    ask: (client, signal) => {
      const path = { campaign_id: campaignId ?? '' }
      return getExactly(client, '/core-services/v1/campaigns/:campaign_id', { path, signal })
    },
    topics: ['messages', 'audit'],
  })
  if (campaignId === undefined) {
    // Who has one sender need not choose it.
    const senderId = senders.length === 1 ? (senders[0]?.sender_id ?? '') : ''
    return <CampaignEditor key="new" campaign={undefined} saved={{ ...NEW_CAMPAIGN, senderId }} />
  }
  if (campaign.state !== 'filled') {
    return (
      <Page title={campaignEditorText.edit} parent={{ href: page('campaigns'), title: campaignsText.title }}>
        <Shown of={campaign} lines={8}>
          {() => null}
        </Shown>
      </Page>
    )
  }
  const { answer } = campaign
  const form = fromCampaign(answer)
  return id === undefined ? (
    <CampaignEditor key={from} campaign={undefined} saved={copyOf(form, campaignEditorText.copy(form.name))} />
  ) : (
    <CampaignEditor key={id} campaign={answer} saved={form} />
  )
}
