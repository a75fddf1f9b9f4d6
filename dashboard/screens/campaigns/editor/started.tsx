// A campaign that has started, or that another system sends: only its name and its goals can be changed.
import { Card } from '../../../components/content/card.tsx'
import { Notice } from '../../../components/content/notice.tsx'
import { Button } from '../../../components/controls/button.tsx'
import { TextField } from '../../../components/controls/field.tsx'
import { campaignEditorText } from '../../../texts/campaigns/editor.ts'
import { campaignsText } from '../../../texts/campaigns.ts'
import type { StepProps } from './use-campaign-draft.ts'
import { GoalsStep } from './steps/goals.tsx'

export function StartedCampaign({ draft }: StepProps) {
  const { form, change, campaign, isChanged, isSaving, save } = draft
  const state = campaign?.state
  return (
    <>
      <Notice>
        {state === undefined ? campaignEditorText.notSent : campaignEditorText.notDraft(campaignsText.states[state])}
      </Notice>
      <Card>
        <TextField
          name="name"
          label={campaignEditorText.name}
          hint={campaignEditorText.nameHint}
          value={form.name}
          onInput={(name) => change({ name })}
        />
      </Card>
      <GoalsStep draft={draft} />
      <div class="form-end">
        <Button kind="main" isBusy={isSaving} isDisabled={!isChanged} onClick={() => void save()}>
          {campaignEditorText.save}
        </Button>
      </div>
    </>
  )
}
