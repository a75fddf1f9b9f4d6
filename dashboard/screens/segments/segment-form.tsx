// The name and the conditions of a segment, with the count beside them: on a page of their own, or in a dialog over the editor of a campaign.
import { Card } from '../../components/content/card.tsx'
import type { ComponentChildren } from 'preact'
import { TextField } from '../../components/controls/field.tsx'
import { Form } from '../../components/controls/form.tsx'
import { countText, segmentsText } from '../../texts/segments.ts'
import { ConditionEditor } from './conditions/condition-editor.tsx'
import { writeCondition, type GroupForm } from './conditions/condition-form.ts'
import { PeopleCount } from './count.tsx'

export interface SegmentDraft {
  readonly name: string
  readonly where: GroupForm
}

/** As it is sent. */
export function toSegmentFields({ name, where }: SegmentDraft) {
  return { name, where: { ...writeCondition(where) } }
}

interface SegmentFormProps {
  readonly draft: SegmentDraft
  readonly onChange: (draft: SegmentDraft) => void
  readonly send: () => Promise<unknown>
  readonly submit: string
  /** Beside its button. */
  readonly others?: ComponentChildren
  readonly isDialog?: boolean
  /** Below the count. */
  readonly aside?: ComponentChildren
}

export function SegmentForm({ draft, onChange, send, submit, others, isDialog = false, aside }: SegmentFormProps) {
  const where = draft.where.parts.length === 0 ? undefined : writeCondition(draft.where)
  const fields = (
    <>
      <TextField
        name="name"
        label={segmentsText.name}
        hint={segmentsText.nameHint}
        value={draft.name}
        onInput={(name) => onChange({ ...draft, name })}
        takesFocus={isDialog}
      />
      <div class="field">
        <span class="label">{segmentsText.conditions}</span>
        <ConditionEditor name="where" form={draft.where} onChange={(next) => onChange({ ...draft, where: next })} />
      </div>
    </>
  )
  const form = (
    <Form send={send} submit={submit} others={others} isDialog={isDialog}>
      {fields}
      {isDialog && <PeopleCount where={where} />}
    </Form>
  )
  if (isDialog) return form
  return (
    <div class="with-aside">
      <Card>{form}</Card>
      <div class="aside">
        <Card title={countText.title}>
          <PeopleCount where={where} />
        </Card>
        {aside}
      </div>
    </div>
  )
}
