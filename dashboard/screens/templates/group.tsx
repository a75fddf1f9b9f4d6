// The group of a template as a table of locale and variation: what is translated, and what is missing.
import { Badge } from '../../components/content/badge.tsx'
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { LinkButton } from '../../components/controls/button.tsx'
import { useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { groupText, templatesText } from '../../texts/templates.ts'
import type { TemplateAnswer } from './editor/template-fields.ts'
import type { ListedTemplateBody } from './list.tsx'
import { TemplatePage } from './template-page.tsx'

const SHOWN_MAX = 500

export default function Group({ external_template_id: id }: { readonly external_template_id: string }) {
  return (
    <TemplatePage id={id} tab="group" lead={groupText.lead}>
      {(template) => {
        const { group_id: group } = template.meta_info
        return group === undefined ? <NoGroup template={template} /> : <Members template={template} group={group} />
      }}
    </TemplatePage>
  )
}

interface MembersProps {
  readonly template: TemplateAnswer
  readonly group: string
}

function Members({ template, group }: MembersProps) {
  const members = useQuery({
    key: ['template group', group],
    ask: (client, signal) => {
      const query = { group_id: group, limit: SHOWN_MAX, archived: 'all' as const }
      return client.get('/v1.0/custom-templates/email', { query, signal })
    },
    topics: ['audit'],
  })
  return (
    <Card isFlush title={groupText.members} actions={<Add template={template} group={group} />}>
      <Shown of={members}>
        {({ data, next_before: next }) => (
          <>
            <Matrix templates={data} current={template.external_template_id} />
            {next !== null && <p class="pager note">{groupText.more(data.length)}</p>}
          </>
        )}
      </Shown>
    </Card>
  )
}

interface MatrixProps {
  readonly templates: readonly ListedTemplateBody[]
  readonly current: string
}

function Matrix({ templates, current }: MatrixProps) {
  return (
    <Table
      caption={groupText.caption}
      columns={columnsOf({ templates, current })}
      rows={valuesOf(templates, 'locale')}
      keyOf={(locale) => locale}
      hasCards={false}
    />
  )
}

/** One for each variation. */
function columnsOf({ templates, current }: MatrixProps): Column<string>[] {
  const variations = valuesOf(templates, 'variation').map((variation) => ({
    title: variation || groupText.noVariation,
    cell: (locale: string) => {
      const found = templates.filter(({ meta_info: meta }) => {
        return (meta.locale ?? '') === locale && (meta.variation ?? '') === variation
      })
      return <Cell templates={found} current={current} />
    },
  }))
  return [{ title: groupText.locale, cell: (locale) => locale || groupText.noLocale }, ...variations]
}

function Cell({ templates, current }: MatrixProps) {
  const { page } = useWorkspace()
  if (templates.length === 0) return <span class="quiet-text">{groupText.missing}</span>
  return (
    <ul class="stack">
      {templates.map(({ external_template_id: id, meta_info: meta, ...template }) => (
        <li key={id} class="row">
          <a href={page('templates', id)} aria-current={id === current ? 'page' : undefined}>
            {meta.template_name}
          </a>
          {template.is_default_template_of_group && <Badge kind="accent">{templatesText.isDefault}</Badge>}
          {template.archived_at !== undefined && <Badge kind="warn">{templatesText.isArchived}</Badge>}
        </li>
      ))}
    </ul>
  )
}

/** Sorted; '' stands for none, and comes first. */
function valuesOf(templates: readonly ListedTemplateBody[], name: 'locale' | 'variation'): string[] {
  return [...new Set(templates.map(({ meta_info: meta }) => meta[name] ?? ''))].toSorted((a, b) => a.localeCompare(b))
}

function NoGroup({ template }: { readonly template: TemplateAnswer }) {
  return (
    <Card>
      <Empty
        icon="languages"
        title={groupText.none}
        action={<Add template={template} group={template.external_template_id} />}
      >
        {groupText.noneLead}
      </Empty>
    </Card>
  )
}

/** A copy of the template, in the group. */
function Add({ template, group }: MembersProps) {
  const { may, page } = useWorkspace()
  if (!may('templates.write')) return null
  const query = new URLSearchParams({ from: template.external_template_id, group })
  return (
    <LinkButton icon="plus" href={`${page('templates', 'new')}?${query.toString()}`}>
      {groupText.add}
    </LinkButton>
  )
}
