// Settings › Audit: who changed what, from which value to which.
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { nothingMatches } from '../../components/content/nothing-matches.tsx'
import { Pager } from '../../components/content/pager.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Time } from '../../components/content/time.tsx'
import { SelectField, TextField } from '../../components/controls/field.tsx'
import { SaveButton } from '../../components/controls/save-button.tsx'
import { SearchField } from '../../components/controls/search-field.tsx'
import { SettingsPage } from '../../components/frame/settings-page.tsx'
import { useAddress } from '../../data/address.ts'
import type { AnswerOf, AskedOf } from '../../data/contracts.ts'
import { useData, useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { auditText } from '../../texts/settings/audit.ts'

const URL = '/v1/workspaces/:Workspace_ID/audit'
const FILTERS = ['kind', 'who', 'subject', 'from', 'to'] as const

/** A created thing has many; the rest opens on demand. */
const CHANGES_SHOWN = 4
const ID_SHOWN_MAX = 16

type Entry = AnswerOf<'GET', typeof URL>['data'][number]
type Query = NonNullable<AskedOf<'GET', typeof URL>['query']>

export default function Audit() {
  const { client } = useData()
  const { id } = useWorkspace()
  const address = useAddress()
  const filters = Object.fromEntries(FILTERS.map((name) => [name, address.get(name)])) as Query
  const before = address.get('before')
  const query = { ...filters, ...(before !== undefined && { before }) }
  const entries = useQuery({
    key: ['audit', query],
    ask: (asked, signal) => asked.get(URL, { query, signal }),
    topics: ['audit'],
  })
  const save = () => client.save(`audit-${id}.csv`, URL, { accept: 'text/csv', query: filters })
  const none = <Empty icon="scroll-text" title={auditText.none} />
  return (
    <SettingsPage
      title={auditText.title}
      lead={auditText.lead}
      actions={<SaveButton save={save}>{auditText.export}</SaveButton>}
    >
      <Filters />
      <Card isFlush>
        <Shown of={entries} empty={nothingMatches(address, [...FILTERS, 'before']) ?? none}>
          {({ data, next_before: next }) => (
            <>
              <Entries entries={data} />
              <Pager next={next}>{auditText.counted(data.length)}</Pager>
            </>
          )}
        </Shown>
      </Card>
    </SettingsPage>
  )
}

function Filters() {
  const address = useAddress()
  const day = (name: 'from' | 'to') => (
    <TextField
      name={name}
      type="date"
      label={auditText[name]}
      value={address.get(name) ?? ''}
      onInput={(value) => address.set({ [name]: value, before: undefined })}
    />
  )
  return (
    <div class="filters">
      <SelectField
        name="kind"
        label={auditText.kind}
        value={address.get('kind') ?? ''}
        options={[
          { value: '', label: auditText.anyKind },
          ...Object.entries(auditText.kinds).map(([value, label]) => ({ value, label })),
        ]}
        onChange={(value) => address.set({ kind: value, before: undefined })}
      />
      <SearchField name="who" label={auditText.who} placeholder={auditText.whoHint} />
      <SearchField name="subject" label={auditText.subject} />
      {day('from')}
      {day('to')}
    </div>
  )
}

function Entries({ entries }: { readonly entries: readonly Entry[] }) {
  return <Table caption={auditText.title} rows={entries} keyOf={({ number }) => number} columns={columnsOfEntries()} />
}

function columnsOfEntries(): Column<Entry>[] {
  return [
    {
      title: auditText.when,
      isTight: true,
      cell: ({ at, request_id: id }) => (
        <span class="plain" title={id === null ? undefined : auditText.request(id)}>
          <Time at={at} />
        </span>
      ),
    },
    {
      title: auditText.who,
      cell: ({ who, address }) => (
        <>
          {who.replace(/^person:/, '')}
          <span class="note under">{address === null ? auditText.command : auditText.from_address(address)}</span>
        </>
      ),
    },
    { title: auditText.did, cell: ({ action }) => inWords(action) },
    {
      title: auditText.of,
      cell: ({ subject_name: name, subject_id: id }) => <span title={id}>{name ?? <code>{toShort(id)}</code>}</span>,
    },
    { title: auditText.changes, cell: (entry) => <Changes entry={entry} /> },
  ]
}

function Changes({ entry: { changes, further_changes: further } }: { readonly entry: Entry }) {
  const shownMax = changes.length === CHANGES_SHOWN + 1 ? changes.length : CHANGES_SHOWN
  const others = changes.slice(shownMax)
  return (
    <ul class="changes">
      {changes.slice(0, shownMax).map((change) => (
        <ChangedField key={change.field} change={change} />
      ))}
      {others.length > 0 && (
        <li>
          <details>
            <summary>{auditText.more(others.length)}</summary>
            <ul class="changes">
              {others.map((change) => (
                <ChangedField key={change.field} change={change} />
              ))}
            </ul>
          </details>
        </li>
      )}
      {further > 0 && <li class="quiet-text">{auditText.further(further)}</li>}
    </ul>
  )
}

function ChangedField({ change: { field, before, after } }: { readonly change: Entry['changes'][number] }) {
  return (
    <li>
      <code>{field}</code> <Change before={before} after={after} />
    </li>
  )
}

/** Both null: a secret, or the address of a person. */
function Change({ before, after }: { readonly before: unknown; readonly after: unknown }) {
  if (before === null && after === null) return <span class="quiet-text">{auditText.notKept}</span>
  if (before === null) return <ins>{shown(after)}</ins>
  return (
    <>
      <del>{shown(before)}</del> <span aria-hidden="true">→</span>
      <span class="visually-hidden"> {auditText.became} </span> <ins>{shown(after)}</ins>
    </>
  )
}

function shown(value: unknown): string {
  if (value === null || value === '') return auditText.nothing
  if (typeof value === 'object' && 'length' in value) return auditText.long(Number(value.length))
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Of a suppression, the id is a long hash. The whole one is in the title. */
function toShort(id: string): string {
  return id.length > ID_SHOWN_MAX ? `${id.slice(0, ID_SHOWN_MAX)}…` : id
}

/** `update_coupon_list` → «Update coupon list». */
function inWords(action: string): string {
  const words = action.replaceAll('_', ' ')
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}
