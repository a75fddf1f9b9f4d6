// Whose preferences a request is about: the user with a customer id, or every user with an email address ("Both ids").
import { AppError, type Fault } from '../../core/app-error.ts'
import { isEmail } from '../../core/users/email-address.ts'
import { CUSTOMER_ID } from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findPreferenceOf, type NamedPreference } from '../../store/users/preferences.ts'
import type { Store } from '../../store/store.ts'
import { toEmailKey } from '../../actions/email-protection.ts'
import { CustomerId, Text } from '../fields.ts'
import type { Parts } from '../operation.ts'

/** Users whose preferences are changed or read at once: some 10 ms, which is how long others have to wait. */
const USERS_PER_PORTION = 500
/**
 * Where a workspace has many or long categories, a portion has fewer users, because each user has all categories, and the proof
 * of a change has them twice. 600 users with 1,000 categories of 250 characters, 500 at a time, kept others waiting for 7 s, at
 * 1.5 GB.
 */
const CATEGORY_CHARACTERS_PER_PORTION = 1024 * 1024
/** Longer than any address, so that spaces around one do no harm. */
const EMAIL_TEXT_LENGTH_MAX = 1_024

/** The two ways to name users; `email_id` decides where both are given. */
export const UserIds = {
  customer_id: CustomerId,
  email_id: Text(0, EMAIL_TEXT_LENGTH_MAX, 'Email address of the users. Case and outer spaces are ignored.'),
}

/** The ids as they were sent; what the schema refused is undefined, what was not sent is not there. */
export interface SentUserIds {
  readonly customer_id?: string | undefined
  readonly email_id?: string | undefined
}

/** What is wrong with the ids at the path `at`, such as `query`. */
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

/** The faults where one of two members is needed, and neither was sent. */
export function eitherRequired(at: string, one: string, other: string): Fault[] {
  return [
    { field: `${at}.${one}`, problem: `is required when ${other} is not given` },
    { field: `${at}.${other}`, problem: `is required when ${one} is not given` },
  ]
}

/** For valid ids, the key of the address whose users they mean; undefined where they mean the user with the customer id. */
export function emailKeyMeant(
  { email_id: email }: SentUserIds,
  { workspace, emailVault }: Pick<Parts, 'emailVault'> & { readonly workspace: Workspace },
): string | undefined {
  if (email === undefined || workspace.emailProtection === 'tokenized') return undefined
  return toEmailKey(workspace, email, emailVault)
}

/** How many users of one address are changed or read at once. */
export function usersPerPortion({ categories }: Workspace): number {
  const characters = categories.reduce((sum, name) => sum + name.length, 0)
  const users = Math.floor(CATEGORY_CHARACTERS_PER_PORTION / Math.max(1, characters))
  return Math.max(1, Math.min(USERS_PER_PORTION, users))
}

/** The preferences of the user with the customer id among valid ids. Throws `not_found`. */
export async function requirePreference(
  store: Store,
  workspace: Workspace,
  { customer_id: value }: SentUserIds,
): Promise<NamedPreference> {
  const found = await findPreferenceOf(store, workspace.id, { name: CUSTOMER_ID, value: value as string })
  if (!found) throw noSuchCustomer()
  return found
}

/** The refusal where an address finds nobody. */
export function noSuchEmail(): AppError {
  return new AppError('not_found', 'The workspace has no user with this email_id.')
}

/** The refusal where a customer id finds nobody. */
export function noSuchCustomer(): AppError {
  return new AppError('not_found', 'The workspace has no user with this customer_id.')
}
