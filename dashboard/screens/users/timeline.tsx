// What happened with a person: events, messages and changes of consent, in one line of time or each alone.
import { useState } from 'preact/hooks'
import type { IconName } from '../../icons.ts'
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { Icon } from '../../components/content/icon.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Time } from '../../components/content/time.tsx'
import { LinkButton } from '../../components/controls/button.tsx'
import { Switch } from '../../components/controls/field.tsx'
import { useAddress } from '../../data/address.ts'
import type { Client } from '../../data/client.ts'
import type { AnswerOf } from '../../data/contracts.ts'
import { getExactly } from '../../data/exact.ts'
import { useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { personText } from '../../texts/people/users.ts'
import { attributesLine, EventDetails } from '../events/event-details.tsx'
import { readTimeline, type ReadList } from './read-timeline.ts'

type Event = AnswerOf<'GET', '/v1/event/:Workspace_ID'>['data'][number]
type Message = AnswerOf<'GET', '/core-services/v1/messages'>['data'][number]
type Proof = AnswerOf<'GET', '/v1.0/opt-in-management/user-preferences/history'>['data'][number]
type Item = { readonly at: string } & (
  | { readonly kind: 'events'; readonly event: Event }
  | { readonly kind: 'messages'; readonly message: Message }
  | { readonly kind: 'consent'; readonly proof: Proof }
)
type Kind = Item['kind']
type Reader = (client: Client, customerId: string, signal: AbortSignal) => ReadList<Item>

const PER_PAGE = 50

const READERS: { readonly [kind in Kind]: Reader } = {
  events: (client, customerId, signal) => async (before) => {
    const query = { customer_id: customerId, limit: PER_PAGE, ...(before !== undefined && { before }) }
    const { data, next_before: next } = await getExactly(client, '/v1/event/:Workspace_ID', { query, signal })
    return { items: data.map((event) => ({ kind: 'events', at: event.time, event })), next: next ?? undefined }
  },
  messages: (client, customerId, signal) => async (before) => {
    const query = { customer_id: customerId, limit: PER_PAGE, ...(before !== undefined && { before }) }
    const { data, next_before: next } = await client.get('/core-services/v1/messages', { query, signal })
    // The list is in the order of this time, which every message of a person has.
    const items = data.map((message): Item => ({ kind: 'messages', at: message.evaluated_at ?? '', message }))
    return { items, next: next ?? undefined }
  },
  consent: (client, customerId, signal) => async (before) => {
    const query = { customer_id: customerId, limit: PER_PAGE, ...(before !== undefined && { before }) }
    const url = '/v1.0/opt-in-management/user-preferences/history'
    const { data, next_before: next } = await client.get(url, { query, signal })
    return { items: data.map((proof) => ({ kind: 'consent', at: proof.at, proof })), next }
  },
}

export function Timeline({ customerId }: { readonly customerId: string }) {
  const { may } = useWorkspace()
  const address = useAddress()
  const kinds: readonly Kind[] = may('messages.read') ? ['events', 'messages', 'consent'] : ['events', 'consent']
  const shown = kinds.find((kind) => kind === address.get('show'))
  const page = Math.max(1, Math.floor(Number(address.get('page') ?? 1)) || 1)
  const timeline = useQuery({
    key: ['timeline', customerId, shown, kinds, page],
    ask: (client, signal) => {
      const wanted = shown === undefined ? kinds : [shown]
      return readTimeline(
        wanted.map((kind) => READERS[kind](client, customerId, signal)),
        page,
      )
    },
    topics: ['events', 'messages'],
    isEmpty: ({ data, hasMore }) => data.length === 0 && !hasMore && page === 1,
  })
  const choice = (
    <Switch
      label={personText.show}
      value={shown ?? 'all'}
      options={(['all', ...kinds] as const).map((value) => ({ value, label: personText.shows[value] }))}
      onChange={(value) => address.set({ show: value === 'all' ? undefined : value, page: undefined })}
    />
  )
  return (
    <Card title={personText.timeline} actions={choice} isFlush>
      <Shown
        of={timeline}
        empty={
          <Empty icon="clock" title={personText.nothing}>
            {personText.nothingLead}
          </Empty>
        }
      >
        {({ data, hasMore }) => (
          <>
            {data.length === 0 ? <p class="table-note">{personText.noneHere}</p> : <Items items={data} />}
            <Pages page={page} hasMore={hasMore} />
          </>
        )}
      </Shown>
    </Card>
  )
}

function Pages({ page, hasMore }: { readonly page: number; readonly hasMore: boolean }) {
  const address = useAddress()
  if (page === 1 && !hasMore) return null
  return (
    <nav class="pager" aria-label={personText.timelineCaption}>
      <span />
      <span class="row">
        {page > 1 && <LinkButton href={address.with({ page: undefined })}>{personText.newest}</LinkButton>}
        {hasMore && <LinkButton href={address.with({ page: String(page + 1) })}>{personText.older}</LinkButton>}
      </span>
    </nav>
  )
}

function Items({ items }: { readonly items: readonly Item[] }) {
  const [opened, setOpened] = useState<Event | undefined>(undefined)
  return (
    <>
      <Table
        caption={personText.timelineCaption}
        columns={columnsOfItems(setOpened)}
        rows={items}
        keyOf={(item) => `${item.kind} ${keyOf(item)}`}
      />
      {opened && <EventDetails event={opened} onClose={() => setOpened(undefined)} />}
    </>
  )
}

function columnsOfItems(open: (event: Event) => void): Column<Item>[] {
  return [
    { title: personText.column.what, cell: (item) => <What item={item} open={open} /> },
    { title: personText.column.details, cell: (item) => <Details item={item} /> },
    { title: personText.column.time, isTight: true, cell: ({ at }) => <Time at={at} /> },
  ]
}

function keyOf(item: Item): string {
  switch (item.kind) {
    case 'events':
      return `${item.event.event_id} ${item.event.received_at}`
    case 'messages':
      return item.message.message_id
    case 'consent':
      return JSON.stringify(item.proof)
  }
}

const ICON_OF: { readonly [kind in Kind]: IconName } = { events: 'zap', messages: 'mail', consent: 'shield-check' }

function What({ item, open }: { readonly item: Item; readonly open: (event: Event) => void }) {
  const { may, page } = useWorkspace()
  return (
    <span class="timeline-what">
      <Icon name={ICON_OF[item.kind]} />
      {item.kind === 'events' && (
        <button type="button" class="cell-button" onClick={() => open(item.event)}>
          {item.event.action}
        </button>
      )}
      {item.kind === 'messages' &&
        (may('campaigns.read') ? (
          <a href={page('campaigns', item.message.campaign_id)}>
            {personText.messageOf(item.message.campaign_name ?? item.message.campaign_id)}
          </a>
        ) : (
          personText.messageOf(item.message.campaign_name ?? item.message.campaign_id)
        ))}
      {item.kind === 'consent' && personText.consentChange}
    </span>
  )
}

function Details({ item }: { readonly item: Item }) {
  switch (item.kind) {
    case 'events':
      return (
        <span class="note one-line under">
          {[item.event.platform, attributesLine(item.event.attributes)].filter(Boolean).join(' · ')}
        </span>
      )
    case 'messages':
      return <span class="note">{messageWords(item.message)}</span>
    case 'consent':
      return (
        <span class="note">
          {consentWords(item.proof)}
          <span class="under">
            {[personText.by(item.proof.by), item.proof.ip && personText.from(item.proof.ip)].filter(Boolean).join(' ')}
          </span>
        </span>
      )
  }
}

function messageWords({ state, reason, impressions, clicks }: Message): string {
  const words = [
    state.replaceAll('_', ' '),
    reason?.replaceAll('_', ' ').toLowerCase(),
    impressions > 0 && personText.opened(impressions),
    clicks > 0 && personText.clicked(clicks),
  ]
  return words.filter(Boolean).join(', ')
}

/** What differs between before and after. */
function consentWords({ before, after }: Proof): string {
  const words: string[] = []
  if (before.opt_in_status !== after.opt_in_status) {
    const [from, to] = [before, after].map(({ opt_in_status: status }) => personText.statuses[status])
    words.push(`${from} → ${to}`)
  }
  for (const [name, isOn] of Object.entries(after.categories)) {
    if (before.categories[name] !== isOn)
      words.push(`${name} ${isOn ? personText.category.on : personText.category.off}`)
  }
  if (before.tracking !== after.tracking && after.tracking !== undefined) {
    words.push(`${personText.tracking}: ${after.tracking ? personText.trackingOn : personText.trackingOff}`)
  }
  return words.join(', ')
}
