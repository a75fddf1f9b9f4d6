// The form of a template: what it says on the left, what a person would receive on the right. Ctrl Enter sends it.
import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Card } from '../../../components/content/card.tsx'
import { SelectField, TextField } from '../../../components/controls/field.tsx'
import { Form } from '../../../components/controls/form.tsx'
import { LookupField } from '../../../components/controls/lookup-field.tsx'
import { templateText } from '../../../texts/templates.ts'
import { findGroups } from '../find-groups.ts'
import { Attachments } from './attachments.tsx'
import { CodeEditor } from './code-editor.tsx'
import type { CodeFault } from './code-mirror.ts'
import { PreviewFaults } from './preview-faults.tsx'
import { MailPreview, usePreview, type PreviewFaultBody } from './preview.tsx'
import { idOfName, PART_OF, type FieldName, type TemplateFields } from './template-fields.ts'

interface TemplateFormProps {
  readonly fields: TemplateFields
  readonly onChange: (fields: TemplateFields) => void
  readonly send: () => Promise<unknown>
  readonly submit: string
  readonly isDisabled?: boolean
  /** Beside the button. */
  readonly others?: ComponentChildren
  /** Whether it is the default template of a group, and so cannot join another one. */
  readonly isDefault?: boolean
}

export function TemplateForm({ fields, onChange, isDefault = false, ...form }: TemplateFormProps) {
  const [goTo, setGoTo] = useState<CodeFault | undefined>(undefined)
  const shown = usePreview(fields)
  const found = shown.preview?.faults ?? NONE
  const faults = useMemo(() => found.flatMap(toCodeFault), [found])
  const change = (name: FieldName) => (value: string) => onChange({ ...fields, [name]: value })
  const text = (name: TextName) => ({
    name: `${PART_OF[name]}.${name}`,
    label: templateText.fields[name],
    value: fields[name],
    onInput: change(name),
  })
  return (
    <div class="template-editor" onKeyDown={sendOnCtrlEnter}>
      <Form {...form}>
        <TextField {...text('template_name')} onInput={(name) => onChange(withName(fields, name))} />
        <div class="form-row">
          <TextField {...text('subject')} />
          <TextField {...text('sender_name')} isOptional hint={templateText.senderHint} />
        </div>
        <div class="field">
          <span class="label">{templateText.fields.email_content}</span>
          <CodeEditor
            text={fields.email_content}
            label={templateText.fields.email_content}
            onChange={change('email_content')}
            faults={faults}
            goTo={goTo}
          />
          <p class="hint">{templateText.keys}</p>
        </div>
        {shown.preview && <PreviewFaults faults={found} onChoose={(fault) => setGoTo(toCodeFault(fault)[0])} />}
        <Card title={templateText.details}>
          <div class="form-row">
            <TextField {...text('template_id')} hint={templateText.idHint} isCode />
            <TextField {...text('template_version')} />
          </div>
          <GroupFields fields={fields} onChange={onChange} isDefault={isDefault} />
          <div class="form-row">
            <SelectField
              name="meta_info.template_type"
              label={templateText.fields.template_type}
              value={fields.template_type}
              options={templateText.types}
              onChange={change('template_type')}
            />
            <TextField {...text('thumbnail_url')} type="url" isOptional />
          </div>
          <Attachments
            attachments={fields.attachments}
            onChange={(attachments) => onChange({ ...fields, attachments })}
          />
        </Card>
      </Form>
      <MailPreview {...shown} isEmpty={fields.email_content === ''} />
    </div>
  )
}

type TextName = Exclude<FieldName, 'attachments' | 'template_type' | 'email_content'>

function GroupFields({ fields, onChange, isDefault }: Pick<TemplateFormProps, 'fields' | 'onChange' | 'isDefault'>) {
  return (
    <div class="form-row">
      <TextField
        name="meta_info.locale"
        label={templateText.fields.locale}
        value={fields.locale}
        onInput={(locale) => onChange({ ...fields, locale })}
        isOptional
      />
      <TextField
        name="meta_info.variation"
        label={templateText.fields.variation}
        value={fields.variation}
        onInput={(variation) => onChange({ ...fields, variation })}
        isOptional
      />
      {isDefault ? (
        <p class="note">{templateText.isDefaultHint}</p>
      ) : (
        <LookupField
          name="meta_info.group_id"
          label={templateText.fields.group_id}
          hint={templateText.groupHint}
          value={fields.group_id}
          onChange={(group_id) => onChange({ ...fields, group_id })}
          find={findGroups}
          isOptional
        />
      )}
    </div>
  )
}

const NONE: readonly PreviewFaultBody[] = []

/** Only faults of the HTML have a place in the editor. */
function toCodeFault({ field, line, column, kind, problem }: PreviewFaultBody): CodeFault[] {
  if (field !== 'basic_details.email_content' || line === null || column === null) return []
  return [{ line, column, isWarning: kind === 'value', problem }]
}

/** Until somebody types another one, the id of a new template follows its name. */
function withName(fields: TemplateFields, name: string): TemplateFields {
  const follows = fields.template_id === idOfName(fields.template_name)
  return { ...fields, template_name: name, ...(follows && { template_id: idOfName(name) }) }
}

function sendOnCtrlEnter(event: KeyboardEvent): void {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  ;(event.currentTarget as HTMLElement).querySelector('form')?.requestSubmit()
}
