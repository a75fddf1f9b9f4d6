// The first step: the name, the segments that get the campaign, consent, and the control group.
import { useState } from 'preact/hooks'
import type { AudiencePart, Consent } from '../../../../../src/core/delivery/delivery.ts'
import { Card } from '../../../../components/content/card.tsx'
import { Icon } from '../../../../components/content/icon.tsx'
import { toast } from '../../../../components/content/toasts.tsx'
import { Button } from '../../../../components/controls/button.tsx'
import { ChoiceList, ChoiceName } from '../../../../components/controls/choose-field.tsx'
import { Dialog } from '../../../../components/controls/dialog.tsx'
import { CheckField, SelectField, TextField } from '../../../../components/controls/field.tsx'
import { useFault } from '../../../../components/controls/form.tsx'
import { useWorkspace } from '../../../../data/session.ts'
import { campaignEditorText } from '../../../../texts/campaigns/editor.ts'
import { formText } from '../../../../texts/form.ts'
import { countText, segmentsText } from '../../../../texts/segments.ts'
import { useCategoryChoices, useNames } from '../../../segments/conditions/condition-choices.ts'
import { PeopleCount } from '../../../segments/count.tsx'
import { NEW_SEGMENT, useCreateSegment } from '../../../segments/new.tsx'
import { SegmentForm } from '../../../segments/segment-form.tsx'
import { sentenceOf } from '../../../segments/conditions/sentence.ts'
import { toAudienceCondition } from '../campaign-form.ts'
import type { StepProps } from '../use-campaign-draft.ts'
import { SEGMENT_CHOICES } from '../choices.ts'

export function AudienceStep({ draft }: StepProps) {
  const { form, change } = draft
  return (
    <div class="with-aside">
      <div class="stack">
        <Card>
          <TextField
            name="name"
            label={campaignEditorText.name}
            hint={campaignEditorText.nameHint}
            value={form.name}
            onInput={(name) => change({ name })}
          />
        </Card>
        <Card title={campaignEditorText.audienceTitle} lead={campaignEditorText.audienceLead}>
          <Parts
            name="delivery.audience.include"
            label={campaignEditorText.include}
            parts={form.include}
            onChange={(include) => change({ include })}
          />
          <Excluded draft={draft} />
        </Card>
        <ConsentCard draft={draft} />
        <ControlCard draft={draft} />
      </div>
      <div class="aside">
        <Card title={countText.title}>
          <PeopleCount where={toAudienceCondition(form)} waiting={campaignEditorText.countWaits} />
        </Card>
      </div>
    </div>
  )
}

function Excluded({ draft: { form, change } }: StepProps) {
  const [isOpen, setOpen] = useState(false)
  if (!isOpen && form.exclude.length === 0) {
    return (
      <div>
        <Button kind="quiet" icon="plus" onClick={() => setOpen(true)}>
          {campaignEditorText.excludeAction}
        </Button>
      </div>
    )
  }
  return (
    <Parts
      name="delivery.audience.exclude"
      label={campaignEditorText.exclude}
      hint={campaignEditorText.excludeHint}
      parts={form.exclude}
      onChange={(exclude) => change({ exclude })}
    />
  )
}

interface PartsProps {
  /** Their path in the body. */
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly parts: readonly AudiencePart[]
  readonly onChange: (parts: readonly AudiencePart[]) => void
}

/** Segments, and conditions that a program wrote; more of the first can be added. */
function Parts({ name, label, hint, parts, onChange }: PartsProps) {
  const { may } = useWorkspace()
  const [isAdding, setAdding] = useState(false)
  const [isCreating, setCreating] = useState(false)
  const fault = useFault(name)
  const add = (id: string) => {
    onChange([...parts, id])
    setAdding(false)
  }
  const isListOpen = isAdding || parts.length === 0
  const create = may('segments.write') && (
    <Button kind={isListOpen ? 'plain' : 'quiet'} icon="plus" onClick={() => setCreating(true)}>
      {campaignEditorText.newSegment}
    </Button>
  )
  return (
    <div class="field" role="group" aria-label={label}>
      <span class="label">{label}</span>
      {parts.map((part, index) => (
        <Part key={index} name={`${name}[${index}]`} part={part} onRemove={() => onChange(parts.toSpliced(index, 1))} />
      ))}
      {isListOpen && (
        <ChoiceList
          label={label}
          choices={SEGMENT_CHOICES}
          without={parts.filter((part) => typeof part === 'string')}
          isOpened={isAdding}
          empty={campaignEditorText.noSegments}
          onChoose={add}
        />
      )}
      {fault && (
        <p class="fault">
          <Icon name="circle-alert" />
          {label} {fault}
        </p>
      )}
      {hint && <p class="hint">{hint}</p>}
      <div class="row">
        {!isListOpen && (
          <Button kind="quiet" icon="plus" onClick={() => setAdding(true)}>
            {campaignEditorText.addAnother}
          </Button>
        )}
        {create}
      </div>
      {isCreating && <SegmentDialog onClose={() => setCreating(false)} onCreated={add} />}
    </div>
  )
}

