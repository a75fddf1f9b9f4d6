// The versions of a template, what differs between two of them, and how to go back to one.
import { useState } from 'preact/hooks'
import { Card } from '../../components/content/card.tsx'
import { Pager } from '../../components/content/pager.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { toast } from '../../components/content/toasts.tsx'
import { Time } from '../../components/content/time.tsx'
import { Button } from '../../components/controls/button.tsx'
import { ConfirmDialog } from '../../components/controls/dialog.tsx'
import { Switch } from '../../components/controls/field.tsx'
import { useAddress } from '../../data/address.ts'
import type { AnswerOf } from '../../data/contracts.ts'
import { useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { templateText, versionsText } from '../../texts/templates.ts'
import { FieldDifferences } from './editor/field-differences.tsx'
import { changedFields, toFields, toUpdateParts, type TemplateAnswer } from './editor/template-fields.ts'
import { useTemplateCalls } from './template-calls.ts'
import { TemplatePage } from './template-page.tsx'

type Version = AnswerOf<'GET', '/v1.0/custom-templates/email/:external_template_id/versions'>['data'][number]

export default function Versions({ external_template_id: id }: { readonly external_template_id: string }) {
  return (
    <TemplatePage id={id} tab="versions" lead={versionsText.lead}>
      {(template) => (
        <div class="stack">
          <VersionList template={template} />
          <Comparison template={template} />
        </div>
      )}
    </TemplatePage>
  )
}

function VersionList({ template }: { readonly template: TemplateAnswer }) {
  const address = useAddress()
  const { external_template_id: id, latest_version: latest } = template
  const before = Number(address.get('before')) || undefined
  const versions = useQuery({
    key: ['template versions', id, latest, before],
    ask: (client, signal) => {
      const path = { external_template_id: id }
      const query = { limit: 20, ...(before !== undefined && { before }) }
      return client.get('/v1.0/custom-templates/email/:external_template_id/versions', { path, query, signal })
    },
  })
  return (
    <Card title={versionsText.list} isFlush>
      <Shown of={versions}>
        {({ data, next_before: next }) => (
          <>
            <Table caption={versionsText.list} columns={COLUMNS} rows={data} keyOf={({ version }) => version} />
            <Pager next={next} />
          </>
        )}
      </Shown>
    </Card>
  )
}

const COLUMNS: readonly Column<Version>[] = [
  { title: versionsText.version, cell: ({ version }) => <VersionLink version={version} /> },
  { title: versionsText.changed, cell: ({ version, changed }) => namesOf(version, changed) },
  { title: versionsText.by, cell: ({ updated_by: by }) => by },
  { title: versionsText.at, cell: ({ updated_at: at }) => <Time at={at} /> },
]

function VersionLink({ version }: { readonly version: number }) {
  const address = useAddress()
  const isShown = address.get('version') === String(version)
  return (
    <a href={address.with({ version: String(version) })} aria-current={isShown ? 'true' : undefined}>
      {templateText.versionNumber(version)}
    </a>
  )
}

/** `changed`: paths of fields, such as `basic_details.subject`. */
function namesOf(version: number, changed: readonly string[]): string {
  if (version === 1) return versionsText.first
  const names: Readonly<Record<string, string>> = templateText.fields
  return changed.map((path) => names[path.split('.')[1] ?? ''] ?? path).join(', ')
}

function shownVersion(given: string | undefined, latest: number): number {
  const version = Number(given)
  return Number.isInteger(version) && version >= 1 && version <= latest ? version : latest
}

/** The version in the address with the one before it, or with the current one: `?with=latest`. */
function Comparison({ template }: { readonly template: TemplateAnswer }) {
  const address = useAddress()
  const { external_template_id: id, latest_version: latest } = template
  const version = shownVersion(address.get('version'), latest)
  const other = address.get('with') === 'latest' ? latest : Math.max(1, version - 1)
  // The older one stands first.
  const [older, newer] = version < other ? [version, other] : [other, version]
  const both = useQuery({
    key: ['template compared', id, older, newer],
    isWanted: older !== newer,
    ask: async (client, signal) => {
      const get = (number: number) =>
        client.get('/v1.0/custom-templates/email/:external_template_id', {
          path: { external_template_id: id },
          query: { version: number },
          signal,
        })
      const [before, after] = await Promise.all([get(older), get(newer)])
      return { before: toFields(before), after: toFields(after) }
    },
  })
  return (
    <Card
      title={older === newer ? templateText.versionNumber(version) : versionsText.compare(version, other)}
      actions={<Restore template={template} version={version} />}
    >
      {latest > 1 && (
        <div class="row">
          <Switch
            label={versionsText.compareWith}
            value={address.get('with') === 'latest' ? 'latest' : 'before'}
            options={versionsText.comparisons}
            onChange={(value) => address.set({ with: value === 'latest' ? value : undefined })}
          />
        </div>
      )}
      {older === newer ? (
        <p class="quiet-text">{version === 1 ? versionsText.nothingBefore : versionsText.isCurrent}</p>
      ) : (
        <Shown of={both}>
          {({ before, after }) => (
            <FieldDifferences
              before={before}
              after={after}
              names={[templateText.versionNumber(older), templateText.versionNumber(newer)]}
            />
          )}
        </Shown>
      )}
    </Card>
  )
}

function Restore({ template, version }: { readonly template: TemplateAnswer; readonly version: number }) {
  const { may } = useWorkspace()
  const { read, write } = useTemplateCalls(template.external_template_id)
  const [isAsked, setAsked] = useState(false)
  const address = useAddress()
  const { latest_version: latest } = template
  if (!may('templates.write') || version === latest || template.archived_at !== undefined) return null
  const restore = async () => {
    const now = toFields(template)
    const then = toFields(await read(version))
    const made =
      changedFields(now, then).length === 0 ? latest : await write({ if_version: latest, ...toUpdateParts(now, then) })
    toast(versionsText.restoredToast(version, made))
    address.set({ version: undefined, with: undefined })
  }
  return (
    <>
      <Button icon="rotate-ccw" onClick={() => setAsked(true)}>
        {versionsText.restore(version)}
      </Button>
      {isAsked && (
        <ConfirmDialog title={versionsText.restore(version)} act={restore} onClose={() => setAsked(false)}>
          {versionsText.restoreLead(latest + 1)}
        </ConfirmDialog>
      )}
    </>
  )
}
