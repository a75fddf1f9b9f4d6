// What a workspace's email protection means: which part of an address is written, how users are found by one, and whether a key
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

/** Attributes as they may be written, and the sealed address that goes beside them, if there is one. */
export interface ProtectedAttributes {
  readonly attributes: Attributes
  readonly sealedEmail?: NonNullable<EntryContext['sealedEmail']>
}

/** Takes the address out of attributes: for good where emails are tokenized, sealed where they are encrypted. */
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
      // A null is no address, and says that the one known so far no longer holds.
      if (typeof email !== 'string') return { attributes }
      return { attributes: others, sealedEmail: present(vault).seal(id, email) }
  }
}

/** What `users.email_key` is for an address. Not for workspaces with tokenized emails, which keep none. */
export function toEmailKey({ id, emailProtection }: Workspace, address: string, vault: EmailVault | undefined): string {
  return emailProtection === 'encrypted' ? present(vault).hash(id, address) : normalizeEmail(address)
}

/** A user's attributes with their newest values, the address as it was sent. */
export function shownAttributes(
  { id, emailProtection }: Workspace,
  user: User,
  vault: EmailVault | undefined,
): Attributes {
  const shown = Object.fromEntries(Object.entries(user.attributes).map(([name, [value]]) => [name, value]))
  const email = shown[EMAIL]
  if (emailProtection !== 'encrypted' || typeof email !== 'string') return shown
  return { ...shown, [EMAIL]: present(vault).open(id, email) }
}

/**
 * Whether `vault` opens the addresses of the workspace in the tables: one is tried for all of them. Any key does while there are
 * none.
 */
export async function hasTheKey(store: Store, { id }: Workspace, vault: EmailVault): Promise<boolean> {
  const [sealed] = (await findUserWithEmail(store, id))?.attributes[EMAIL] ?? []
  return typeof sealed !== 'string' || vault.opens(id, sealed)
}

/** A server without the key does not start with such a workspace, but one may be created while it runs. */
function present(vault: EmailVault | undefined): EmailVault {
  if (vault) return vault
  throw new AppError(
    'unavailable',
    'This workspace encrypts emails, but the server was started without PII_KEY. Ask the operator to set it.',
  )
}
