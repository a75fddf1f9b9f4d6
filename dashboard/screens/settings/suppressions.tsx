// Settings › Suppressions: addresses that no campaign is sent to.
import { useState } from 'preact/hooks'
import { isEmail } from '../../../src/core/users/email-address.ts'
import { Badge } from '../../components/content/badge.tsx'
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { nothingMatches } from '../../components/content/nothing-matches.tsx'
import { Pager } from '../../components/content/pager.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Time } from '../../components/content/time.tsx'
import { toast } from '../../components/content/toasts.tsx'
import { Button } from '../../components/controls/button.tsx'
import { ConfirmDialog, Dialog } from '../../components/controls/dialog.tsx'
import { SelectField, TextField } from '../../components/controls/field.tsx'
import { Form } from '../../components/controls/form.tsx'
import { SaveButton } from '../../components/controls/save-button.tsx'
import { SearchField } from '../../components/controls/search-field.tsx'
import { SettingsPage } from '../../components/frame/settings-page.tsx'
import { useAddress } from '../../data/address.ts'
import type { AnswerOf, AskedOf } from '../../data/contracts.ts'
import { useData, useQuery, useRefresh } from '../../data/queries.ts'
import { useRepeatKey } from '../../data/forms/repeat-keys.ts'
import { useWorkspace } from '../../data/session.ts'
import { formText } from '../../texts/form.ts'
import { suppressionsText } from '../../texts/settings/senders.ts'

const URL = '/core-services/v1/suppressions'
const FILTERS = ['search', 'reason', 'before'] as const

type Suppression = AnswerOf<'GET', typeof URL>['data'][number]
type Query = NonNullable<AskedOf<'GET', typeof URL>['query']>

export default function Suppressions() {
  const { may, id } = useWorkspace()
  const { client } = useData()
  const address = useAddress()
  const [isAdding, setAdding] = useState(false)
  const [search, reason, before] = FILTERS.map((name) => address.get(name))
  const email = search !== undefined && isEmail(search) ? search : undefined
  const query = { email, reason, before } as Query
  const suppressions = useQuery({
    key: ['suppressions', query],
    ask: (asked, signal) => asked.get(URL, { query, signal }),
    topics: ['audit'],
  })
  const add = may('suppressions.write') && (
    <Button kind="main" icon="plus" onClick={() => setAdding(true)}>
      {suppressionsText.add}
    </Button>
  )
  const save = () => client.save(`suppressions-${id}.csv`, URL, { accept: 'text/csv', query: { reason } as Query })
  const actions = (
    <>
      <SaveButton save={save}>{suppressionsText.export}</SaveButton>
      {add}
    </>
  )
  const none = (
    <Empty icon="ban" title={suppressionsText.none} action={add}>
      {suppressionsText.noneLead}
    </Empty>
  )
  return (
    <SettingsPage title={suppressionsText.title} lead={suppressionsText.lead} actions={actions}>
      <Filters reason={reason} />
      {search !== undefined && email === undefined && <p class="note">{suppressionsText.incomplete}</p>}
      <Card isFlush>
        <Shown of={suppressions} empty={nothingMatches(address, FILTERS) ?? none}>
          {({ data, next_before: next }) => (
            <>
              <SuppressionTable suppressions={data} />
              <Pager next={next}>{suppressionsText.counted(data.length)}</Pager>
            </>
          )}
        </Shown>
      </Card>
      {isAdding && <Add onClose={() => setAdding(false)} />}
    </SettingsPage>
  )
}

function Filters({ reason }: { readonly reason: string | undefined }) {
  const address = useAddress()
  return (
    <div class="filters">
      <SearchField label={suppressionsText.search} placeholder={suppressionsText.searchHint} />
      <SelectField
        name="reason"
        label={suppressionsText.reason}
        value={reason ?? ''}
        options={[
          { value: '', label: suppressionsText.anyReason },
          ...Object.entries(suppressionsText.reasons).map(([value, label]) => ({ value, label })),
        ]}
        onChange={(value) => address.set({ reason: value, before: undefined })}
      />
    </div>
  )
}

function SuppressionTable({ suppressions }: { readonly suppressions: readonly Suppression[] }) {
  const { may } = useWorkspace()
  const [removed, setRemoved] = useState<string | undefined>(undefined)
  return (
    <>
      <Table
        caption={suppressionsText.title}
        rows={suppressions}
        keyOf={({ email, since }) => `${email} ${since}`}
        columns={columnsOfSuppressions(may('suppressions.write') ? setRemoved : undefined)}
      />
      {removed !== undefined && <Remove email={removed} onClose={() => setRemoved(undefined)} />}
    </>
  )
}

function columnsOfSuppressions(remove: ((email: string) => void) | undefined): Column<Suppression>[] {
  return [
    {
      title: suppressionsText.email,
      cell: ({ email }) => email ?? <span class="quiet-text">{suppressionsText.hashed}</span>,
    },
    {
      title: suppressionsText.reason,
      cell: ({ reason }) => (
        <Badge kind={reason === 'complaint' ? 'bad' : 'plain'}>{suppressionsText.reasons[reason]}</Badge>
      ),
      isTight: true,
    },
    { title: suppressionsText.since, cell: ({ since }) => <Time at={since} />, isTight: true },
    { title: suppressionsText.evidence, cell: ({ evidence }) => evidence },
    ...(remove
      ? [
          {
            title: suppressionsText.actions,
            isTight: true,
            cell: ({ email }: Suppression) =>
              email !== null && (
                <span class="row-actions">
                  <Button
                    kind="quiet"
                    icon="trash-2"
                    label={suppressionsText.removeOf(email)}
                    onClick={() => remove(email)}
                  />
                </span>
              ),
          },
        ]
      : []),
  ]
}

function Add({ onClose }: { readonly onClose: () => void }) {
  const { client } = useData()
  const refresh = useRefresh()
  const keyOf = useRepeatKey()
  const [email, setEmail] = useState('')
  const [evidence, setEvidence] = useState('')
  const send = async () => {
    const body = { email, ...(evidence.trim() !== '' && { evidence }) }
    await client.post(URL, { body, idempotencyKey: keyOf(body) })
    await refresh('suppressions')
    toast(suppressionsText.added)
    onClose()
  }
  return (
    <Dialog title={suppressionsText.add} onClose={onClose}>
      <Form
        isDialog
        send={send}
        submit={suppressionsText.add}
        others={<Button onClick={onClose}>{formText.cancel}</Button>}
      >
        <TextField
          name="email"
          type="email"
          label={suppressionsText.email}
          value={email}
          onInput={setEmail}
          takesFocus
        />
        <TextField
          name="evidence"
          rows={2}
          isOptional
          label={suppressionsText.evidence}
          hint={suppressionsText.evidenceHint}
          value={evidence}
          onInput={setEvidence}
        />
      </Form>
    </Dialog>
  )
}

function Remove({ email, onClose }: { readonly email: string; readonly onClose: () => void }) {
  const { client } = useData()
  const refresh = useRefresh()
  const act = async () => {
    await client.delete(URL, { query: { email } })
    await refresh('suppressions')
    toast(suppressionsText.removed)
  }
  return (
    <ConfirmDialog title={suppressionsText.remove} isDangerous act={act} onClose={onClose}>
      <p>{suppressionsText.removeLead(email)}</p>
    </ConfirmDialog>
  )
}