interface PartProps {
  readonly name: string
  readonly part: AudiencePart
  readonly onRemove: () => void
}

function Part({ name, part, onRemove }: PartProps) {
  const { page } = useWorkspace()
  const fault = useFault(name)
  const names = useNames(typeof part === 'string' ? [{ segment: part }] : [part])
  const title = typeof part === 'string' ? (names.get(part) ?? part) : sentenceOf(part, names)
  return (
    <div class="chosen">
      {typeof part === 'string' ? (
        <>
          <ChoiceName choices={SEGMENT_CHOICES} id={part} />
          <a href={page('segments', part)} target="_blank">
            {campaignEditorText.openTemplate}
          </a>
        </>
      ) : (
        <span class="chosen-name">
          <span class="note">{campaignEditorText.conditionPart}</span>
          {title}
        </span>
      )}
      <Button kind="quiet" icon="x" label={campaignEditorText.removePart(title)} onClick={onRemove} />
      {fault && (
        <p class="fault">
          <Icon name="circle-alert" />
          {fault}
        </p>
      )}
    </div>
  )
}

/** A new segment over the editor, which is in the audience once it is created. */
function SegmentDialog({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}) {
  const [draft, setDraft] = useState(NEW_SEGMENT)
  const create = useCreateSegment()
  const send = async () => {
    const { segment_id: id } = await create(draft)
    toast(segmentsText.created)
    onCreated(id)
    onClose()
  }
  return (
    <Dialog title={segmentsText.create} onClose={onClose} isWide>
      <SegmentForm
        isDialog
        draft={draft}
        onChange={setDraft}
        send={send}
        submit={segmentsText.create}
        others={<Button onClick={onClose}>{formText.cancel}</Button>}
      />
    </Dialog>
  )
}

function ConsentCard({ draft: { form, change } }: StepProps) {
  const categories = useCategoryChoices()
  const all = form.category === '' || categories.includes(form.category) ? categories : [...categories, form.category]
  const options = [
    { value: '', label: campaignEditorText.anyCategory },
    ...all.map((category) => ({ value: category, label: category })),
  ]
  return (
    <Card title={campaignEditorText.consentTitle} lead={campaignEditorText.consentLead}>
      <div class="form-row">
        <SelectField<Consent>
          name="delivery.consent"
          label={campaignEditorText.consent}
          value={form.consent}
          options={campaignEditorText.consents}
          onChange={(consent) => change({ consent })}
        />
        <SelectField
          name="delivery.category"
          label={campaignEditorText.category}
          hint={campaignEditorText.categoryHint}
          value={form.category}
          options={options}
          onChange={(category) => change({ category })}
        />
      </div>
    </Card>
  )
}

function ControlCard({ draft: { form, change } }: StepProps) {
  return (
    <Card title={campaignEditorText.controlTitle} lead={campaignEditorText.controlLead}>
      <div class="form-row">
        <TextField
          name="delivery.campaign_control_percent"
          type="number"
          label={campaignEditorText.control}
          hint={campaignEditorText.controlHint}
          value={form.control}
          onInput={(control) => change({ control })}
        />
        <CheckField
          name="delivery.global_control"
          label={campaignEditorText.globalControl}
          hint={campaignEditorText.globalControlHint}
          isChecked={form.hasGlobalControl}
          onChange={(hasGlobalControl) => change({ hasGlobalControl })}
        />
      </div>
    </Card>
  )
}
