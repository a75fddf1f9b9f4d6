// The authenticator of the person who is signed in: set up in three steps, and removed.
import { useContext, useState } from 'preact/hooks'
import { Badge } from '../../../components/content/badge.tsx'
import { Card } from '../../../components/content/card.tsx'
import { CodeBlock, CopyButton } from '../../../components/content/copy.tsx'
import { Notice } from '../../../components/content/notice.tsx'
import { toast } from '../../../components/content/toasts.tsx'
import { Button } from '../../../components/controls/button.tsx'
import { Dialog } from '../../../components/controls/dialog.tsx'
import { TextField } from '../../../components/controls/field.tsx'
import { Form } from '../../../components/controls/form.tsx'
import { useData } from '../../../data/queries.ts'
import { SessionRefreshContext, useSession } from '../../../data/session.ts'
import { formText } from '../../../texts/form.ts'
import { accountText } from '../../../texts/settings/people.ts'

export function Authenticator() {
  const [opened, setOpened] = useState<'set up' | 'remove' | undefined>(undefined)
  const { person } = useSession()
  const close = () => setOpened(undefined)
  return (
    <Card title={accountText.totp} lead={accountText.totpLead}>
      <div class="row apart">
        {person.has_totp ? (
          <Badge kind="good" icon="shield-check">
            {accountText.totpOn}
          </Badge>
        ) : (
          <Badge>{accountText.totpOff}</Badge>
        )}
        {person.has_totp ? (
          <Button kind="danger" onClick={() => setOpened('remove')}>
            {accountText.remove}
          </Button>
        ) : (
          <Button onClick={() => setOpened('set up')}>{accountText.begin}</Button>
        )}
      </div>
      {opened === 'set up' && <SetUp onClose={close} />}
      {opened === 'remove' && <RemoveAuthenticator onClose={close} />}
    </Card>
  )
}

interface StepProps {
  readonly onClose: () => void
}

interface Secret {
  readonly secret: string
  readonly url: string
}

/** Password, then the first code, then recovery codes. */
function SetUp({ onClose }: StepProps) {
  const { client } = useData()
  const refresh = useContext(SessionRefreshContext)
  const [secret, setSecret] = useState<Secret | undefined>(undefined)
  const [codes, setCodes] = useState<readonly string[] | undefined>(undefined)
  if (codes) return <RecoveryCodes codes={codes} onClose={onClose} />
  if (secret) {
    const confirm = async (code: string) => {
      const { recovery_codes: made } = await client.put('/v1/people/me/totp', { body: { code } })
      setCodes(made)
      await refresh()
    }
    return <FirstCode secret={secret} confirm={confirm} onClose={onClose} />
  }
  const begin = async (password: string) => setSecret(await client.post('/v1/people/me/totp', { body: { password } }))
  return (
    <OwnPassword
      title={accountText.begin}
      lead={accountText.beginLead}
      submit={accountText.next}
      send={begin}
      onClose={onClose}
    />
  )
}

interface OwnPasswordProps extends StepProps {
  readonly title: string
  readonly lead: string
  readonly submit: string
  readonly isDangerous?: boolean
  readonly send: (password: string) => Promise<unknown>
}

function OwnPassword({ title, lead, submit, isDangerous = false, send, onClose }: OwnPasswordProps) {
  const [password, setPassword] = useState('')
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        isDialog
        send={() => send(password)}
        submit={submit}
        submitKind={isDangerous ? 'danger main' : 'main'}
        others={<Button onClick={onClose}>{formText.cancel}</Button>}
      >
        <p>{lead}</p>
        <TextField
          name="password"
          type="password"
          autoComplete="current-password"
          label={accountText.yourPassword}
          value={password}
          onInput={setPassword}
          takesFocus
        />
      </Form>
    </Dialog>
  )
}

interface FirstCodeProps extends StepProps {
  readonly secret: Secret
  readonly confirm: (code: string) => Promise<unknown>
}

function FirstCode({ secret: { secret, url }, confirm, onClose }: FirstCodeProps) {
  const [code, setCode] = useState('')
  return (
    <Dialog title={accountText.begin} onClose={onClose}>
      <Form
        isDialog
        send={() => confirm(code)}
        submit={accountText.confirm}
        others={<Button onClick={onClose}>{formText.cancel}</Button>}
      >
        <p>{accountText.addKey}</p>
        <dl class="facts">
          <dt>{accountText.key}</dt>
          <dd class="copied">
            <code>{inFours(secret)}</code>
            <CopyButton text={secret} what={accountText.key} />
          </dd>
        </dl>
        <details>
          <summary>{accountText.url}</summary>
          <CodeBlock text={url} what={accountText.url} />
        </details>
        <TextField
          name="code"
          label={accountText.code}
          hint={accountText.codeHint}
          inputMode="numeric"
          autoComplete="one-time-code"
          isCode
          value={code}
          onInput={setCode}
          takesFocus
        />
      </Form>
    </Dialog>
  )
}

function RecoveryCodes({ codes, onClose }: StepProps & { readonly codes: readonly string[] }) {
  return (
    <Dialog title={accountText.recovery}>
      <Notice kind="warn">{accountText.recoveryLead}</Notice>
      <CodeBlock text={codes.join('\n')} what={accountText.recovery} />
      <div class="form-end right">
        <Button kind="main" onClick={onClose}>
          {accountText.kept}
        </Button>
      </div>
    </Dialog>
  )
}

function RemoveAuthenticator({ onClose }: StepProps) {
  const { client } = useData()
  const refresh = useContext(SessionRefreshContext)
  const remove = async (password: string) => {
    await client.delete('/v1/people/me/totp', { body: { password } })
    await refresh()
    toast(accountText.removed)
    onClose()
  }
  return (
    <OwnPassword
      title={accountText.remove}
      lead={accountText.removeLead}
      submit={accountText.remove}
      isDangerous
      send={remove}
      onClose={onClose}
    />
  )
}

/** `ABCD EFGH …`, easier to type. */
function inFours(secret: string): string {
  return secret.match(/.{1,4}/g)?.join(' ') ?? secret
}
