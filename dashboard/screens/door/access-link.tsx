// The page behind a link that lets somebody in: set-up, invitation, new password. The token is in the fragment of the address.
import { useContext, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { Failure, Shown } from '../../components/content/shown.tsx'
import { LinkButton } from '../../components/controls/button.tsx'
import { TextField } from '../../components/controls/field.tsx'
import { Form } from '../../components/controls/form.tsx'
import { EmailField, PasswordField } from '../../components/frame/account-fields.tsx'
import { Door } from '../../components/frame/door.tsx'
import { SignInForm } from '../../components/frame/sign-in-form.tsx'
import { pageAddress } from '../../data/address.ts'
import type { AnswerOf } from '../../data/contracts.ts'
import { useData, useQuery } from '../../data/queries.ts'
import { SessionContext, type SessionBody } from '../../data/session.ts'
import { doorText } from '../../texts/door.ts'

type Link = AnswerOf<'POST', '/v1/access-links/read'>

interface AccessLinkProps {
  readonly onSignedIn: (session: SessionBody) => void
}

export default function AccessLink({ onSignedIn }: AccessLinkProps) {
  // Kept: the address loses the token when somebody is let in.
  const [token] = useState(() => location.hash.slice(1))
  const link = useQuery({
    key: ['access link', token],
    ask: (client, signal) => client.post('/v1/access-links/read', { body: { token }, signal, asksToSignIn: false }),
  })
  if (link.state === 'failed') {
    return (
      <Door title={doorText.badLink}>
        <Failure error={link.error} />
        <p class="note">{doorText.newSetupLink}</p>
        <LinkButton href="/dashboard/sign-in">{doorText.toSignIn}</LinkButton>
      </Door>
    )
  }
  if (link.state === 'loading') {
    return (
      <Door title={doorText.setupTitle}>
        <Shown of={link}>{() => null}</Shown>
      </Door>
    )
  }
  const Page = link.answer.has_account && link.answer.kind === 'invitation' ? Join : Accept
  return <Page token={token} link={link.answer} onSignedIn={onSignedIn} />
}

const WORDS = {
  setup: { title: doorText.setupTitle, submit: doorText.setupSubmit },
  invitation: { title: doorText.invitationTitle, submit: doorText.invitationSubmit },
  reset: { title: doorText.resetTitle, submit: doorText.resetSubmit },
} as const

interface LinkProps extends AccessLinkProps {
  readonly token: string
  readonly link: Link
}

/** For somebody who has an account: signs in first, then joins. */
function Join({ token, link, onSignedIn }: LinkProps) {
  const { client } = useData()
  const { route } = useLocation()
  const session = useContext(SessionContext)
  const send = async () => {
    onSignedIn(await client.post('/v1/access-links/join', { body: { token } }))
    route('/dashboard', true)
  }
  return (
    <Door title={doorText.invitationTitle} lead={leadOf(link)}>
      {session ? (
        <Form send={send} submit={doorText.joinSubmit}>
          <p>{doorText.signedInAs(session.person.email)}</p>
        </Form>
      ) : (
        <>
          <p>{doorText.signInToJoin}</p>
          <SignInForm email={link.email ?? ''} onSignedIn={onSignedIn} />
        </>
      )}
    </Door>
  )
}

function Accept({ token, link, onSignedIn }: LinkProps) {
  const { client } = useData()
  const { route } = useLocation()
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const { title, submit } = WORDS[link.kind]
  const send = async () => {
    const who = { ...(link.kind === 'setup' && { email }), ...(link.kind !== 'reset' && { name }) }
    const body = { token, password, ...who }
    const session = await client.post('/v1/access-links/accept', { body, asksToSignIn: false })
    onSignedIn(session)
    const [first] = session.workspaces
    route(link.kind === 'setup' && first ? pageAddress(first.workspace_id, 'welcome') : '/dashboard', true)
  }
  return (
    <Door title={title} lead={leadOf(link)}>
      <Form send={send} submit={submit}>
        {link.kind === 'setup' && <EmailField value={email} onInput={setEmail} takesFocus />}
        {link.email !== null && (
          <TextField
            name="email"
            autoComplete="username"
            label={doorText.email}
            value={link.email}
            onInput={() => {}}
            isDisabled
          />
        )}
        {link.kind !== 'reset' && (
          <TextField
            name="name"
            autoComplete="name"
            label={doorText.name}
            value={name}
            onInput={setName}
            takesFocus={link.kind === 'invitation'}
          />
        )}
        <PasswordField isNew value={password} onInput={setPassword} takesFocus={link.kind === 'reset'} />
      </Form>
    </Door>
  )
}

function leadOf({ kind, role, workspace_id: workspace }: Link): string {
  if (kind === 'setup') return doorText.setupLead
  if (kind === 'reset') return doorText.resetLead
  return doorText.invitationLead(
    role ?? '',
    workspace === '*' || workspace === null ? doorText.everyWorkspace : workspace,
  )
}
