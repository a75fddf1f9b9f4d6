// The fourth step: when the campaign is sent.
import { Card } from '../../../../components/content/card.tsx'
import { CheckField, Switch, TextField } from '../../../../components/controls/field.tsx'
import { useWorkspace } from '../../../../data/session.ts'
import { campaignEditorText } from '../../../../texts/campaigns/editor.ts'
import type { StepProps } from '../use-campaign-draft.ts'
import type { CampaignForm } from '../campaign-form.ts'

const WHENS = campaignEditorText.whens as { value: CampaignForm['when']; label: string }[]

export function ScheduleStep({ draft: { form, change } }: StepProps) {
  const { zone } = useWorkspace()
  // A program may write an instant with a zone, which the browser's field does not show.
  const isLocal = form.startAt === '' || /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(form.startAt)
  return (
    <>
      <Card title={campaignEditorText.scheduleTitle}>
        <div>
          <Switch
            label={campaignEditorText.when}
            value={form.when}
            options={WHENS}
            onChange={(when) => change({ when })}
          />
        </div>
        {form.when === 'now' ? (
          <p class="quiet-text">{campaignEditorText.nowHint}</p>
        ) : (
          <TextField
            name="delivery.start_at"
            type={isLocal ? 'datetime-local' : 'text'}
            label={campaignEditorText.startAt}
            hint={campaignEditorText.startAtHint(zone)}
            value={form.startAt}
            onInput={(startAt) => change({ startAt })}
          />
        )}
      </Card>
      <details class="card">
        <summary>{campaignEditorText.moreSchedule}</summary>
        <div class="stack">
          <CheckField
            name="delivery.capped"
            label={campaignEditorText.capped}
            hint={campaignEditorText.cappedHint}
            isChecked={form.isCapped}
            onChange={(isCapped) => change({ isCapped })}
          />
          <div class="form-row">
            <TextField
              name="delivery.give_up_after_hours"
              type="number"
              label={campaignEditorText.giveUp}
              hint={campaignEditorText.giveUpHint}
              value={form.giveUpHours}
              onInput={(giveUpHours) => change({ giveUpHours })}
            />
            <TextField
              name="delivery.grace_hours"
              type="number"
              label={campaignEditorText.grace}
              hint={campaignEditorText.graceHint}
              value={form.graceHours}
              onInput={(graceHours) => change({ graceHours })}
            />
          </div>
        </div>
      </details>
    </>
  )
}
