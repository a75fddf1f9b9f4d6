// Settings › People: who has which role in the workspace, and open invitations.
import { useState } from 'preact/hooks'
import { Badge } from '../../components/content/badge.tsx'
import { Card } from '../../components/content/card.tsx'
import { Shown } from '../../components/content/shown.tsx'
import { Table, type Column } from '../../components/content/table.tsx'
import { Ago } from '../../components/content/time.tsx'
import { Button } from '../../components/controls/button.tsx'
import { Menu } from '../../components/controls/menu.tsx'
import { SettingsPage } from '../../components/frame/settings-page.tsx'
import { useQuery } from '../../data/queries.ts'
import { useSession, useWorkspace } from '../../data/session.ts'
import { peopleText, roleText } from '../../texts/settings/people.ts'
import {
  ChangeRole,
  Invite,
  RemovePerson,
  ResetPassword,
  TakeBack,
  type ListedPerson,
} from './people/people-dialogs.tsx'

type Opened =
  | { readonly kind: 'invite' }
  | { readonly kind: 'role' | 'reset' | 'remove'; readonly member: ListedPerson }
  | { readonly kind: 'take back'; readonly email: string }

export default function People() {
  const { may } = useWorkspace()
  const [opened, setOpened] = useState<Opened | undefined>(undefined)
  const people = useQuery({
    key: ['people'],
    ask: (client, signal) => client.get('/v1/workspaces/:Workspace_ID/people', { signal }),
    topics: ['audit'],
  })
  const invite = may('people.write') && (
    <Button kind="main" icon="user-plus" onClick={() => setOpened({ kind: 'invite' })}>
      {peopleText.invite}
    </Button>
  )
  return (
    <SettingsPage title={peopleText.title} lead={peopleText.lead} actions={invite}>
      <Shown of={people}>
        {({ data, invitations }) => (
          <div class="sections">
            <Card isFlush>
              <Members members={data} open={setOpened} />
            </Card>
            {invitations.length > 0 && (
              <Card title={peopleText.invitations} lead={peopleText.invitationsLead} isFlush>
                <Invitations invitations={invitations} open={setOpened} />
              </Card>
            )}
          </div>
        )}
      </Shown>
      {opened && <OpenedDialog opened={opened} onClose={() => setOpened(undefined)} />}
    </SettingsPage>
  )
}

function OpenedDialog({ opened, onClose }: { readonly opened: Opened; readonly onClose: () => void }) {
  switch (opened.kind) {
    case 'invite':
      return <Invite onClose={onClose} />
    case 'role':
      return <ChangeRole member={opened.member} onClose={onClose} />
    case 'reset':
      return <ResetPassword member={opened.member} onClose={onClose} />
    case 'remove':
      return <RemovePerson member={opened.member} onClose={onClose} />
    case 'take back':
      return <TakeBack email={opened.email} onClose={onClose} />
  }
}

interface MembersProps {
  readonly members: readonly ListedPerson[]
  readonly open: (opened: Opened) => void
}

function Members({ members, open }: MembersProps) {
  const { may } = useWorkspace()
  const { person: own } = useSession()
  return (
    <Table
      caption={peopleText.title}
      rows={members}
      keyOf={({ person_id: id }) => id}
      columns={columnsOfMembers(own.person_id, may('people.write') ? [actionsColumn(own.person_id, open)] : [])}
    />
  )
}

function columnsOfMembers(own: string, actions: Column<ListedPerson>[]): Column<ListedPerson>[] {
  return [
    {
      title: peopleText.person,
      cell: ({ person_id: id, name, email }) => (
        <>
          {name} {id === own && <Badge>{peopleText.you}</Badge>}
          <span class="note under">{email}</span>
        </>
      ),
    },
    {
      title: peopleText.role,
      cell: ({ role, is_everywhere: isEverywhere }) => (
        <span title={roleText.may[role]}>
          {roleText.names[role]}
          {isEverywhere && (
            <span class="note under" title={peopleText.everywhereNote}>
              {peopleText.everywhere}
            </span>
          )}
        </span>
      ),
    },
    {
      title: peopleText.twoFactor,
      cell: ({ has_totp: isOn }) =>
        isOn ? (
          <Badge kind="good" icon="shield-check">
            {peopleText.twoFactorOn}
          </Badge>
        ) : (
          <span class="quiet-text">{peopleText.twoFactorOff}</span>
        ),
    },
    { title: peopleText.seen, cell: ({ last_seen_at: at }) => <Ago at={at} /> },
    ...actions,
  ]
}

function actionsColumn(own: string, open: MembersProps['open']): Column<ListedPerson> {
  return {
    title: peopleText.actions,
    isTight: true,
    cell: (member) => <Actions member={member} isOwn={member.person_id === own} open={open} />,
  }
}

interface ActionsProps extends Pick<MembersProps, 'open'> {
  readonly member: ListedPerson
  readonly isOwn: boolean
}

/** Nobody changes a role in every workspace here, or their own password. */
function Actions({ member, isOwn, open }: ActionsProps) {
  const items = [
    ...(member.is_everywhere ? [] : [{ label: peopleText.changeRole, onClick: () => open({ kind: 'role', member }) }]),
    ...(isOwn ? [] : [{ label: peopleText.reset, onClick: () => open({ kind: 'reset', member }) }]),
    ...(member.is_everywhere
      ? []
      : [{ label: peopleText.remove, isDangerous: true, onClick: () => open({ kind: 'remove', member }) }]),
  ]
  if (items.length === 0) return null
  return (
    <span class="row-actions">
      <Menu label={peopleText.actionsOf(member.email)} items={items} />
    </span>
  )
}

interface Invitation {
  readonly email: string
  readonly role: ListedPerson['role']
  readonly expires_at: string
}

interface InvitationsProps extends Pick<MembersProps, 'open'> {
  readonly invitations: readonly Invitation[]
}

function Invitations({ invitations, open }: InvitationsProps) {
  return (
    <Table
      caption={peopleText.invitations}
      rows={invitations}
      keyOf={({ email }) => email}
      columns={columnsOfInvitations(open)}
    />
  )
}

function columnsOfInvitations(open: MembersProps['open']): Column<Invitation>[] {
  return [
    { title: peopleText.email, cell: ({ email }) => email },
    { title: peopleText.role, cell: ({ role }) => roleText.names[role] },
    { title: peopleText.ends, cell: ({ expires_at: at }) => <Ago at={at} /> },
    {
      title: peopleText.actions,
      isTight: true,
      cell: ({ email }) => (
        <span class="row-actions">
          <Button
            kind="quiet"
            icon="trash-2"
            label={peopleText.takeBackOf(email)}
            onClick={() => open({ kind: 'take back', email })}
          />
        </span>
      ),
    },
  ]
}
