// Settings › Your account: the sessions, password and authenticator of the person who is signed in.
import { useState } from 'preact/hooks'
import { Badge } from '../../components/content/badge.tsx'
import { Card } from '../../components/content/card.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Ago } from '../../components/content/time.tsx'
import { toast } from '../../components/content/toasts.tsx'
import { Button } from '../../components/controls/button.tsx'
import { TextField } from '../../components/controls/field.tsx'
import { Form } from '../../components/controls/form.tsx'
import { SettingsPage } from '../../components/frame/settings-page.tsx'
import type { AnswerOf } from '../../data/contracts.ts'
import { useData, useQuery, useRefresh } from '../../data/queries.ts'
import { useSession } from '../../data/session.ts'
import { doorText } from '../../texts/door.ts'
import { accountText } from '../../texts/settings/people.ts'
import { browserName } from './account/browser-name.ts'
import { Authenticator } from './account/authenticator.tsx'

export default function Account() {
  const { person } = useSession()
  return (
    <SettingsPage title={accountText.title} lead={accountText.lead(person.name, person.email)}>
      <div class="columns">
        <Password email={person.email} />
        <Authenticator />
      </div>
      <Sessions />
    </SettingsPage>
  )
}

type ListedSession = AnswerOf<'GET', '/v1/sessions'>['data'][number]

function Sessions() {
  const { client } = useData()
  const sessions = useQuery({
    key: ['sessions'],
    ask: (asked, signal) => asked.get('/v1/sessions', { signal }),
  })
  const end = async (id: string) => {
    await client.delete('/v1/sessions/:session_id', { path: { session_id: id } })
    sessions.again()
    toast(accountText.ended)
  }
  return (
    <Card title={accountText.sessions} lead={accountText.sessionsLead} isFlush>
      <Shown of={sessions}>
        {({ data }) => (
          <Table
            caption={accountText.sessions}
            rows={data}
            keyOf={({ session_id: id }) => id}
            columns={columnsOfSessions(end)}
          />
        )}
      </Shown>
    </Card>
  )
}

function columnsOfSessions(end: EndProps['end']): Column<ListedSession>[] {
  return [
    {
      title: accountText.browser,
      cell: ({ agent, is_current: isCurrent }) => (
        <>
          <span title={agent}>{browserName(agent)}</span>{' '}
          {isCurrent && <Badge kind="accent">{accountText.current}</Badge>}
        </>
      ),
    },
    { title: accountText.address, cell: ({ address }) => address },
    { title: accountText.used, cell: ({ last_seen_at: at }) => <Ago at={at} />, isTight: true },
    { title: accountText.ends, cell: ({ expires_at: at }) => <Ago at={at} />, isTight: true },
    { title: accountText.actions, cell: (session) => <End session={session} end={end} />, isTight: true },
  ]
}

interface EndProps {
  readonly session: ListedSession
  readonly end: (id: string) => Promise<void>
}

/** One ends the session of this browser by signing out. */
function End({ session: { session_id: id, is_current: isCurrent }, end }: EndProps) {
  const [isBusy, setBusy] = useState(false)
  if (isCurrent) return null
  const onClick = async () => {
    setBusy(true)
    await end(id).finally(() => setBusy(false))
  }
  return (
    <Button isBusy={isBusy} onClick={() => void onClick()}>
      {accountText.end}
    </Button>
  )
}

function Password({ email }: { readonly email: string }) {
  const { client } = useData()
  const refresh = useRefresh()
  const [current, setCurrent] = useState('')
  const [fresh, setFresh] = useState('')
  const send = async () => {
    await client.put('/v1/people/me/password', { body: { current_password: current, new_password: fresh } })
    setCurrent('')
    setFresh('')
    toast(accountText.passwordChanged)
    await refresh('sessions')
  }
  return (
    <Card title={accountText.password} lead={accountText.passwordLead}>
      <Form send={send} submit={accountText.changePassword} submitKind="plain">
        {/* For managers of passwords. */}
        <input
          class="visually-hidden"
          type="text"
          autoComplete="username"
          value={email}
          readOnly
          tabIndex={-1}
          aria-hidden
        />
        <TextField
          name="current_password"
          type="password"
          autoComplete="current-password"
          label={accountText.currentPassword}
          value={current}
          onInput={setCurrent}
        />
        <TextField
          name="new_password"
          type="password"
          autoComplete="new-password"
          label={accountText.newPassword}
          hint={doorText.passwordHint}
          value={fresh}
          onInput={setFresh}
        />
      </Form>
    </Card>
  )
}
