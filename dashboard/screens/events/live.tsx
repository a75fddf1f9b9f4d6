// The events as they arrive, filtered by name, user and platform.
import { useState } from 'preact/hooks'
import { EVENT_PLATFORMS } from '../../../src/core/platform.ts'
import { Badge } from '../../components/content/badge.tsx'
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { nothingMatches } from '../../components/content/nothing-matches.tsx'
import { Pager } from '../../components/content/pager.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Ago, Time } from '../../components/content/time.tsx'
import { Button, LinkButton } from '../../components/controls/button.tsx'
import { SelectField } from '../../components/controls/field.tsx'
import { SearchField } from '../../components/controls/search-field.tsx'
import { useAddress } from '../../data/address.ts'
import type { AnswerOf } from '../../data/contracts.ts'
import { getExactly } from '../../data/exact.ts'
import { useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { eventsText } from '../../texts/people/events.ts'
import { attributesLine, EventDetails } from './event-details.tsx'

type Listed = AnswerOf<'GET', '/v1/event/:Workspace_ID/list'>['data'][number]

const PER_PAGE = 50
const NAMES_MAX = 1_000
const FILTERS = ['action', 'user', 'platform', 'before']

export function LiveEvents() {
  const address = useAddress()
  const [isPaused, setPaused] = useState(false)
  const [opened, setOpened] = useState<Listed | undefined>(undefined)
  const [action, user, before] = [address.get('action'), address.get('user'), address.get('before')]
  const platform = user === undefined ? address.get('platform') : undefined
  const events = useQuery({
    key: ['events', action, user, platform, before],
    ask: (client, signal) => {
      const wanted = { action, customer_id: user, platform, before }
      const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined))
      return getExactly(client, '/v1/event/:Workspace_ID/list', { query: { ...given, limit: PER_PAGE }, signal })
    },
    topics: isPaused ? [] : ['events'],
    isEmpty: ({ data, next_before: next }) => data.length === 0 && next === null,
  })
  const resume = () => {
    setPaused(false)
    events.again()
  }
  return (
    <>
      <div class="filters">
        <NameField value={action} />
        <SearchField label={eventsText.user} placeholder={eventsText.userPlaceholder} name="user" />
        {user === undefined && <PlatformField value={platform} />}
        <span class="filters-end row">
          <Flow isPaused={isPaused} isFirstPage={before === undefined} />
          <Button icon={isPaused ? 'play' : 'pause'} onClick={isPaused ? resume : () => setPaused(true)}>
            {isPaused ? eventsText.resume : eventsText.pause}
          </Button>
        </span>
      </div>
      <Card isFlush>
        <Shown of={events} lines={10} empty={nothingMatches(address, FILTERS) ?? <NoEvents />}>
          {({ data, next_before: next }) => (
            <>
              {data.length === 0 ? (
                <p class="table-note">{eventsText.examined}</p>
              ) : (
                <EventTable events={data} open={setOpened} />
              )}
              <Pager next={next}>{eventsText.shown(data.length)}</Pager>
            </>
          )}
        </Shown>
      </Card>
      {opened && <EventDetails event={opened} onClose={() => setOpened(undefined)} />}
    </>
  )
}

function Flow({ isPaused, isFirstPage }: { readonly isPaused: boolean; readonly isFirstPage: boolean }) {
  if (isPaused) return <Badge kind="warn">{eventsText.paused}</Badge>
  if (!isFirstPage) return <Badge>{eventsText.older}</Badge>
  return (
    <Badge kind="good" icon="radio">
      {eventsText.live}
    </Badge>
  )
}

function NameField({ value = '' }: { readonly value: string | undefined }) {
  const address = useAddress()
  const names = useQuery({
    key: ['event-names'],
    ask: (client, signal) => client.get('/v1/event/:Workspace_ID/names', { query: { limit: NAMES_MAX }, signal }),
    topics: ['events'],
  })
  const known = 'answer' in names ? names.answer.data.map(({ action }) => action) : []
  // The one in the address counts also while the names are on their way, or are too many.
  const all = value === '' || known.includes(value) ? known : [value, ...known]
  const options = [{ value: '', label: eventsText.anyName }, ...all.map((name) => ({ value: name, label: name }))]
  return (
    <SelectField
      name="action"
      label={eventsText.name}
      value={value}
      options={options}
      onChange={(action) => address.set({ action, before: undefined })}
    />
  )
}

const PLATFORMS = [
  { value: '', label: eventsText.anyPlatform },
  ...EVENT_PLATFORMS.map((platform) => ({ value: platform as string, label: platform })),
]

function PlatformField({ value = '' }: { readonly value: string | undefined }) {
  const address = useAddress()
  const isOther = !PLATFORMS.some((option) => option.value === value)
  return (
    <SelectField
      name="platform"
      label={eventsText.platform}
      value={value}
      options={isOther ? [...PLATFORMS, { value, label: value }] : PLATFORMS}
      onChange={(platform) => address.set({ platform, before: undefined })}
    />
  )
}

function NoEvents() {
  const { may, page } = useWorkspace()
  const action = may('keys.read') && (
    <LinkButton kind="main" href={page('settings', 'apis')}>
      {eventsText.emptyAction}
    </LinkButton>
  )
  return (
    <Empty icon="zap" title={eventsText.empty} action={action}>
      {eventsText.emptyLead}
    </Empty>
  )
}

interface EventTableProps {
  readonly events: readonly Listed[]
  readonly open: (event: Listed) => void
}

function EventTable({ events, open }: EventTableProps) {
  return (
    <Table
      caption={eventsText.caption}
      columns={columnsOfEvents(open)}
      rows={events}
      keyOf={({ event_id: id, received_at: at }) => `${id} ${at}`}
    />
  )
}

function columnsOfEvents(open: EventTableProps['open']): Column<Listed>[] {
  return [
    {
      title: eventsText.column.event,
      cell: (event) => (
        <>
          <button
            type="button"
            class="cell-button"
            aria-label={eventsText.open(event.action)}
            onClick={() => open(event)}
          >
            {event.action}
          </button>
          <span class="under note one-line">{attributesLine(event.attributes)}</span>
        </>
      ),
    },
    {
      title: eventsText.column.user,
      cell: ({ customer_id: id }) => <UserOf id={id} />,
    },
    { title: eventsText.column.platform, isTight: true, cell: ({ platform }) => platform },
    { title: eventsText.column.happened, isTight: true, cell: ({ time }) => <Time at={time} /> },
    { title: eventsText.column.received, isTight: true, cell: ({ received_at: at }) => <Ago at={at} /> },
  ]
}

function UserOf({ id }: { readonly id: Listed['customer_id'] }) {
  const { page, may } = useWorkspace()
  if (id === null) return <span class="quiet-text">{eventsText.noUser}</span>
  return may('users.read') ? <a href={page('users', id)}>{id}</a> : <>{id}</>
}
