// Messages of which nobody knows whether the server accepted them: a person decides.
import { useState } from 'preact/hooks'
import { Notice } from '../../../components/content/notice.tsx'
import { toast } from '../../../components/content/toasts.tsx'
import { Button } from '../../../components/controls/button.tsx'
import { ConfirmDialog } from '../../../components/controls/dialog.tsx'
import { useAddress } from '../../../data/address.ts'
import { useData } from '../../../data/queries.ts'
import { useWorkspace } from '../../../data/session.ts'
import { campaignRunText } from '../../../texts/campaigns/run.ts'

type Action = 'send_again' | 'give_up'

const DIALOGS: {
  readonly [action in Action]: {
    readonly title: string
    readonly lead: (count: number) => string
    readonly done: string
  }
} = {
  send_again: {
    title: campaignRunText.sendAgain,
    lead: campaignRunText.sendAgainLead,
    done: campaignRunText.sentAgain,
  },
  give_up: { title: campaignRunText.giveUp, lead: campaignRunText.giveUpLead, done: campaignRunText.gaveUp },
}

/** Whose messages are in doubt. Those of a cancelled one can only be given up. */
export interface DecidedCampaign {
  readonly campaign_id: string
  readonly state?: string
}

interface InDoubtProps {
  readonly campaign: DecidedCampaign
  readonly count: number
  readonly onDecided: () => void
}

export function InDoubt({ campaign, count, onDecided }: InDoubtProps) {
  const { may } = useWorkspace()
  const address = useAddress()
  const [asked, setAsked] = useState<Action | undefined>(undefined)
  if (count === 0) return null
  return (
    <Notice kind="warn">
      <p>
        <strong>{campaignRunText.doubtTitle(count)}.</strong> {campaignRunText.doubtLead}
      </p>
      <div class="row">
        {may('messages.read') && (
          <a href={`${address.with({ state: 'in_doubt', reason: undefined, before: undefined })}#messages`}>
            {campaignRunText.show}
          </a>
        )}
        {may('campaigns.write') && (
          <>
            {campaign.state !== 'cancelled' && (
              <Button onClick={() => setAsked('send_again')}>{campaignRunText.sendAgain}</Button>
            )}
            <Button onClick={() => setAsked('give_up')}>{campaignRunText.giveUp}</Button>
          </>
        )}
      </div>
      {asked && (
        <DecideDialog
          action={asked}
          campaignId={campaign.campaign_id}
          count={count}
          onDecided={onDecided}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Notice>
  )
}

interface DecideDialogProps {
  readonly action: Action
  readonly campaignId: string
  /** One message; undefined: all that are in doubt. */
  readonly messageId?: string
  readonly count: number
  readonly onDecided: () => void
  readonly onClose: () => void
}

export function DecideDialog({ action, campaignId, messageId, count, onDecided, onClose }: DecideDialogProps) {
  const { client } = useData()
  const { title, lead, done } = DIALOGS[action]
  const decide = async () => {
    const body = { action, ...(messageId !== undefined && { message_ids: [messageId] }) }
    await client.post('/core-services/v1/campaigns/:campaign_id/in-doubt', { path: { campaign_id: campaignId }, body })
    toast(done)
    onDecided()
  }
  return (
    <ConfirmDialog title={title} act={decide} onClose={onClose} isDangerous={action === 'give_up'}>
      <p>{lead(count)}</p>
    </ConfirmDialog>
  )
}
