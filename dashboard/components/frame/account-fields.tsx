// The fields of an account: forms that sign in, and forms that create an account or choose a password.
import { doorText } from '../../texts/door.ts'
import { TextField } from '../controls/field.tsx'

interface AccountFieldProps {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly takesFocus?: boolean
}

export function EmailField(props: AccountFieldProps) {
  return <TextField name="email" type="email" autoComplete="username" label={doorText.email} {...props} />
}

/** `isNew`: whether it is chosen here. */
export function PasswordField({ isNew = false, ...props }: AccountFieldProps & { readonly isNew?: boolean }) {
  return (
    <TextField
      name="password"
      type="password"
      autoComplete={isNew ? 'new-password' : 'current-password'}
      label={doorText.password}
      hint={isNew && doorText.passwordHint}
      {...props}
    />
  )
}
