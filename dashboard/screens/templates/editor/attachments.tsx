// The files of a template, by name and URL.
import { Button } from '../../../components/controls/button.tsx'
import { TextField } from '../../../components/controls/field.tsx'
import { ATTACHMENTS_MAX } from '../../../../src/core/templates/template.ts'
import { templateText } from '../../../texts/templates.ts'
import type { TemplateFields } from './template-fields.ts'

type Attachment = TemplateFields['attachments'][number]

interface AttachmentsProps {
  readonly attachments: readonly Attachment[]
  readonly onChange: (attachments: readonly Attachment[]) => void
}

export function Attachments({ attachments, onChange }: AttachmentsProps) {
  const set = (at: number, change: Partial<Attachment>) =>
    onChange(attachments.map((attachment, index) => (index === at ? { ...attachment, ...change } : attachment)))
  return (
    <>
      {attachments.map(({ name, url }, index) => (
        <fieldset key={index} class="attachment">
          <legend class="visually-hidden">{templateText.attachment(index + 1)}</legend>
          <TextField
            name={`basic_details.attachments[${index}].name`}
            label={templateText.attachmentName}
            value={name}
            onInput={(changed) => set(index, { name: changed })}
          />
          <TextField
            name={`basic_details.attachments[${index}].url`}
            label={templateText.attachmentUrl}
            type="url"
            value={url}
            onInput={(changed) => set(index, { url: changed })}
          />
          <Button
            kind="quiet"
            icon="x"
            label={templateText.removeAttachment(index + 1)}
            onClick={() => onChange(attachments.filter((_, other) => other !== index))}
          />
        </fieldset>
      ))}
      {attachments.length < ATTACHMENTS_MAX && (
        <div class="row">
          <Button icon="plus" onClick={() => onChange([...attachments, { name: '', url: '' }])}>
            {templateText.addAttachment}
          </Button>
        </div>
      )}
    </>
  )
}
