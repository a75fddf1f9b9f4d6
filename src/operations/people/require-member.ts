// Finds a person who has a role in a workspace, or refuses.
import { Type } from 'typebox'
import { AppError } from '../../core/app-error.ts'
import { EVERY_WORKSPACE, roleIn, type RoleGrant } from '../../core/accounts/person.ts'
import type { Role } from '../../core/accounts/role.ts'
import { findPersonById, type StoredPerson } from '../../store/accounts/people.ts'
import { listGrants } from '../../store/accounts/person-roles.ts'
import type { Store } from '../../store/store.ts'
import { Strict, Text, WorkspacePath } from '../fields.ts'

const PERSON_ID_LENGTH_MAX = 64

export const MemberPath = Strict({
  ...WorkspacePath.properties,
  person_id: Text(1, PERSON_ID_LENGTH_MAX, 'As List people shows it.'),
})

export const PersonIdOutput = Type.Object({ person_id: Type.String() })

export interface WorkspaceMember {
  readonly person: StoredPerson
  readonly grants: readonly RoleGrant[]
  /** In the workspace. */
  readonly role: Role
}

/** Throws AppError `not_found` if nobody with this id has a role in the workspace. */
export async function requireMember(store: Store, workspaceId: string, personId: string): Promise<WorkspaceMember> {
  const person = await findPersonById(store, personId)
  const grants = person ? await listGrants(store, person.number) : []
  const role = roleIn(grants, workspaceId)
  if (person && role) return { person, grants, role }
  throw new AppError('not_found', 'No person with this id has a role in the workspace.')
}

/** A member as the audit trail names it. */
export function subjectOf({ person }: Pick<WorkspaceMember, 'person'>) {
  return { kind: 'person', id: person.id, name: person.email } as const
}

/** Throws AppError `conflict` if the role is one for every workspace: an owner of one workspace must not change it. */
export function refuseRoleEverywhere({ grants }: WorkspaceMember): void {
  if (!grants.some(({ workspaceId }) => workspaceId === EVERY_WORKSPACE)) return
  const how = 'Change it with the command `tidings person`.'
  throw new AppError('conflict', `This person has a role in every workspace of the server. ${how}`)
}
