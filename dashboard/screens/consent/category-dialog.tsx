// Adds a category, or changes what its switch says in each language.
import { toast } from '../../components/content/toasts.tsx'
import { Button } from '../../components/controls/button.tsx'
import { Dialog } from '../../components/controls/dialog.tsx'
import { TextField } from '../../components/controls/field.tsx'
import { Form } from '../../components/controls/form.tsx'
import type { AnswerOf } from '../../data/contracts.ts'
import { useDraft } from '../../data/forms/drafts.ts'
import { useData, useRefresh } from '../../data/queries.ts'
import { useRepeatKey } from '../../data/forms/repeat-keys.ts'
import { consentText } from '../../texts/people/consent.ts'
import { formText } from '../../texts/form.ts'

export type Category = AnswerOf<'GET', '/v1/workspaces/:Workspace_ID/categories'>['data'][number]

interface Label {
  readonly language: string
  readonly text: string
}

interface Values {
  readonly name: string
  readonly labels: readonly Label[]
}

interface CategoryDialogProps {
  /** Undefined: a new one. */
  readonly category: Category | undefined
  readonly onClose: () => void
}

export function CategoryDialog({ category, onClose }: CategoryDialogProps) {
  const { client } = useData()
  const refresh = useRefresh()
  const keyOf = useRepeatKey()
  const { value, change, forget } = useDraft(`category ${category?.name ?? ''}`, toValues(category))
  const send = async () => {
    const body = { labels: toLabels(value.labels) }
    if (category) {
      await client.patch('/v1/workspaces/:Workspace_ID/categories/:name', { path: { name: category.name }, body })
    } else {
      const added = { ...body, name: value.name }
      const idempotencyKey = keyOf(added)
      await client.post('/v1/workspaces/:Workspace_ID/categories', { body: added, idempotencyKey })
    }
    await refresh('categories')
    forget()
    toast(category ? consentText.saved : consentText.added)
    onClose()
  }
  return (
    <Dialog title={category ? consentText.editOf(category.name) : consentText.add} onClose={onClose}>
      <Form
        isDialog
        send={send}
        submit={category ? consentText.save : consentText.add}
        others={<Button onClick={onClose}>{formText.cancel}</Button>}
      >
        {!category && (
          <TextField
            name="name"
            label={consentText.name}
            hint={consentText.nameHint}
            value={value.name}
            onInput={(name) => change({ ...value, name })}
            takesFocus
          />
        )}
        <LabelFields labels={value.labels} change={(labels) => change({ ...value, labels })} />
      </Form>
    </Dialog>
  )
}

interface LabelFieldsProps {
  readonly labels: readonly Label[]
  readonly change: (labels: readonly Label[]) => void
}

function LabelFields({ labels, change }: LabelFieldsProps) {
  const set = (index: number, changes: Partial<Label>) =>
    change(labels.map((label, at) => (at === index ? { ...label, ...changes } : label)))
  return (
    <fieldset class="stack">
      <legend>{consentText.labels}</legend>
      <p class="note">{consentText.labelsLead}</p>
      {labels.map(({ language, text }, index) => (
        <div class="label-row" key={index}>
          <TextField
            name={`labels[${index}]`}
            label={consentText.language}
            placeholder="pt-BR"
            isCode
            value={language}
            onInput={(typed) => set(index, { language: typed })}
          />
          <TextField
            name={`labels.${language.trim()}`}
            label={consentText.text}
            value={text}
            onInput={(typed) => set(index, { text: typed })}
          />
          <Button
            kind="quiet"
            icon="x"
            label={consentText.removeLanguage(language)}
            onClick={() => change(labels.filter((_label, at) => at !== index))}
          />
        </div>
      ))}
      <div class="row">
        <Button icon="plus" onClick={() => change([...labels, { language: '', text: '' }])}>
          {consentText.addLanguage}
        </Button>
      </div>
    </fieldset>
  )
}

function toValues(category: Category | undefined): Values {
  const labels = Object.entries(category?.labels ?? {}).map(([language, text]) => ({ language, text }))
  return { name: category?.name ?? '', labels }
}

/** Rows in which nothing is typed do not count. */
function toLabels(labels: readonly Label[]): Record<string, string> {
  const typed = labels.filter(({ language, text }) => language.trim() !== '' || text.trim() !== '')
  return Object.fromEntries(typed.map(({ language, text }) => [language.trim(), text.trim()]))
}
