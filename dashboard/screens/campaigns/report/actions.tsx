// What one may do with the campaign of a report, by its state and the role.
import { useState } from 'preact/hooks'
import { toast } from '../../../components/content/toasts.tsx'
import { Button, LinkButton } from '../../../components/controls/button.tsx'
import { ConfirmDialog } from '../../../components/controls/dialog.tsx'
import { Menu, type MenuItem } from '../../../components/controls/menu.tsx'
import { useData } from '../../../data/queries.ts'
import { useWorkspace } from '../../../data/session.ts'
import { campaignsText } from '../../../texts/campaigns.ts'
import type { Campaign } from './question.ts'

interface ActionsProps {
  readonly campaign: Campaign
  readonly onChanged: () => void
  /** On the page of the run, a link leads to the report instead. */
  readonly isOnRun?: boolean
}

type State = NonNullable<Campaign['state']>

const PAUSABLE: readonly State[] = ['running', 'waiting']
const RESUMABLE: readonly State[] = ['paused', 'overdue']
const CANCELLABLE: readonly State[] = ['scheduled', 'running', 'waiting', 'paused', 'overdue']
/** Before them there is no run to look at. */
const NOT_BEGUN: readonly State[] = ['draft', 'scheduled']

type Verb = 'pause' | 'resume' | 'cancel'

const DIALOGS: { readonly [verb in Verb]: { readonly title: string; readonly lead: string; readonly done: string } } = {
  pause: { title: campaignsText.pause, lead: campaignsText.pauseLead, done: campaignsText.paused },
  resume: { title: campaignsText.resume, lead: campaignsText.resumeLead, done: campaignsText.resumed },
  cancel: { title: campaignsText.cancel, lead: campaignsText.cancelLead, done: campaignsText.cancelled },
}

export function Actions({ campaign, onChanged, isOnRun = false }: ActionsProps) {
  const { client } = useData()
  const { may, page } = useWorkspace()
  const [asked, setAsked] = useState<Verb | undefined>(undefined)
  const { campaign_id, state } = campaign
  const isIn = (states: readonly State[]) => state !== undefined && states.includes(state)
  const call = async (verb: Verb) => {
    await client.put(`/core-services/v1/campaigns/:campaign_id/${verb}`, { path: { campaign_id } })
    toast(DIALOGS[verb].done)
    onChanged()
  }
  const mayWrite = may('campaigns.write')
  const duplicate: MenuItem = {
    label: campaignsText.duplicate,
    icon: 'copy',
    href: `${page('campaigns', 'new')}?from=${encodeURIComponent(campaign_id)}`,
  }
  const cancel: MenuItem = {
    label: campaignsText.cancel,
    icon: 'x',
    isDangerous: true,
    onClick: () => setAsked('cancel'),
  }
  return (
    <>
      {isOnRun && (
        <LinkButton href={page('campaigns', campaign_id)} icon="chart-line">
          {campaignsText.report}
        </LinkButton>
      )}
      {!isOnRun && state !== undefined && !isIn(NOT_BEGUN) && (
        <LinkButton href={page('campaigns', campaign_id, 'run')} icon="send">
          {campaignsText.run}
        </LinkButton>
      )}
      {mayWrite && isIn(PAUSABLE) && (
        <Button icon="pause" onClick={() => setAsked('pause')}>
          {campaignsText.pause}
        </Button>
      )}
      {mayWrite && isIn(RESUMABLE) && (
        <Button icon="play" onClick={() => setAsked('resume')}>
          {campaignsText.resume}
        </Button>
      )}
      {mayWrite && (
        <>
          <LinkButton href={page('campaigns', campaign_id, 'edit')} icon="pencil">
            {campaignsText.edit}
          </LinkButton>
          <Menu label={campaignsText.more} items={isIn(CANCELLABLE) ? [duplicate, cancel] : [duplicate]} />
        </>
      )}
      {asked && (
        <ConfirmDialog
          title={DIALOGS[asked].title}
          {...(asked === 'cancel' && { word: campaign.name })}
          act={() => call(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>{DIALOGS[asked].lead}</p>
        </ConfirmDialog>
      )}
    </>
  )
}
