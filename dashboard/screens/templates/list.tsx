// The templates of a workspace, last changed first, with filters that stand in the address.
import { Badge } from '../../components/content/badge.tsx'
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { nothingMatches } from '../../components/content/nothing-matches.tsx'
import { Pager } from '../../components/content/pager.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Ago } from '../../components/content/time.tsx'
import { LinkButton } from '../../components/controls/button.tsx'
import { SelectField } from '../../components/controls/field.tsx'
import { LookupField } from '../../components/controls/lookup-field.tsx'
import { SearchField } from '../../components/controls/search-field.tsx'
import { Page } from '../../components/frame/page.tsx'
import { useAddress } from '../../data/address.ts'
import type { AnswerOf, AskedOf } from '../../data/contracts.ts'
import { useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { templatesText } from '../../texts/templates.ts'
import { findGroups } from './find-groups.ts'

type ListQuery = NonNullable<AskedOf<'GET', '/v1.0/custom-templates/email'>['query']>
export type ListedTemplateBody = AnswerOf<'GET', '/v1.0/custom-templates/email'>['data'][number]

const MORE_FILTERS = ['group_id', 'locale', 'variation', 'by'] as const
const FILTERS = ['search', 'source', 'archived', ...MORE_FILTERS] as const

export default function Templates() {
  const { may, page } = useWorkspace()
  const address = useAddress()
  const given = Object.fromEntries([...FILTERS, 'before'].map((name) => [name, address.get(name)])) as ListQuery
  const isFiltered = FILTERS.some((name) => address.get(name) !== undefined)
  const templates = useQuery({
    key: ['templates', given],
    ask: (client, signal) => client.get('/v1.0/custom-templates/email', { query: given, signal }),
    topics: ['audit'],
    // A page may be empty and have others behind it.
    isEmpty: ({ data, next_before: next }) => data.length === 0 && next === null,
  })
  const add = may('templates.write') && (
    <LinkButton kind="main" icon="plus" href={page('templates', 'new')}>
      {templatesText.newTemplate}
    </LinkButton>
  )
  const isFirst = templates.state === 'empty' && !isFiltered && address.get('before') === undefined
  return (
    <Page title={templatesText.title} lead={templatesText.lead} actions={isFirst ? undefined : add}>
      {!isFirst && <Filters />}
      <Card isFlush>
        <Shown of={templates} empty={nothingMatches(address, FILTERS) ?? <First />}>
          {({ data, next_before: next }) => (
            <>
              <TemplateTable templates={data} />
              <Pager next={next}>{templatesText.counted(data.length)}</Pager>
            </>
          )}
        </Shown>
      </Card>
    </Page>
  )
}

function Filters() {
  const address = useAddress()
  const set = (name: string) => (value: string) =>
    address.set({ [name]: value === 'false' ? undefined : value, before: undefined })
  return (
    <div class="stack">
      <div class="filters">
        <SearchField label={templatesText.search} placeholder={templatesText.searchHint} />
        <SelectField
          name="source"
          label={templatesText.source}
          value={address.get('source') ?? ''}
          options={SOURCE_OPTIONS}
          onChange={set('source')}
        />
        <SelectField
          name="archived"
          label={templatesText.archived}
          value={address.get('archived') ?? 'false'}
          options={templatesText.archivedOptions}
          onChange={set('archived')}
        />
      </div>
      <details class="more-filters" open={MORE_FILTERS.some((name) => address.get(name) !== undefined)}>
        <summary>{templatesText.moreFilters}</summary>
        <div class="filters">
          <div class="search">
            <LookupField
              name="group_id"
              label={templatesText.group}
              placeholder={templatesText.any}
              value={address.get('group_id') ?? ''}
              onChange={set('group_id')}
              find={findGroups}
            />
          </div>
          <SearchField label={templatesText.locale} name="locale" placeholder={templatesText.any} />
          <SearchField label={templatesText.variation} name="variation" placeholder={templatesText.any} />
          <SearchField label={templatesText.by} name="by" placeholder={templatesText.any} />
        </div>
      </details>
    </div>
  )
}

const SOURCE_OPTIONS = [
  { value: '', label: templatesText.any },
  ...Object.entries(templatesText.sources).map(([value, label]) => ({ value, label })),
]

function TemplateTable({ templates }: { readonly templates: readonly ListedTemplateBody[] }) {
  return (
    <Table
      caption={templatesText.title}
      columns={COLUMNS}
      rows={templates}
      keyOf={({ external_template_id: id }) => id}
    />
  )
}

const COLUMNS: readonly Column<ListedTemplateBody>[] = [
  { title: templatesText.search, cell: (template) => <NameCell template={template} /> },
  { title: templatesText.group, cell: (template) => <GroupCell template={template} /> },
  { title: templatesText.locale, cell: ({ meta_info: { locale } }) => locale },
  { title: templatesText.variation, cell: ({ meta_info: { variation } }) => variation },
  { title: templatesText.source, cell: ({ template_source: source }) => templatesText.sources[source] },
  { title: templatesText.version, cell: ({ version }) => version, isNumber: true },
  {
    title: templatesText.changed,
    cell: ({ updated_at: at, updated_by: by }) => (
      <div>
        <Ago at={at} />
        <p class="note">{by}</p>
      </div>
    ),
  },
]

interface CellProps {
  readonly template: ListedTemplateBody
}

function NameCell({ template }: CellProps) {
  const { page } = useWorkspace()
  return (
    <>
      <div class="row">
        <a href={page('templates', template.external_template_id)}>{template.meta_info.template_name}</a>
        {template.archived_at !== undefined && <Badge kind="warn">{templatesText.isArchived}</Badge>}
      </div>
      <p class="note">{template.basic_details.subject || templatesText.noSubject}</p>
    </>
  )
}

function GroupCell({ template }: CellProps) {
  const { page } = useWorkspace()
  const { group_id: group } = template.meta_info
  if (group === undefined) return null
  return (
    <a href={page('templates', template.external_template_id, 'group')}>
      {template.is_default_template_of_group ? templatesText.isDefault : templatesText.isMember}
    </a>
  )
}

function First() {
  const { may, page } = useWorkspace()
  const action = may('templates.write') && (
    <LinkButton kind="main" icon="plus" href={page('templates', 'new')}>
      {templatesText.emptyAction}
    </LinkButton>
  )
  return (
    <Empty icon="mail" title={templatesText.emptyTitle} action={action}>
      {may('templates.write') ? templatesText.emptyLead : templatesText.emptyRead}
    </Empty>
  )
}
