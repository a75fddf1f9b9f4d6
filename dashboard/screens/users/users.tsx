// Users: the newest first, or those with a part of an id, an identifier or an address.
import { Card } from '../../components/content/card.tsx'
import { Empty } from '../../components/content/empty.tsx'
import { nothingMatches } from '../../components/content/nothing-matches.tsx'
import { Pager } from '../../components/content/pager.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Time } from '../../components/content/time.tsx'
import { LinkButton } from '../../components/controls/button.tsx'
import { SearchField } from '../../components/controls/search-field.tsx'
import { Page } from '../../components/frame/page.tsx'
import { useAddress } from '../../data/address.ts'
import type { AnswerOf } from '../../data/contracts.ts'
import { writeShort } from '../../data/exact.ts'
import { useQuery } from '../../data/queries.ts'
import { useWorkspace } from '../../data/session.ts'
import { usersText } from '../../texts/people/users.ts'

type Listed = AnswerOf<'GET', '/v1/customer/:Workspace_ID/users'>['data'][number]

const PER_PAGE = 50
const FILTERS = ['search', 'before']

export default function Users() {
  const address = useAddress()
  const [search, before] = [address.get('search'), address.get('before')]
  const users = useQuery({
    key: ['users', search, before],
    ask: (client, signal) => {
      const filter = { ...(search !== undefined && { search }), ...(before !== undefined && { before }) }
      return client.get('/v1/customer/:Workspace_ID/users', { query: { ...filter, limit: PER_PAGE }, signal })
    },
    topics: ['events'],
    isEmpty: ({ data, next_before: next }) => data.length === 0 && next === null,
  })
  return (
    <Page title={usersText.title} lead={usersText.lead}>
      <div class="filters">
        <SearchField label={usersText.search} placeholder={usersText.searchPlaceholder} />
      </div>
      <Card isFlush>
        <Shown of={users} lines={10} empty={nothingMatches(address, FILTERS) ?? <NoUsers />}>
          {({ data, next_before: next }) => (
            <>
              {data.length === 0 ? <p class="table-note">{usersText.examined}</p> : <UserTable users={data} />}
              <Pager next={next}>{usersText.shown(data.length)}</Pager>
            </>
          )}
        </Shown>
      </Card>
    </Page>
  )
}

function NoUsers() {
  const { may, page } = useWorkspace()
  const action = may('keys.read') && (
    <LinkButton kind="main" href={page('settings', 'apis')}>
      {usersText.emptyAction}
    </LinkButton>
  )
  return (
    <Empty icon="user-round" title={usersText.empty} action={action}>
      {usersText.emptyLead}
    </Empty>
  )
}

function UserTable({ users }: { readonly users: readonly Listed[] }) {
  return (
    <Table
      caption={usersText.caption}
      columns={columnsOfUsers()}
      rows={users}
      keyOf={({ customer_id: id, user_identifiers: identifiers }) => id ?? JSON.stringify(identifiers)}
    />
  )
}

function columnsOfUsers(): Column<Listed>[] {
  return [
    { title: usersText.column.user, cell: (user) => <UserLink user={user} /> },
    {
      title: usersText.column.email,
      cell: ({ attributes: { email } }) => (email === undefined || email === null ? null : writeShort(email)),
    },
    {
      title: usersText.column.identifiers,
      cell: ({ user_identifiers: identifiers }) => {
        return Object.entries(identifiers).map(([name, value]) => (
          <span class="under note breaking" key={name}>
            {name} {value}
          </span>
        ))
      },
    },
    { title: usersText.column.made, isTight: true, cell: ({ created_at: at }) => <Time at={at} /> },
  ]
}

/** Somebody without a customer id is found by an identifier. */
function UserLink({ user: { customer_id: id, user_identifiers: identifiers } }: { readonly user: Listed }) {
  const { page } = useWorkspace()
  if (id !== null) return <a href={page('users', id)}>{id}</a>
  const [first] = Object.entries(identifiers)
  return first ? <a href={page('users', 'by', ...first)}>{usersText.noId}</a> : <>{usersText.noId}</>
}
