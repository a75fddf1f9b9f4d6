// Applies a workspace's email protection: in which form an address may be stored, how users are found by address, and whether a key
// is the right one ("Tokenized emails", "Encrypted emails").
import { AppError } from '../core/app-error.ts'
import { normalizeEmail } from '../core/users/email-address.ts'
import { EMAIL } from '../core/users/user-attributes.ts'
import type { Workspace } from '../core/workspace.ts'
import type { EntryContext } from '../log/event-log.ts'
import type { EmailVault } from '../store/users/email-vault.ts'
import type { Store } from '../store/store.ts'
import { findUserWithEmail, type User } from '../store/users/users.ts'

type Attributes = Readonly<Record<string, unknown>>

/** Attributes that may be stored, and the sealed address to store beside them, if there is one. */
export interface ProtectedAttributes {
  readonly attributes: Attributes
  readonly sealedEmail?: NonNullable<EntryContext['sealedEmail']>
}

/** Removes the address from attributes: drops it if emails are tokenized, seals it if they are encrypted. */
export function protectEmail(
  { id, emailProtection }: Workspace,
  attributes: Attributes,
  vault: EmailVault | undefined,
): ProtectedAttributes {
  const { [EMAIL]: email, ...others } = attributes
  switch (emailProtection) {
    case 'none':
      return { attributes }
    case 'tokenized':
      return { attributes: others }
    case 'encrypted':
      // A null is no address; it clears the stored one.
      if (typeof email !== 'string') return { attributes }
      return { attributes: others, sealedEmail: requireVault(vault).seal(id, email) }
  }
}

/** The value of `users.email_key` for an address. Not for workspaces that tokenize emails: they store none. */
export function toEmailKey({ id, emailProtection }: Workspace, address: string, vault: EmailVault | undefined): string {
  return emailProtection === 'encrypted' ? requireVault(vault).hash(id, address) : normalizeEmail(address)
}

/** A user's attributes with their newest values, and the address as sent. */
export function shownAttributes(
  { id, emailProtection }: Workspace,
  user: User,
  vault: EmailVault | undefined,
): Attributes {
  const shown = Object.fromEntries(Object.entries(user.attributes).map(([name, [value]]) => [name, value]))
  const email = shown[EMAIL]
  if (emailProtection !== 'encrypted' || typeof email !== 'string') return shown
  return { ...shown, [EMAIL]: requireVault(vault).open(id, email) }
}

/** Whether `vault` opens the stored addresses of the workspace. Tries one of them; any key is right while there are none. */
export async function isRightKey(store: Store, { id }: Workspace, vault: EmailVault): Promise<boolean> {
  const [sealed] = (await findUserWithEmail(store, id))?.attributes[EMAIL] ?? []
  return typeof sealed !== 'string' || vault.opens(id, sealed)
}

/** A server without a key refuses to start if a workspace encrypts emails, but such a workspace may be created later. */
function requireVault(vault: EmailVault | undefined): EmailVault {
  if (vault) return vault
  throw new AppError(
    'unavailable',
    'This workspace encrypts emails, but the server was started without PII_KEY. Ask the operator to set it.',
  )
}
