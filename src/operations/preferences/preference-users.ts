// Resolves whose preferences a request reads or changes: the user with a customer id, or all users with an email address ("Both
// ids").
import { AppError, type Fault } from '../../core/app-error.ts'
import { isEmail } from '../../core/users/email-address.ts'
import { CUSTOMER_ID } from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findPreferenceOf, type NamedPreference } from '../../store/users/preferences.ts'
import type { Store } from '../../store/store.ts'
import { toEmailKey } from '../../actions/email-protection.ts'
import { CustomerId, Text } from '../fields.ts'
import type { Parts } from '../operation.ts'

/** Users whose preferences are read or changed in one statement: takes some 10 ms, while other requests wait. */
const USERS_PER_PORTION = 500
/**
 * If a workspace has many or long categories, a portion has fewer users: each user has all categories, and each proof has them
 * twice. 500 users at a time with 1,000 categories of 250 characters blocked other requests for 7 s and took 1.5 GB.
 */
const CATEGORY_CHARACTERS_PER_PORTION = 1024 * 1024
/** Longer than any address, so that an address may have spaces around it. */
const EMAIL_TEXT_LENGTH_MAX = 1_024

/** The two ways to identify users. `email_id` takes precedence. */
export const UserIds = {
  customer_id: CustomerId,
  email_id: Text(0, EMAIL_TEXT_LENGTH_MAX, 'Email address of the users. Case and outer spaces are ignored.'),
}

/** The ids as sent: undefined if the schema refused one, absent if it was not sent. */
export interface SentUserIds {
  readonly customer_id?: string | undefined
  readonly email_id?: string | undefined
}

/** The faults of the ids at the path `at`, such as `query`. */
export function userIdFaults(ids: SentUserIds, at: string, { emailProtection }: Workspace): Fault[] {
  const hasCustomerId = Object.hasOwn(ids, 'customer_id')
  const field = `${at}.email_id`
  if (!Object.hasOwn(ids, 'email_id')) return hasCustomerId ? [] : eitherRequired(at, 'customer_id', 'email_id')
  if (emailProtection === 'tokenized') {
    const problem = 'cannot identify users, because this workspace stores no email addresses; send customer_id'
    return hasCustomerId ? [] : [{ field, problem }]
  }
  return ids.email_id === undefined || isEmail(ids.email_id) ? [] : [{ field, problem: 'must be an email address' }]
}

/** The faults if neither of two members was sent, and one is required. */
export function eitherRequired(at: string, one: string, other: string): Fault[] {
  return [
    { field: `${at}.${one}`, problem: `is required when ${other} is not given` },
    { field: `${at}.${other}`, problem: `is required when ${one} is not given` },
  ]
}

/** For valid ids: the key of the address that identifies the users; undefined if the customer id does. */
export function emailKeyMeant(
  { email_id: email }: SentUserIds,
  { workspace, emailVault }: Pick<Parts, 'emailVault'> & { readonly workspace: Workspace },
): string | undefined {
  if (email === undefined || workspace.emailProtection === 'tokenized') return undefined
  return toEmailKey(workspace, email, emailVault)
}

/** How many users of one address are read or changed in one statement. */
export function usersPerPortion({ categories }: Workspace): number {
  const characters = categories.reduce((sum, name) => sum + name.length, 0)
  const users = Math.floor(CATEGORY_CHARACTERS_PER_PORTION / Math.max(1, characters))
  return Math.max(1, Math.min(USERS_PER_PORTION, users))
}

/** The preferences of the user with the customer id. Throws AppError `not_found`. */
export async function requirePreference(
  store: Store,
  workspace: Workspace,
  { customer_id: value }: SentUserIds,
): Promise<NamedPreference> {
  const found = await findPreferenceOf(store, workspace.id, { name: CUSTOMER_ID, value: value as string })
  if (!found) throw noSuchCustomer()
  return found
}

/** No user has the address. */
export function noSuchEmail(): AppError {
  return new AppError('not_found', 'The workspace has no user with this email_id.')
}

/** No user has the customer id. */
export function noSuchCustomer(): AppError {
  return new AppError('not_found', 'The workspace has no user with this customer_id.')
}
