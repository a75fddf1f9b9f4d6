// Whose preferences a request is about: the user with a customer id, or every user with an email address ("Both ids").
import { AppError, type Fault } from '../core/app-error.ts'
import { isEmail } from '../core/email-address.ts'
import { CUSTOMER_ID } from '../core/user.ts'
import type { Workspace } from '../core/workspace.ts'
import { findPreferenceOf, listPreferencesByEmail, type NamedPreference } from '../store/preferences.ts'
import type { Store } from '../store/store.ts'
import { toEmailKey } from './email-protection.ts'
import { CustomerId, Text } from './fields.ts'
import type { Parts } from './operation.ts'

/** Users that one address may stand for: all of them change or are shown in one step, which must end. */
export const USERS_PER_EMAIL_MAX = 10_000
const USERS_PER_PAGE = 500
/** Longer than any address, so that spaces around one do no harm. */
const EMAIL_TEXT_LENGTH_MAX = 1_024

/** The two ways to name users; `email_id` decides where both are given. */
export const UserIds = {
  customer_id: CustomerId,
  email_id: Text(0, EMAIL_TEXT_LENGTH_MAX, 'Their email address, matched without case and outer spaces.'),
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
    const problem = 'finds nobody, for this workspace stores no email addresses: pass customer_id'
    return hasCustomerId ? [] : [{ field, problem }]
  }
  return ids.email_id === undefined || isEmail(ids.email_id) ? [] : [{ field, problem: 'must be an email address' }]
}

/** Neither of two members was sent, of which one is needed. */
export function eitherRequired(at: string, one: string, other: string): Fault[] {
  return [
    { field: `${at}.${one}`, problem: `is required where ${other} is not given` },
    { field: `${at}.${other}`, problem: `is required where ${one} is not given` },
  ]
}

/**
 * The preferences of everybody meant by valid ids, in pages, newest user first. Throws `not_found` when there is nobody,
 * `conflict` when there are too many.
 */
export async function* preferencesMeant(
  store: Store,
  ids: SentUserIds,
  { workspace, emailVault }: Pick<Parts, 'emailVault'> & { readonly workspace: Workspace },
): AsyncGenerator<readonly NamedPreference[]> {
  const { customer_id: customerId, email_id: email } = ids
  if (email === undefined || workspace.emailProtection === 'tokenized') {
    const found = await findPreferenceOf(store, workspace.id, { name: CUSTOMER_ID, value: customerId as string })
    if (!found) throw noSuchCustomer()
    yield [found]
    return
  }
  const emailKey = toEmailKey(workspace, email, emailVault)
  let count = 0
  let page: readonly NamedPreference[]
  let before: number | undefined
  do {
    page = await listPreferencesByEmail(store, workspace.id, emailKey, { before, max: USERS_PER_PAGE })
    count += page.length
    if (count === 0) throw new AppError('not_found', 'No user has this email_id.')
    if (count > USERS_PER_EMAIL_MAX) throw tooManyUsers()
    yield page
    before = page.at(-1)?.userId
  } while (page.length === USERS_PER_PAGE)
}

/** The refusal where a customer id finds nobody. */
export function noSuchCustomer(): AppError {
  return new AppError('not_found', 'There is no user with this customer_id.')
}

function tooManyUsers(): AppError {
  const message = `More than ${USERS_PER_EMAIL_MAX} users have this email_id; name each by its customer_id.`
  return new AppError('conflict', message)
}
