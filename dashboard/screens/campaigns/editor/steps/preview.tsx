// The message as a person of one's choice would get it, and tests by mail. Both show the draft that is saved.
import { useState } from 'preact/hooks'
import { useAddress } from '../../../../data/address.ts'
import { Card } from '../../../../components/content/card.tsx'
import { MailFrame } from '../../../../components/content/mail-frame.tsx'
import { Notice } from '../../../../components/content/notice.tsx'
import { Shown } from '../../../../components/content/shown.tsx'
import { Button } from '../../../../components/controls/button.tsx'
import { ChooseField } from '../../../../components/controls/choose-field.tsx'
import { SelectField, Switch } from '../../../../components/controls/field.tsx'
import type { AnswerOf } from '../../../../data/contracts.ts'
import { useQuery } from '../../../../data/queries.ts'
import { campaignEditorText } from '../../../../texts/campaigns/editor.ts'
import { reasonTitle } from '../../../../texts/campaigns/report.ts'
import { answerOf } from '../../../segments/conditions/condition-choices.ts'
import type { StepProps } from '../use-campaign-draft.ts'
import { toAudienceCondition, type EditedCampaign } from '../campaign-form.ts'
import { PERSON_CHOICES } from '../choices.ts'
import { TestSend } from './test-send.tsx'

type Preview = AnswerOf<'POST', '/core-services/v1/campaigns/:campaign_id/preview'>
type PreviewPart = (typeof campaignEditorText.previewParts)[number]['value']

export function PreviewCard({ draft }: StepProps) {
  const { campaign, isChanged, isSaving, save } = draft
  const lead = campaignEditorText.previewLead
  if (campaign && !isChanged) {
    return (
      <Card title={campaignEditorText.previewTitle} lead={lead}>
        <SavedPreview campaign={campaign} draft={draft} />
      </Card>
    )
  }
  return (
    <Card title={campaignEditorText.previewTitle} lead={lead}>
      <p class="quiet-text">{campaignEditorText.previewSaves}</p>
      <div>
        <Button isBusy={isSaving} onClick={() => void save()}>
          {campaignEditorText.saveAndPreview}
        </Button>
      </div>
    </Card>
  )
}

function SavedPreview({ campaign, draft }: StepProps & { readonly campaign: EditedCampaign }) {
  const address = useAddress()
  const [variation, setVariation] = useState('')
  const somebody = useSomebody(draft)
  const person = address.get('person') ?? somebody
  const { campaign_id, updated_at: version } = campaign
  const preview = useQuery({
    key: ['preview', campaign_id, version, person, variation],
    isWanted: person !== undefined,
    ask: (client, signal) => {
      const body = { customer_id: person ?? '', ...(variation !== '' && { variation }) }
      return client.post('/core-services/v1/campaigns/:campaign_id/preview', { path: { campaign_id }, body, signal })
    },
  })
  const names = draft.form.variations.map(({ name }) => ({ value: name, label: name }))
  return (
    <div class="stack">
      <div class="form-row">
        <ChooseField
          name="customer_id"
          label={campaignEditorText.person}
          hint={campaignEditorText.personHint}
          choices={PERSON_CHOICES}
          value={person ?? ''}
          onChange={(id) => address.set({ person: id })}
        />
        {names.length > 1 && (
          <SelectField
            name="variation"
            label={campaignEditorText.previewVariation}
            value={variation}
            options={[{ value: '', label: campaignEditorText.ownVariation }, ...names]}
            onChange={setVariation}
          />
        )}
      </div>
      {person !== undefined && (
        <Shown of={preview} lines={6}>
          {(answer) => <Message preview={answer} person={person} />}
        </Shown>
      )}
      <TestSend campaignId={campaign_id} person={person} />
    </div>
  )
}

/** The first of the audience, so that something is in sight at once. */
function useSomebody({ form }: StepProps['draft']): string | undefined {
  const where = toAudienceCondition(form)
  const count = useQuery({
    key: ['count', where],
    isWanted: where !== undefined,
    ask: (client, signal) => client.post('/core-services/v1/segments/count', { body: { where: { ...where } }, signal }),
  })
  return answerOf(count)?.sample[0]
}

function Message({ preview, person }: { readonly preview: Preview; readonly person: string }) {
  const address = useAddress()
  const part = PREVIEW_PARTS.find(({ value }) => value === address.get('part'))?.value ?? 'html'
  const { subject, html, text, headers, would_send: wouldSend, reason, problem } = preview
  return (
    <div class="stack">
      <Notice kind={wouldSend ? 'good' : 'warn'}>
        <p>
          {wouldSend
            ? campaignEditorText.wouldSend(person)
            : `${campaignEditorText.wouldNotSend(person)} ${reasonText(reason ?? '')}.`}
        </p>
        {problem !== undefined && <p>{problem}</p>}
      </Notice>
      {html !== '' && (
        <>
          <dl class="facts">
            <dt>{campaignEditorText.subject}</dt>
            <dd>
              <strong>{subject}</strong>
            </dd>
            <dt>{campaignEditorText.fromLine}</dt>
            <dd>{headers['From']}</dd>
          </dl>
          <div>
            <Switch
              label={campaignEditorText.previewPart}
              value={part}
              options={PREVIEW_PARTS}
              onChange={(value) => address.set({ part: value === 'html' ? undefined : value })}
            />
          </div>
          {part === 'html' && <MailFrame html={html} title={campaignEditorText.previewFrame(subject)} />}
          {part === 'text' && <pre class="code-block">{text}</pre>}
          {part === 'headers' && (
            <pre class="code-block">
              {Object.entries(headers)
                .map(([name, value]) => `${name}: ${value}`)
                .join('\n')}
            </pre>
          )}
        </>
      )}
    </div>
  )
}

const PREVIEW_PARTS = campaignEditorText.previewParts as { value: PreviewPart; label: string }[]

function reasonText(reason: string): string {
  return campaignEditorText.previewReasons[reason] ?? reasonTitle(reason).toLowerCase()
}
