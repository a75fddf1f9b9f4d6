// The frame of the editor: name and state, the steps in the address, what has to be corrected, and saving.
import type { FunctionComponent } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from '../../../components/content/icon.tsx'
import { Failure } from '../../../components/content/shown.tsx'
import { Button, LinkButton } from '../../../components/controls/button.tsx'
import { ConflictDialog } from '../../../components/controls/conflict-dialog.tsx'
import { ShownFaults } from '../../../components/controls/form.tsx'
import { Page } from '../../../components/frame/page.tsx'
import { useAddress } from '../../../data/address.ts'
import { useWorkspace } from '../../../data/session.ts'
import { campaignEditorText } from '../../../texts/campaigns/editor.ts'
import { campaignsText } from '../../../texts/campaigns.ts'
import { toComparison } from '../../segments/conditions/leaf-form.ts'
import { CampaignStateBadge } from '../campaign-state.tsx'
import { AudienceStep } from './steps/audience.tsx'
import { fromCampaign, type CampaignForm, type EditedCampaign, type GoalForm } from './campaign-form.ts'
import { ContentStep } from './steps/content.tsx'
import { Faults } from './faults.tsx'
import { GoalsStep } from './steps/goals.tsx'
import { ReviewStep } from './steps/review.tsx'
import { ScheduleStep } from './steps/schedule.tsx'
import { StartedCampaign } from './started.tsx'
import { EDITOR_STEPS, stepOfFault, toStep, type EditorStep } from './steps.ts'
import { summaryOf, useCampaignNames } from './summary.ts'
import { campaignDraftKey, useCampaignDraft, type StepProps } from './use-campaign-draft.ts'

interface CampaignEditorProps {
  readonly campaign: EditedCampaign | undefined
  /** What the server has, or with what a new one begins. */
  readonly saved: CampaignForm
}

const SCREENS_OF_STEPS: { readonly [step in EditorStep]: FunctionComponent<StepProps> } = {
  audience: AudienceStep,
  content: ContentStep,
  goals: GoalsStep,
  schedule: ScheduleStep,
  review: ReviewStep,
}

export function CampaignEditor({ campaign, saved }: CampaignEditorProps) {
  const { page } = useWorkspace()
  const from = useAddress().get('from')
  const draft = useCampaignDraft({ key: campaignDraftKey(from), campaign, saved })
  const { form, faults, error, isChanged } = draft
  const isDraft = campaign === undefined || campaign.state === 'draft'
  // It can be saved as it is; an empty form cannot.
  const isNewCopy = campaign === undefined && from !== undefined
  useSaveKey(draft.save)
  const parent =
    campaign === undefined || isDraft
      ? { href: page('campaigns'), title: campaignsText.title }
      : { href: page('campaigns', campaign.campaign_id), title: campaign.name }
  return (
    <Page
      title={form.name === '' ? campaignEditorText.unnamed : form.name}
      beside={<CampaignStateBadge state={campaign === undefined ? 'draft' : campaign.state} />}
      lead={isDraft && (isChanged || !campaign ? campaignEditorText.unsaved : campaignEditorText.allSaved)}
      actions={
        isDraft && (
          <Button isBusy={draft.isSaving} isDisabled={!isChanged && !isNewCopy} onClick={() => void draft.save()}>
            {draft.isSaving ? campaignEditorText.saving : campaignEditorText.saveDraft}
          </Button>
        )
      }
      parent={parent}
    >
      <ShownFaults faults={faults}>
        {faults.length > 0 && <Faults faults={faults} isDraft={isDraft} />}
        {error && <Failure error={error} />}
        {isDraft ? <Steps draft={draft} /> : <StartedCampaign draft={draft} />}
      </ShownFaults>
      {draft.other && <Conflict draft={draft} other={draft.other} />}
    </Page>
  )
}

/** Ctrl Enter saves. */
function useSaveKey(save: () => Promise<boolean>) {
  const current = useRef(save)
  current.current = save
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void current.current()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

function Steps({ draft }: StepProps) {
  const address = useAddress()
  const step = toStep(address.get('step'))
  const place = useRef<HTMLDivElement>(null)
  const shown = useRef(step)
  useEffect(() => {
    if (shown.current === step) return
    shown.current = step
    place.current?.focus({ preventScroll: true })
    place.current?.scrollIntoView({ block: 'nearest' })
  }, [step])
  const Shown = SCREENS_OF_STEPS[step]
  const at = EDITOR_STEPS.indexOf(step)
  const [before, after] = [EDITOR_STEPS[at - 1], EDITOR_STEPS[at + 1]]
  return (
    <>
      <StepList step={step} draft={draft} />
      <div class="stack editor-step" ref={place} tabIndex={-1} role="group" aria-label={campaignEditorText.step[step]}>
        <Shown draft={draft} />
      </div>
      <div class="form-end">
        {after && (
          <LinkButton kind="main" href={address.with({ step: after })}>
            {campaignEditorText.next(campaignEditorText.step[after])}
          </LinkButton>
        )}
        {before && (
          <LinkButton href={address.with({ step: before })}>
            {campaignEditorText.back(campaignEditorText.step[before])}
          </LinkButton>
        )}
      </div>
    </>
  )
}

function StepList({ step, draft: { form, faults } }: StepProps & { readonly step: EditorStep }) {
  const address = useAddress()
  return (
    <nav class="tabs steps" aria-label={campaignEditorText.steps}>
      {EDITOR_STEPS.map((one, index) => {
        const isWrong = faults.some((fault) => stepOfFault(fault) === one)
        const state = isWrong ? 'wrong' : isDone(one, form) ? 'done' : undefined
        return (
          <a key={one} class="tab" href={address.with({ step: one })} aria-current={one === step ? 'step' : undefined}>
            <span class={`step-mark ${state ?? ''}`} aria-hidden="true">
              {state === 'done' ? <Icon name="check" size={12} /> : state === 'wrong' ? '!' : index + 1}
            </span>
            <span class="step-name">{campaignEditorText.step[one]}</span>
            {state && <span class="visually-hidden">({campaignEditorText.stepState[state]})</span>}
          </a>
        )
      })}
    </nav>
  )
}

/** Whether what must be given is given; the server knows whether it is right. */
function isDone(step: EditorStep, { name, include, senderId, variations, goals }: CampaignForm): boolean {
  switch (step) {
    case 'audience':
      return name.trim() !== '' && include.length > 0
    case 'content':
      return senderId !== '' && variations.every(({ templateId }) => templateId !== '')
    case 'goals':
      return goals.length > 0 && goals.every(isGoalComplete)
    case 'schedule':
    case 'review':
      return false
  }
}

function isGoalComplete({ name, event, where }: GoalForm): boolean {
  const details = where.map(toComparison)
  const isNamed = name.trim() !== '' && event.trim() !== ''
  return isNamed && details.every(({ attribute, value }) => attribute.trim() !== '' && value !== '')
}

function Conflict({ draft, other }: StepProps & { readonly other: EditedCampaign }) {
  const theirs = fromCampaign(other)
  const names = useCampaignNames([draft.form, theirs])
  const saved = summaryOf(theirs, names)
  const parts = summaryOf(draft.form, names).map(({ title, text: mine }, index) => {
    return { title, mine, theirs: saved[index]?.text ?? '' }
  })
  return (
    <ConflictDialog
      savedAt={other.updated_at}
      savedBy={other.updated_by}
      parts={parts}
      keepMine={draft.keepMine}
      takeTheirs={draft.takeTheirs}
      onClose={draft.closeConflict}
    />
  )
}
