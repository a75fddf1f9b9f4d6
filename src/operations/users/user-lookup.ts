// Resolves the user that a query identifies: by customer id, by an identifier or, if the operation allows it, by email address.
import { Type } from 'typebox'
import { AppError, type Fault } from '../../core/app-error.ts'
import { EMAIL_LENGTH_MAX, isEmail } from '../../core/users/email-address.ts'
import { CUSTOMER_ID, USER_ID_LENGTH_MAX } from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { Store } from '../../store/store.ts'
import { findUser, findUserByEmail, type User } from '../../store/users/users.ts'
import { toEmailKey } from '../../actions/email-protection.ts'
import { CustomerId, Text } from '../fields.ts'
import type { Parts, Partially } from '../operation.ts'

/** Query fields of every operation that reads one user. */
export const LOOKUP_FIELDS = {
  customer_id: Type.Optional(CustomerId),
  identifier_name: Type.Optional(
    Text(1, USER_ID_LENGTH_MAX, 'Name of a configured identifier. Requires `identifier_value`.'),
  ),
  identifier_value: Type.Optional(Text(1, USER_ID_LENGTH_MAX, 'Value of the identifier.')),
}

/** Also for operations that find users by email address. */
export const EMAIL_FIELD = {
  email: Type.Optional(
    Text(
      1,
      EMAIL_LENGTH_MAX,
      'Case and outer spaces are ignored. If several users have the address, the oldest is returned.',
    ),
  ),
}

export interface LookupQuery {
  readonly customer_id?: string
  readonly identifier_name?: string
  readonly identifier_value?: string
  readonly email?: string
}

/** Each way to identify a user, with its fields. */
const WAYS: readonly (readonly (keyof LookupQuery)[])[] = [
  ['customer_id'],
  ['email'],
  ['identifier_name', 'identifier_value'],
]

/** The faults of a query that does not identify exactly one user. `takesEmail`: whether the operation has `EMAIL_FIELD`. */
export function lookupFaults(query: Partially<LookupQuery>, workspace: Workspace, takesEmail: boolean): Fault[] {
  const ways = takesEmail ? WAYS : WAYS.filter(([field]) => field !== 'email')
  const used = ways.filter((fields) => fields.some((field) => Object.hasOwn(query, field)))
  if (used.length === 0) {
    const names = ways.map((fields) => fields.join(' with ')).join(', ')
    return ways.flat().map((field) => toFault(field, `is missing; send exactly one of ${names}`))
  }
  const faults = [...identifierFaults(query, workspace), ...emailFaults(query, workspace)]
  if (used.length > 1) {
    const given = used.flat().filter((field) => Object.hasOwn(query, field))
    faults.push(...given.map((field) => toFault(field, 'must not be combined with another way to identify the user')))
  }
  return faults
}

/** The user that a valid query identifies; undefined if there is none. */
export async function findNamedUser(
  query: LookupQuery,
  workspace: Workspace,
  { database, emailVault }: Pick<Parts, 'emailVault'> & { readonly database: Store },
): Promise<User | undefined> {
  const { customer_id, identifier_name, identifier_value, email } = query
  if (customer_id !== undefined) return findUser(database, workspace.id, { name: CUSTOMER_ID, value: customer_id })
  if (identifier_name !== undefined && identifier_value !== undefined) {
    return findUser(database, workspace.id, { name: identifier_name, value: identifier_value })
  }
  return findUserByEmail(database, workspace.id, toEmailKey(workspace, email ?? '', emailVault))
}

function identifierFaults(query: Partially<LookupQuery>, { identityResolution }: Workspace): Fault[] {
  const [hasName, hasValue] = [Object.hasOwn(query, 'identifier_name'), Object.hasOwn(query, 'identifier_value')]
  if (!hasName && !hasValue) return []
  if (!hasName) return [toFault('identifier_name', 'is required when identifier_value is given')]
  const faults = hasValue ? [] : [toFault('identifier_value', 'is required when identifier_name is given')]
  const name = query.identifier_name
  if (name !== undefined && !identityResolution.includes(name)) {
    const known = identityResolution.length > 0 ? identityResolution.join(', ') : 'none'
    faults.push(toFault('identifier_name', `is not an identifier of this workspace; it has ${known}`))
  }
  return faults
}

function emailFaults({ email }: Partially<LookupQuery>, { emailProtection }: Workspace): Fault[] {
  if (email === undefined) return []
  if (emailProtection === 'tokenized') {
    return [toFault('email', 'cannot identify users, because this workspace stores no email addresses')]
  }
  return isEmail(email) ? [] : [toFault('email', 'must be an email address')]
}

function toFault(field: keyof LookupQuery, problem: string): Fault {
  return { field: `query.${field}`, problem }
}

/** No user has the id of the lookup. */
export function noSuchUser(): AppError {
  return new AppError('not_found', 'The workspace has no such user.')
}
