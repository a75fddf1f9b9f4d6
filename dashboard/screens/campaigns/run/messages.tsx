// The messages of a run, by state and reason, each with what the mail servers said.
import { useState } from 'preact/hooks'
import {
  FAILURE_REASONS,
  MESSAGE_STATES,
  REMOVAL_REASONS,
  type MessageState,
} from '../../../../src/core/delivery/message-state.ts'
import { Badge, type BadgeKind } from '../../../components/content/badge.tsx'
import { Card } from '../../../components/content/card.tsx'
import { Empty } from '../../../components/content/empty.tsx'
import { Pager } from '../../../components/content/pager.tsx'
import { Shown } from '../../../components/content/shown.tsx'
import { Table, type Column } from '../../../components/content/table.tsx'
import { Ago, Time } from '../../../components/content/time.tsx'
import { Button, LinkButton } from '../../../components/controls/button.tsx'
import { SelectField } from '../../../components/controls/field.tsx'
import { SearchField } from '../../../components/controls/search-field.tsx'
import { useAddress } from '../../../data/address.ts'
import { useQuery } from '../../../data/queries.ts'
import { campaignRunText } from '../../../texts/campaigns/run.ts'
import { reasonTitle } from '../../../texts/campaigns/report.ts'
import { shownText } from '../../../texts/shown.ts'
import type { DecidedCampaign } from './in-doubt.tsx'
import { MessageDialog, type RunMessageBody } from './message.tsx'

const PER_PAGE = 25

interface MessagesProps {
  readonly campaign: DecidedCampaign
  /** Called after a decision about a message. */
  readonly onChanged: () => void
}

export function Messages({ campaign, onChanged }: MessagesProps) {
  const { campaign_id } = campaign
  const address = useAddress()
  const [shown, setShown] = useState<RunMessageBody | undefined>(undefined)
  const filters = {
    state: MESSAGE_STATES.find((state) => state === address.get('state')),
    reason: REASONS.find((reason) => reason === address.get('reason')),
    search: address.get('search'),
  }
  const before = address.get('before')
  const messages = useQuery({
    key: ['run messages', campaign_id, filters, before],
    ask: (client, signal) => {
      const path = { campaign_id }
      const given = Object.entries({ ...filters, before }).filter(([, value]) => value !== undefined)
      const query = { limit: PER_PAGE, ...(Object.fromEntries(given) as typeof filters) } as never
      return client.get('/core-services/v1/campaigns/:campaign_id/messages', { path, query, signal })
    },
    topics: ['messages'],
    // A search may have found nothing yet, and go on.
    isEmpty: ({ data, next_before: next }) => data.length === 0 && next === null,
  })
  const isFiltered = Object.values(filters).some((value) => value !== undefined)
  const clear = address.with({ state: undefined, reason: undefined, search: undefined, before: undefined })
  const empty = isFiltered ? (
    <Empty
      icon="search"
      title={shownText.nothingMatches}
      action={<LinkButton href={clear}>{shownText.clear}</LinkButton>}
    >
      {campaignRunText.noMatch}
    </Empty>
  ) : (
    <Empty icon="send" title={campaignRunText.none}>
      {campaignRunText.noneLead}
    </Empty>
  )
  return (
    <div id="messages">
      <Card title={campaignRunText.messages} lead={campaignRunText.messagesLead} isFlush>
        <div class="filters inside">
          <SearchField label={campaignRunText.search} />
          <Filters state={filters.state} reason={filters.reason} />
        </div>
        <Shown of={messages} lines={6} empty={empty}>
          {({ data, next_before: next }) => (
            <>
              <MessageTable messages={data} onShow={setShown} />
              <Pager next={next}>{campaignRunText.shown(data.length)}</Pager>
            </>
          )}
        </Shown>
      </Card>
      {shown && (
        <MessageDialog
          message={shown}
          campaign={campaign}
          onChanged={() => {
            messages.again()
            onChanged()
          }}
          onClose={() => setShown(undefined)}
        />
      )}
    </div>
  )
}

const REASONS = [...REMOVAL_REASONS, ...FAILURE_REASONS]

interface FiltersProps {
  readonly state: MessageState | undefined
  readonly reason: string | undefined
}

function Filters({ state, reason }: FiltersProps) {
  const address = useAddress()
  const set = (name: string, value: string) => address.set({ [name]: value, before: undefined })
  const states = MESSAGE_STATES.map((value) => ({ value: value as string, label: campaignRunText.states[value][0] }))
  const reasons = REASONS.map((value) => ({ value: value as string, label: reasonTitle(value) }))
  return (
    <>
      <SelectField
        name="state"
        label={campaignRunText.stateTitle}
        value={state ?? ''}
        options={[{ value: '', label: campaignRunText.anyState }, ...states]}
        onChange={(value) => set('state', value)}
      />
      <SelectField
        name="reason"
        label={campaignRunText.reason}
        value={reason ?? ''}
        options={[{ value: '', label: campaignRunText.anyReason }, ...reasons]}
        onChange={(value) => set('reason', value)}
      />
    </>
  )
}

const KINDS: { readonly [state in MessageState]: BadgeKind } = {
  sent: 'good',
  queued: 'plain',
  sending: 'accent',
  deferred: 'warn',
  in_doubt: 'warn',
  failed: 'bad',
  removed: 'plain',
  control: 'plain',
}

interface MessageTableProps {
  readonly messages: readonly RunMessageBody[]
  readonly onShow: (message: RunMessageBody) => void
}

function MessageTable({ messages, onShow }: MessageTableProps) {
  return (
    <Table
      caption={campaignRunText.caption}
      columns={messageColumns(onShow)}
      rows={messages}
      keyOf={({ message_id: id }) => id}
    />
  )
}

function messageColumns(onShow: MessageTableProps['onShow']): readonly Column<RunMessageBody>[] {
  return [
    { title: campaignRunText.person, cell: ({ customer_id: id }) => id ?? campaignRunText.erased },
    {
      title: campaignRunText.stateTitle,
      isTight: true,
      cell: ({ state }) => <Badge kind={KINDS[state]}>{campaignRunText.states[state][0]}</Badge>,
    },
    { title: campaignRunText.why, cell: ({ reason }) => (reason === null ? '' : reasonTitle(reason)) },
    { title: campaignRunText.variation, isTight: true, cell: ({ variation }) => variation ?? '' },
    { title: campaignRunText.tries, isNumber: true, isTight: true, cell: ({ attempts }) => attempts.length },
    {
      title: campaignRunText.at,
      isTight: true,
      cell: ({ sent_at: at, next_at: next }) =>
        at === null ? (
          next !== undefined && (
            <>
              {campaignRunText.next} <Ago at={next} />
            </>
          )
        ) : (
          <Time at={at} />
        ),
    },
    {
      title: campaignRunText.details,
      isTight: true,
      cell: (message) => (
        <Button
          kind="quiet"
          label={campaignRunText.showOf(message.customer_id ?? message.message_id)}
          onClick={() => onShow(message)}
        >
          {campaignRunText.show}
        </Button>
      ),
    },
  ]
}
