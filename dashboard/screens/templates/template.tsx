// The content of one template: the editor, whose every save makes a version, or what it says for those who may not change it.
import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { Badge } from '../../components/content/badge.tsx'
import { Card } from '../../components/content/card.tsx'
import { toast } from '../../components/content/toasts.tsx'
import { Button } from '../../components/controls/button.tsx'
import { ApiError } from '../../data/api-error.ts'
import { typedSince, useDraft } from '../../data/forms/drafts.ts'
import { useWorkspace } from '../../data/session.ts'
import { templateText } from '../../texts/templates.ts'
import { CodeEditor } from './editor/code-editor.tsx'
import { Conflict, type FoundConflict } from './editor/conflict.tsx'
import { WrittenCard } from './editor/preview.tsx'
import {
  changedFields,
  TEMPLATE_DRAFT,
  toFields,
  toUpdateParts,
  type FieldName,
  type TemplateAnswer,
  type TemplateDraft,
} from './editor/template-fields.ts'
import { TemplateForm } from './editor/template-form.tsx'
import { useTemplateCalls } from './template-calls.ts'
import { TemplatePage } from './template-page.tsx'

export default function Template({ external_template_id: id }: { readonly external_template_id: string }) {
  const { may } = useWorkspace()
  return (
    <TemplatePage id={id} tab="edit">
      {(template) =>
        may('templates.write') && template.archived_at === undefined ? (
          <TemplateEditor template={template} />
        ) : (
          <WrittenTemplate template={template} />
        )
      }
    </TemplatePage>
  )
}

function TemplateEditor({ template }: { readonly template: TemplateAnswer }) {
  const saved: TemplateDraft = { version: template.version, fields: toFields(template) }
  const draft = useDraft(TEMPLATE_DRAFT, saved)
  const { read, write } = useTemplateCalls(template.external_template_id)
  const [conflict, setConflict] = useState<FoundConflict | undefined>(undefined)
  const { version, fields } = draft.value
  const findBase = async () => (version === saved.version ? saved.fields : toFields(await read(version)))
  const save = async (ifVersion: number) => {
    const base = await findBase()
    if (changedFields(base, fields).length === 0) return draft.forget()
    const made = await write({ if_version: ifVersion, ...toUpdateParts(base, fields) })
    // Somebody may have typed on meanwhile.
    const typed = draft.latest().fields
    if (typedSince(fields, typed)) draft.change({ version: made, fields: typed })
    else draft.forget()
    toast(templateText.savedToast(made))
  }
  const send = async () => {
    try {
      await save(version)
    } catch (error) {
      if (!isOtherVersion(error)) throw error
      setConflict({ theirs: await read(), base: await findBase() })
    }
  }
  return (
    <>
      <TemplateForm
        fields={fields}
        onChange={(changed) => draft.change({ version, fields: changed })}
        send={send}
        submit={templateText.save}
        isDisabled={!draft.isChanged}
        isDefault={template.is_default_template_of_group ?? false}
        others={draft.isChanged && <Unsaved version={version} latest={saved.version} discard={draft.forget} />}
      />
      {conflict && (
        <Conflict
          {...conflict}
          mine={fields}
          keepMine={() => save(conflict.theirs.version)}
          discardMine={draft.forget}
          onClose={() => setConflict(undefined)}
        />
      )}
    </>
  )
}

function isOtherVersion(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409 && error.details.some(({ field }) => field === 'if_version')
}

interface UnsavedProps {
  readonly version: number
  readonly latest: number
  readonly discard: () => void
}

function Unsaved({ version, latest, discard }: UnsavedProps) {
  return (
    <>
      <Button kind="quiet" onClick={discard}>
        {templateText.discard}
      </Button>
      <span class="note">{templateText.unsaved(version)}</span>
      {latest !== version && (
        <Badge kind="warn" icon="triangle-alert">
          {templateText.newerThere(latest)}
        </Badge>
      )}
    </>
  )
}

function WrittenTemplate({ template }: { readonly template: TemplateAnswer }) {
  const fields = toFields(template)
  const { email_content: html, attachments: _attachments, ...texts } = fields
  const shown = Object.entries(texts).filter(([, text]) => text !== '') as [FieldName, string][]
  return (
    <div class="template-editor">
      <Card>
        <dl class="facts">
          {shown.map(([name, text]) => (
            <Fragment key={name}>
              <dt>{templateText.fields[name]}</dt>
              <dd>{text}</dd>
            </Fragment>
          ))}
        </dl>
        <CodeEditor text={html} label={templateText.fields.email_content} />
      </Card>
      <WrittenCard html={html} />
    </div>
  )
}
