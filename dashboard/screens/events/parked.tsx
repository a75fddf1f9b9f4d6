// Entries that could not be applied: why, what they are, and how to replay or drop them.
import { useState } from 'preact/hooks'
import { Card } from '../../components/content/card.tsx'
import { CodeBlock } from '../../components/content/copy.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { Notice } from '../../components/content/notice.tsx'
import { Pager } from '../../components/content/pager.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Ago, Time } from '../../components/content/time.tsx'
import { toast } from '../../components/content/toasts.tsx'
import { Button } from '../../components/controls/button.tsx'
import { ConfirmDialog, Dialog } from '../../components/controls/dialog.tsx'
import { useAddress } from '../../data/address.ts'
import type { AnswerOf } from '../../data/contracts.ts'
import { writeJson } from '../../data/exact.ts'
import { useData, useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { parkedText } from '../../texts/people/events.ts'
import { parseJsonText } from '../../../src/core/json/parse-json.ts'

type Parked = AnswerOf<'GET', '/v1/event/:Workspace_ID/parked'>['data'][number]
type Act = 'show' | 'replay' | 'drop'

const PER_PAGE = 25

export function ParkedEntries() {
  const address = useAddress()
  const before = address.get('before')
  const [chosen, setChosen] = useState<{ readonly act: Act; readonly entry: Parked } | undefined>(undefined)
  const parked = useQuery({
    key: ['parked', before],
    ask: (client, signal) => {
      const query = { limit: PER_PAGE, ...(before !== undefined && { before }) }
      return client.get('/v1/event/:Workspace_ID/parked', { query, signal })
    },
    topics: ['parked', 'audit'],
  })
  const close = () => setChosen(undefined)
  const done = (what: string) => {
    toast(what)
    parked.again()
  }
  return (
    <>
      <p class="page-lead">{parkedText.lead}</p>
      <Card isFlush>
        <Shown
          of={parked}
          empty={
            <Empty icon="circle-check" title={parkedText.empty}>
              {parkedText.emptyLead}
            </Empty>
          }
        >
          {({ data, next_before: next }) => (
            <>
              <ParkedTable entries={data} choose={(act, entry) => setChosen({ act, entry })} />
              <Pager next={next}>{parkedText.shown(data.length)}</Pager>
            </>
          )}
        </Shown>
      </Card>
      {chosen?.act === 'show' && <ShownEntry entry={chosen.entry} onClose={close} />}
      {chosen?.act === 'replay' && <ReplayDialog entry={chosen.entry} onClose={close} onDone={done} />}
      {chosen?.act === 'drop' && <DropDialog entry={chosen.entry} onClose={close} onDone={done} />}
    </>
  )
}

interface ParkedTableProps {
  readonly entries: readonly Parked[]
  readonly choose: (act: Act, entry: Parked) => void
}

function ParkedTable({ entries, choose }: ParkedTableProps) {
  const { may } = useWorkspace()
  const columns = columnsOfParked(choose)
  return (
    <Table
      caption={parkedText.caption}
      columns={may('parked.write') ? [...columns, columnOfActions(choose)] : columns}
      rows={entries}
      keyOf={({ position }) => position}
    />
  )
}

function columnsOfParked(choose: ParkedTableProps['choose']): Column<Parked>[] {
  return [
    {
      title: parkedText.column.reason,
      cell: (entry) => (
        <button
          type="button"
          class="cell-button"
          aria-label={`${parkedText.show(entry.position)}: ${entry.error}`}
          onClick={() => choose('show', entry)}
        >
          {entry.error}
        </button>
      ),
    },
    { title: parkedText.column.kind, isTight: true, cell: ({ kind }) => <code>{kind}</code> },
    { title: parkedText.column.received, isTight: true, cell: ({ received_at: at }) => <Ago at={at} /> },
    {
      title: parkedText.column.request,
      cell: ({ request_id: id }) => <RequestLink id={id} />,
    },
  ]
}

function columnOfActions(choose: ParkedTableProps['choose']): Column<Parked> {
  return {
    title: parkedText.column.actions,
    isTight: true,
    cell: (entry) => (
      <span class="row">
        <Button label={parkedText.replayOf(entry.position)} onClick={() => choose('replay', entry)}>
          {parkedText.replay}
        </Button>
        <Button kind="danger" label={parkedText.dropOf(entry.position)} onClick={() => choose('drop', entry)}>
          {parkedText.drop}
        </Button>
      </span>
    ),
  }
}

function RequestLink({ id }: { readonly id: string }) {
  const address = useAddress()
  return (
    <a href={address.with({ request: id })}>
      <code class="breaking">{id}</code>
    </a>
  )
}

interface EntryDialogProps {
  readonly entry: Parked
  readonly onClose: () => void
}

function ShownEntry({ entry: { position }, onClose }: EntryDialogProps) {
  const entry = useQuery({
    key: ['parked entry', position],
    ask: (client, signal) => {
      const path = { position: String(position) }
      return client.get('/v1/event/:Workspace_ID/parked/:position', { path, signal })
    },
  })
  return (
    <Dialog title={parkedText.entry} isWide onClose={onClose}>
      <Shown of={entry}>
        {({ error, parked_at: parkedAt, received_at: receivedAt, ip, body }) => (
          <div class="stack">
            <Notice kind="warn">{error}</Notice>
            <dl class="facts">
              <dt>{parkedText.position}</dt>
              <dd>
                <code>{position}</code>
              </dd>
              <dt>{parkedText.column.received}</dt>
              <dd>
                <Time at={receivedAt} />
              </dd>
              <dt>{parkedText.parked}</dt>
              <dd>
                <Time at={parkedAt} />
              </dd>
              {ip !== null && (
                <>
                  <dt>{parkedText.ip}</dt>
                  <dd>
                    <code>{ip}</code>
                  </dd>
                </>
              )}
            </dl>
            <CodeBlock text={toReadable(body)} what={parkedText.body} />
          </div>
        )}
      </Shown>
    </Dialog>
  )
}

/** Indented if it is JSON; otherwise as it was received. */
function toReadable(body: string): string {
  try {
    return writeJson(parseJsonText(body))
  } catch {
    return body
  }
}

interface ChangeDialogProps extends EntryDialogProps {
  readonly onDone: (what: string) => void
}

function ReplayDialog({ entry: { position, error }, onClose, onDone }: ChangeDialogProps) {
  const { client } = useData()
  const act = async () => {
    await client.post('/v1/event/:Workspace_ID/parked/:position/replay', { path: { position: String(position) } })
    onDone(parkedText.replayed)
  }
  return (
    <ConfirmDialog title={parkedText.replayTitle} act={act} onClose={onClose}>
      <p>{parkedText.replayLead}</p>
      <p class="quiet-text">{error}</p>
    </ConfirmDialog>
  )
}

function DropDialog({ entry: { position, error }, onClose, onDone }: ChangeDialogProps) {
  const { client } = useData()
  const act = async () => {
    await client.delete('/v1/event/:Workspace_ID/parked/:position', { path: { position: String(position) } })
    onDone(parkedText.dropped)
  }
  return (
    <ConfirmDialog title={parkedText.dropTitle} word={String(position)} act={act} onClose={onClose}>
      <Notice kind="warn">{parkedText.dropLead}</Notice>
      <p class="quiet-text">{error}</p>
    </ConfirmDialog>
  )
}
