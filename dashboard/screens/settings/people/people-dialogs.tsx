// Invites people, changes their roles, makes links for passwords, and removes people. Links are shown once.
import { useState } from 'preact/hooks'
import { Copied } from '../../../components/content/copy.tsx'
import { Notice } from '../../../components/content/notice.tsx'
import { toast } from '../../../components/content/toasts.tsx'
import { Button } from '../../../components/controls/button.tsx'
import { ConfirmDialog, Dialog } from '../../../components/controls/dialog.tsx'
import { SelectField, TextField } from '../../../components/controls/field.tsx'
import { Form } from '../../../components/controls/form.tsx'
import type { AnswerOf } from '../../../data/contracts.ts'
import { useData, useRefresh } from '../../../data/queries.ts'
import { formText } from '../../../texts/form.ts'
import { peopleText, roleText } from '../../../texts/settings/people.ts'

export type ListedPerson = AnswerOf<'GET', '/v1/workspaces/:Workspace_ID/people'>['data'][number]
type Role = ListedPerson['role']

const ROLE_OPTIONS = (Object.keys(roleText.names) as Role[]).map((value) => ({ value, label: roleText.names[value] }))

interface DialogProps {
  readonly onClose: () => void
}

interface MemberDialogProps extends DialogProps {
  readonly member: ListedPerson
}

function RoleField({ value, onChange }: { readonly value: Role; readonly onChange: (role: Role) => void }) {
  return (
    <SelectField
      name="role"
      label={peopleText.role}
      hint={roleText.may[value]}
      value={value}
      options={ROLE_OPTIONS}
      onChange={onChange}
    />
  )
}

/** `path`: as the server answered it. */
function LinkOnce({ title, lead, path, onClose }: DialogProps & Record<'title' | 'lead' | 'path', string>) {
  return (
    <Dialog title={title}>
      <Notice kind="warn">{lead}</Notice>
      <Copied text={location.origin + path} what={peopleText.link} />
      <div class="form-end right">
        <Button kind="main" onClick={onClose}>
          {peopleText.done}
        </Button>
      </div>
    </Dialog>
  )
}

export function Invite({ onClose }: DialogProps) {
  const { client } = useData()
  const refresh = useRefresh()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('marketer')
  const [path, setPath] = useState<string | undefined>(undefined)
  const send = async () => {
    const link = await client.post('/v1/workspaces/:Workspace_ID/people', { body: { email, role } })
    setPath(link.path)
    await refresh('people')
  }
  if (path !== undefined) {
    return <LinkOnce title={peopleText.invited} lead={peopleText.linkOnce} path={path} onClose={onClose} />
  }
  return (
    <Dialog title={peopleText.invite} onClose={onClose}>
      <Form
        isDialog
        send={send}
        submit={peopleText.invite}
        others={<Button onClick={onClose}>{formText.cancel}</Button>}
      >
        <p>{peopleText.inviteLead}</p>
        <TextField name="email" type="email" label={peopleText.email} value={email} onInput={setEmail} takesFocus />
        <RoleField value={role} onChange={setRole} />
      </Form>
    </Dialog>
  )
}

export function ChangeRole({ member, onClose }: MemberDialogProps) {
  const { client } = useData()
  const refresh = useRefresh()
  const [role, setRole] = useState(member.role)
  const send = async () => {
    const path = { person_id: member.person_id }
    await client.patch('/v1/workspaces/:Workspace_ID/people/:person_id', { path, body: { role } })
    await refresh('people')
    toast(peopleText.roleChanged)
    onClose()
  }
  return (
    <Dialog title={peopleText.changeRole} onClose={onClose}>
      <Form
        isDialog
        send={send}
        submit={peopleText.changeRole}
        isDisabled={role === member.role}
        others={<Button onClick={onClose}>{formText.cancel}</Button>}
      >
        <p>{peopleText.changeRoleLead(member.name)}</p>
        <RoleField value={role} onChange={setRole} />
      </Form>
    </Dialog>
  )
}

export function ResetPassword({ member, onClose }: MemberDialogProps) {
  const { client } = useData()
  const [path, setPath] = useState<string | undefined>(undefined)
  const send = async () => {
    const options = { path: { person_id: member.person_id } }
    setPath((await client.post('/v1/workspaces/:Workspace_ID/people/:person_id/reset', options)).path)
  }
  if (path !== undefined) {
    return <LinkOnce title={peopleText.reset} lead={peopleText.resetOnce} path={path} onClose={onClose} />
  }
  return (
    <Dialog title={peopleText.reset} onClose={onClose}>
      <Form
        isDialog
        send={send}
        submit={peopleText.reset}
        others={<Button onClick={onClose}>{formText.cancel}</Button>}
      >
        <p>{peopleText.resetLead(member.name)}</p>
      </Form>
    </Dialog>
  )
}

export function RemovePerson({ member, onClose }: MemberDialogProps) {
  const { client } = useData()
  const refresh = useRefresh()
  const act = async () => {
    await client.delete('/v1/workspaces/:Workspace_ID/people/:person_id', { path: { person_id: member.person_id } })
    await refresh('people')
    toast(peopleText.removed)
  }
  return (
    <ConfirmDialog title={peopleText.remove} word={member.email} act={act} onClose={onClose}>
      <p>{peopleText.removeLead(member.name)}</p>
    </ConfirmDialog>
  )
}

export function TakeBack({ email, onClose }: DialogProps & { readonly email: string }) {
  const { client } = useData()
  const refresh = useRefresh()
  const act = async () => {
    await client.delete('/v1/workspaces/:Workspace_ID/invitations/:email', { path: { email } })
    await refresh('people')
    toast(peopleText.takenBack)
  }
  return (
    <ConfirmDialog title={peopleText.takeBack} isDangerous act={act} onClose={onClose}>
      <p>{peopleText.takeBackLead(email)}</p>
    </ConfirmDialog>
  )
}
