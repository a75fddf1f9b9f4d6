// What differs between two states of a template: fields side by side, the HTML line by line.
import { Table } from '../../../components/content/table.tsx'
import { templateText, versionsText } from '../../../texts/templates.ts'
import { CodeEditor } from './code-editor.tsx'
import { changedFields, type FieldName, type TemplateFields } from './template-fields.ts'

interface FieldDifferencesProps {
  readonly before: TemplateFields
  readonly after: TemplateFields
  /** How to call the two. */
  readonly names: readonly [before: string, after: string]
}

export function FieldDifferences({ before, after, names: [nameBefore, nameAfter] }: FieldDifferencesProps) {
  const changed = changedFields(before, after)
  if (changed.length === 0) return <p class="quiet-text">{versionsText.same}</p>
  const others = changed.filter((name) => name !== 'email_content')
  return (
    <div class="stack">
      {others.length > 0 && (
        <Table
          caption={versionsText.changed}
          columns={[
            { title: versionsText.field, cell: (name) => templateText.fields[name] },
            { title: nameBefore, cell: (name) => valueOf(before, name) },
            { title: nameAfter, cell: (name) => valueOf(after, name) },
          ]}
          rows={others}
          keyOf={(name) => name}
        />
      )}
      {changed.includes('email_content') && (
        <ContentDifference before={before.email_content} after={after.email_content} />
      )}
    </div>
  )
}

interface ContentDifferenceProps {
  readonly before: string
  readonly after: string
  readonly lead?: string
}

export function ContentDifference({ before, after, lead }: ContentDifferenceProps) {
  const isSame = withoutReturns(before) === withoutReturns(after)
  return (
    <>
      <h3>{templateText.fields.email_content}</h3>
      {lead !== undefined && <p class="note">{lead}</p>}
      {isSame ? (
        <p class="quiet-text">{versionsText.onlyLineEnds}</p>
      ) : (
        <CodeEditor text={after} original={before} label={versionsText.difference} isLow />
      )}
    </>
  )
}

function withoutReturns(text: string): string {
  return text.replaceAll('\r', '')
}

export function valueOf(fields: TemplateFields, name: FieldName): string {
  const value = fields[name]
  const text = typeof value === 'string' ? value : value.map(({ name: file, url }) => `${file} (${url})`).join(', ')
  return text === '' ? templateText.none : text
}
