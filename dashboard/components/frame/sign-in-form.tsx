// Asks for address, password and, if the server wants one, a code. Used by the page and by the dialog over a page whose session has ended.
import { useState } from 'preact/hooks'
import { ApiError } from '../../data/api-error.ts'
import { useData } from '../../data/queries.ts'
import type { SessionBody } from '../../data/session.ts'
import { doorText } from '../../texts/door.ts'
import { TextField } from '../controls/field.tsx'
import { Form } from '../controls/form.tsx'
import { EmailField, PasswordField } from './account-fields.tsx'

interface SignInFormProps {
  /** Filled in already, where it is known who it was. */
  readonly email?: string
  readonly onSignedIn: (session: SessionBody) => void
}

export function SignInForm({ email: known = '', onSignedIn }: SignInFormProps) {
  const { client } = useData()
  const [email, setEmail] = useState(known)
  const [password, setPassword] = useState('')
  const [code, setCode] = useState<string | undefined>(undefined)
  const send = async () => {
    const body = { email, password, ...(code !== undefined && code !== '' && { code }) }
    try {
      onSignedIn(await client.post('/v1/sessions', { body, asksToSignIn: false }))
    } catch (error) {
      const wantsCode = error instanceof ApiError && error.details.some(({ field }) => field === 'code')
      if (!wantsCode || code !== undefined) throw error
      setCode('')
    }
  }
  return (
    <Form send={send} submit={doorText.signIn}>
      <EmailField value={email} onInput={setEmail} takesFocus={known === ''} />
      <PasswordField value={password} onInput={setPassword} takesFocus={known !== ''} />
      {code !== undefined && (
        <TextField
          name="code"
          autoComplete="one-time-code"
          inputMode="numeric"
          label={doorText.code}
          hint={doorText.codeHint}
          value={code}
          onInput={setCode}
          takesFocus
        />
      )}
    </Form>
  )
}
