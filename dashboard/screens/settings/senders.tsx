// Settings › Senders: from whom messages come, and through which server.
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { LinkButton } from '../../components/controls/button.tsx'
import { SettingsPage } from '../../components/frame/settings-page.tsx'
import { useQuery } from '../../data/queries.ts'
import { useWorkspace, type CurrentWorkspace } from '../../data/session.ts'
import { sendersText } from '../../texts/settings/senders.ts'
import { NEW_SENDER, type ListedSender } from './sender/sender-values.ts'

export default function Senders() {
  const { may, page } = useWorkspace()
  const senders = useQuery({
    key: ['senders'],
    ask: (client, signal) => client.get('/core-services/v1/senders', { signal }),
    topics: ['audit'],
  })
  const create = may('senders.write') && (
    <LinkButton kind="main" icon="plus" href={page('settings', 'senders', NEW_SENDER)}>
      {sendersText.create}
    </LinkButton>
  )
  const none = (
    <Empty icon="mail-check" title={sendersText.none} action={create}>
      {sendersText.noneLead}
    </Empty>
  )
  return (
    <SettingsPage title={sendersText.title} lead={sendersText.lead} actions={create}>
      <Card isFlush>
        <Shown of={senders} empty={none}>
          {({ data }) => <SenderTable senders={data} />}
        </Shown>
      </Card>
    </SettingsPage>
  )
}

function SenderTable({ senders }: { readonly senders: readonly ListedSender[] }) {
  const { page } = useWorkspace()
  return (
    <Table
      caption={sendersText.title}
      rows={senders}
      keyOf={({ sender_id: id }) => id}
      columns={columnsOfSenders(page)}
    />
  )
}

function columnsOfSenders(page: CurrentWorkspace['page']): Column<ListedSender>[] {
  return [
    {
      title: sendersText.name,
      cell: ({ sender_id: id, name }) => <a href={page('settings', 'senders', id)}>{name}</a>,
    },
    {
      title: sendersText.from,
      cell: ({ from_name: name, from_email: email }) => (
        <>
          {name}
          <span class="note under">{email}</span>
        </>
      ),
    },
    { title: sendersText.server, cell: ({ smtp }) => <code>{`${smtp.host}:${smtp.port}`}</code> },
    { title: sendersText.signed, cell: ({ dkim }) => dkim?.domain ?? sendersText.notSigned },
    { title: sendersText.rate, cell: ({ limits }) => sendersText.perSecond(limits.per_second), isTight: true },
  ]
}
