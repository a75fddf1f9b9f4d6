// A new template, empty, or a copy of another one: `?from=`, into its group or another one: `&group=`.
import { useLocation } from 'preact-iso'
import { Shown } from '../../components/content/shown.tsx'
import { toast } from '../../components/content/toasts.tsx'
import { Button } from '../../components/controls/button.tsx'
import { Page } from '../../components/frame/page.tsx'
import { useAddress } from '../../data/address.ts'
import { keepDraft, typedSince, useDraft } from '../../data/forms/drafts.ts'
import { useData, useQuery } from '../../data/queries.ts'
import { useRepeatKey } from '../../data/forms/repeat-keys.ts'
import { useSession, useWorkspace } from '../../data/session.ts'
import { templatesText, templateText } from '../../texts/templates.ts'
import {
  NEW_FIELDS,
  TEMPLATE_DRAFT,
  toCreateBody,
  toFields,
  type TemplateDraft,
  type TemplateFields,
} from './editor/template-fields.ts'
import { TemplateForm } from './editor/template-form.tsx'

export default function NewTemplate() {
  const { page } = useWorkspace()
  const from = useAddress().get('from')
  const copied = useQuery({
    key: ['template', from],
    ask: (client, signal) => {
      const path = { external_template_id: from ?? '' }
      return client.get('/v1.0/custom-templates/email/:external_template_id', { path, query: {}, signal })
    },
    isWanted: from !== undefined,
  })
  return (
    <Page
      title={templateText.newTitle}
      lead={templateText.newLead}
      parent={{ href: page('templates'), title: templatesText.title }}
    >
      {from === undefined ? (
        <NewEditor start={NEW_FIELDS} />
      ) : (
        <Shown of={copied}>{(template) => <NewEditor start={toCopy(toFields(template))} />}</Shown>
      )}
    </Page>
  )
}

function toCopy(fields: TemplateFields): TemplateFields {
  return { ...fields, template_id: `${fields.template_id}-copy`, locale: '', variation: '' }
}

function NewEditor({ start }: { readonly start: TemplateFields }) {
  const { client } = useData()
  const { person } = useSession()
  const { page } = useWorkspace()
  const { route } = useLocation()
  const address = useAddress()
  const keyOf = useRepeatKey()
  const group = address.get('group')
  const initial = group === undefined ? start : { ...start, group_id: group }
  const draft = useDraft(`new ${address.get('from') ?? ''} ${group ?? ''}`, initial)
  const send = async () => {
    const sent = draft.value
    const body = toCreateBody(sent, person.email)
    const saved = await client.post('/v1.0/custom-templates/email', { body, idempotencyKey: keyOf(body) })
    const made = page('templates', saved.external_template_id)
    const typed: TemplateDraft = { version: saved.version, fields: draft.latest() }
    if (typedSince(sent, typed.fields)) keepDraft(made, TEMPLATE_DRAFT, typed)
    toast(templateText.createdToast)
    draft.forget()
    route(made, true)
  }
  const discard = draft.isChanged && (
    <Button kind="quiet" onClick={draft.forget}>
      {templateText.discard}
    </Button>
  )
  return (
    <TemplateForm
      fields={draft.value}
      onChange={draft.change}
      send={send}
      submit={templateText.create}
      others={discard}
    />
  )
}
