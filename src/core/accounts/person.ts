// People who sign in at the dashboard. A person has an address, a password, and a role in each of some workspaces.
import { isEmail } from '../users/email-address.ts'
import { textProblem } from '../bounded-text.ts'
import type { Role } from './role.ts'

export const PERSON_NAME_LENGTH_MAX = 128
/** People of one server. */
export const PEOPLE_MAX = 10_000
/** Stands for every workspace, also those to come, where a role needs one. No workspace has this id. */
export const EVERY_WORKSPACE = '*'

export interface PersonAccount {
  readonly number: number
  readonly id: string
  /** As it was written. Two people never have addresses that are equal when normalised. */
  readonly email: string
  readonly name: string
  /** Whether signing in also takes a code. */
  readonly hasTotp: boolean
  readonly createdAt: number
}

/** A role in one workspace, or in every one (`EVERY_WORKSPACE`). */
export interface RoleGrant {
  readonly workspaceId: string
  readonly role: Role
}

/** The role in a workspace: the one for this workspace, else the one for every workspace, else none. */
export function roleIn(grants: readonly RoleGrant[], workspaceId: string): Role | undefined {
  const grantFor = (id: string) => grants.find((grant) => grant.workspaceId === id)?.role
  return grantFor(workspaceId) ?? grantFor(EVERY_WORKSPACE)
}

/** The problem of an address of a person; undefined if it is right. */
export function personEmailProblem(email: string): string | undefined {
  return isEmail(email) ? undefined : 'must be an email address'
}

export function personNameProblem(name: string): string | undefined {
  return name.trim() === '' ? 'must not be empty' : textProblem(name, PERSON_NAME_LENGTH_MAX)
}
