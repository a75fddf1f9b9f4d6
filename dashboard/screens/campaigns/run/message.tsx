// One message: its state, what the mail servers said, and what the person did with it.
import { useState } from 'preact/hooks'
import { Table, type Column } from '../../../components/content/table.tsx'
import { Time } from '../../../components/content/time.tsx'
import { Button } from '../../../components/controls/button.tsx'
import { Dialog } from '../../../components/controls/dialog.tsx'
import type { AnswerOf } from '../../../data/contracts.ts'
import { useWorkspace } from '../../../data/session.ts'
import { campaignRunText } from '../../../texts/campaigns/run.ts'
import { reasonHint, reasonTitle } from '../../../texts/campaigns/report.ts'
import { DecideDialog, type DecidedCampaign } from './in-doubt.tsx'

export type RunMessageBody = AnswerOf<'GET', '/core-services/v1/campaigns/:campaign_id/messages'>['data'][number]
type Attempt = RunMessageBody['attempts'][number]

interface MessageDialogProps {
  readonly message: RunMessageBody
  readonly campaign: DecidedCampaign
  readonly onChanged: () => void
  readonly onClose: () => void
}

export function MessageDialog({ message, campaign, onChanged, onClose }: MessageDialogProps) {
  const { may, page } = useWorkspace()
  const [asked, setAsked] = useState<'send_again' | 'give_up' | undefined>(undefined)
  const { customer_id: person, message_id: id, attempts, state } = message
  if (asked) {
    return (
      <DecideDialog
        action={asked}
        campaignId={campaign.campaign_id}
        messageId={id}
        count={1}
        onDecided={onChanged}
        onClose={onClose}
      />
    )
  }
  return (
    <Dialog title={campaignRunText.messageTitle(person ?? campaignRunText.erased)} onClose={onClose} isWide>
      <Facts message={message} />
      <h3>{campaignRunText.conversation}</h3>
      {attempts.length === 0 ? (
        <p class="quiet-text">{campaignRunText.noAttempts}</p>
      ) : (
        <Attempts attempts={attempts} />
      )}
      <div class="form-end right">
        {state === 'in_doubt' && may('campaigns.write') && (
          <>
            <Button onClick={() => setAsked('give_up')}>{campaignRunText.giveUp}</Button>
            {campaign.state !== 'cancelled' && (
              <Button onClick={() => setAsked('send_again')}>{campaignRunText.sendAgain}</Button>
            )}
          </>
        )}
        {person !== null && may('users.read') && <a href={page('users', person)}>{campaignRunText.person}</a>}
      </div>
    </Dialog>
  )
}

function Facts({ message }: { readonly message: RunMessageBody }) {
  const { state, reason, variation, locale, group, coupons, impressions, clicks, sent_at: sentAt } = message
  const [title, hint] = campaignRunText.states[state]
  const codes = Object.entries(coupons)
  return (
    <dl class="facts">
      <dt>{campaignRunText.stateTitle}</dt>
      <dd>
        {title} <span class="note">{hint}</span>
      </dd>
      {reason !== null && (
        <>
          <dt>{campaignRunText.why}</dt>
          <dd>
            {reasonTitle(reason)} <span class="note">{reasonHint(reason)}</span>
          </dd>
        </>
      )}
      <dt>{campaignRunText.group}</dt>
      <dd>{campaignRunText.groups[group]}</dd>
      {variation !== null && (
        <>
          <dt>{campaignRunText.variation}</dt>
          <dd>{locale === null ? variation : `${variation}, ${locale}`}</dd>
        </>
      )}
      {sentAt !== null && (
        <>
          <dt>{campaignRunText.at}</dt>
          <dd>
            <Time at={sentAt} />
          </dd>
          <dt>{campaignRunText.opened}</dt>
          <dd>{campaignRunText.times(impressions)}</dd>
          <dt>{campaignRunText.clicked}</dt>
          <dd>{campaignRunText.times(clicks)}</dd>
        </>
      )}
      {codes.length > 0 && (
        <>
          <dt>{campaignRunText.coupons}</dt>
          <dd>{codes.map(([label, code]) => `${label}: ${code}`).join(', ')}</dd>
        </>
      )}
      <dt>{campaignRunText.messageId}</dt>
      <dd>
        <code>{message.message_id}</code>
      </dd>
    </dl>
  )
}

function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }) {
  return (
    <Table
      caption={campaignRunText.conversation}
      columns={ATTEMPT_COLUMNS}
      rows={attempts}
      keyOf={({ at, text }) => `${at} ${text}`}
    />
  )
}

const ATTEMPT_COLUMNS: readonly Column<Attempt>[] = [
  { title: campaignRunText.attempt.at, isTight: true, cell: ({ at }) => <Time at={at} /> },
  {
    title: campaignRunText.attempt.code,
    cell: ({ code, enhanced_code: enhanced, text }) => (
      <code>{[code, enhanced, text].filter((part) => part !== null && part !== '').join(' ')}</code>
    ),
  },
  { title: campaignRunText.attempt.host, cell: ({ host }) => host },
]
