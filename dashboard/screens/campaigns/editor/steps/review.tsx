// The last step: what the server finds wrong, the campaign in words, who would get it, what they get, and the start.
import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { Card } from '../../../../components/content/card.tsx'
import { Notice } from '../../../../components/content/notice.tsx'
import { Failure } from '../../../../components/content/shown.tsx'
import { toast } from '../../../../components/content/toasts.tsx'
import { Button } from '../../../../components/controls/button.tsx'
import { ConfirmDialog } from '../../../../components/controls/dialog.tsx'
import { useAddress } from '../../../../data/address.ts'
import { useData, useQuery } from '../../../../data/queries.ts'
import { useWorkspace } from '../../../../data/session.ts'
import { campaignEditorText } from '../../../../texts/campaigns/editor.ts'
import { formatCounted } from '../../../../texts/format.ts'
import { answerOf } from '../../../segments/conditions/condition-choices.ts'
import { Faults } from '../faults.tsx'
import type { StepProps } from '../use-campaign-draft.ts'
import type { CampaignForm, EditedCampaign } from '../campaign-form.ts'
import { EstimateCard, lacksValues, type CampaignEstimate } from './estimate.tsx'
import { PreviewCard } from './preview.tsx'
import { startText, summaryOf, useCampaignNames } from '../summary.ts'

export function ReviewStep({ draft }: StepProps) {
  const { campaign, isChanged, isSaving, save, form } = draft
  if (campaign && !isChanged) {
    return <SavedReview campaign={campaign} draft={draft} />
  }
  return (
    <>
      <Card title={campaignEditorText.review}>
        <p>{campaignEditorText.saveFirst}</p>
        <div>
          <Button kind="main" isBusy={isSaving} onClick={() => void save()}>
            {campaignEditorText.saveAndCheck}
          </Button>
        </div>
      </Card>
      <Summary form={form} />
    </>
  )
}

function SavedReview({ campaign, draft }: StepProps & { readonly campaign: EditedCampaign }) {
  const [isStarting, setStarting] = useState(false)
  const { campaign_id, updated_at: version } = campaign
  const path = { campaign_id }
  const topics = ['audit', 'messages'] as const
  const check = useQuery({
    key: ['check', campaign_id, version],
    ask: (client, signal) => client.post('/core-services/v1/campaigns/:campaign_id/check', { path, signal }),
    topics,
    isEmpty: () => false,
  })
  const estimate = useQuery({
    key: ['estimate', campaign_id, version],
    ask: (client, signal) => client.post('/core-services/v1/campaigns/:campaign_id/estimate', { path, signal }),
    isEmpty: () => false,
  })
  const found = answerOf(check)
  const isFine = found?.faults.length === 0
  const isLater = draft.form.when === 'later'
  return (
    <>
      {check.state === 'failed' && <Failure error={check.error} again={check.again} />}
      {check.state === 'loading' && (
        <p class="quiet-text" role="status">
          {campaignEditorText.checking}…
        </p>
      )}
      {found && !isFine && <Faults faults={found.faults} isDraft />}
      {isFine && <Notice kind="good">{campaignEditorText.fine}</Notice>}
      {found?.warnings && (
        <Notice kind="warn">
          {found.warnings.map(({ field, problem }) => (
            <p key={field}>
              <code>{field}</code> {problem}
            </p>
          ))}
        </Notice>
      )}
      <Summary form={draft.form} />
      <EstimateCard estimate={estimate} />
      <PreviewCard draft={draft} />
      <Card>
        <div class="row apart">
          <p class="quiet-text">{isFine ? campaignEditorText.afterStart : campaignEditorText.cannotStart}</p>
          <div class="row">
            {!isFine && <Button onClick={check.again}>{campaignEditorText.checkAgain}</Button>}
            <Button kind="main" icon="send" isDisabled={!isFine} onClick={() => setStarting(true)}>
              {isLater ? campaignEditorText.schedule : campaignEditorText.start}
            </Button>
          </div>
        </div>
      </Card>
      {isStarting && (
        <StartDialog
          campaign={campaign}
          draft={draft}
          estimate={answerOf(estimate)}
          onClose={() => setStarting(false)}
        />
      )}
    </>
  )
}

interface StartDialogProps extends StepProps {
  readonly campaign: EditedCampaign
  /** Undefined while nobody knows. */
  readonly estimate: CampaignEstimate | undefined
  readonly onClose: () => void
}

function StartDialog({ campaign, estimate, draft, onClose }: StartDialogProps) {
  const { client } = useData()
  const { page, zone } = useWorkspace()
  const { route } = useLocation()
  const { campaign_id, starts_at: startsAt } = campaign
  const at = startText(startsAt, zone)
  const start = async () => {
    await client.put('/core-services/v1/campaigns/:campaign_id/start', { path: { campaign_id } })
    toast(at === undefined ? campaignEditorText.started : campaignEditorText.scheduled)
    draft.setFaults([])
    route(page('campaigns', campaign_id, 'run'))
  }
  return (
    <ConfirmDialog
      title={at === undefined ? campaignEditorText.start : campaignEditorText.schedule}
      act={start}
      onClose={onClose}
    >
      <p>{at === undefined ? startLead(estimate) : campaignEditorText.scheduleLead(`${at} (${zone})`)}</p>
      <p class="quiet-text">{campaignEditorText.afterStart}</p>
    </ConfirmDialog>
  )
}

function startLead(estimate: CampaignEstimate | undefined): string {
  if (!estimate) return campaignEditorText.startLeadUnknown
  const people = formatCounted(estimate.sendable, 'person', 'people')
  return lacksValues(estimate.missing_values)
    ? campaignEditorText.startLeadMost(people)
    : campaignEditorText.startLead(people)
}

function Summary({ form }: { readonly form: CampaignForm }) {
  const address = useAddress()
  const names = useCampaignNames([form])
  const parts = summaryOf(form, names)
  return (
    <Card title={campaignEditorText.summary}>
      <dl class="facts summary">
        {parts.map(({ title, text, step }) => (
          <Fragment key={title}>
            <dt>{title}</dt>
            <dd class="row apart">
              <span>{text === '' ? <span class="quiet-text">{campaignEditorText.nothing}</span> : text}</span>
              <a href={address.with({ step })} aria-label={`${campaignEditorText.change}: ${title}`}>
                {campaignEditorText.change}
              </a>
            </dd>
          </Fragment>
        ))}
      </dl>
    </Card>
  )
}
