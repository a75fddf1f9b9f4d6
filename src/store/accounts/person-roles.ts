// The table of roles: which role a person has in a workspace, or in every one.
import { toRole, type Role } from '../../core/accounts/role.ts'
import { EVERY_WORKSPACE, type RoleGrant } from '../../core/accounts/person.ts'
import type { SqlTypes, Store } from '../store.ts'

interface PersonRoleRow {
  /** `people.number`. */
  person: number
  /** A workspace, or `EVERY_WORKSPACE`. */
  workspace_id: string
  role: string
}

declare module '../tables.ts' {
  interface Tables {
    person_roles: PersonRoleRow
  }
}

export async function createPersonRoles({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('person_roles')
    .addColumn('person', integer, (column) => column.notNull())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('role', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('person_roles_by_person', ['person', 'workspace_id'])
    .modifyEnd(clustered)
    .execute()
  await query.schema.createIndex('person_roles_by_workspace').on('person_roles').column('workspace_id').execute()
}

export async function listGrants({ query }: Store, person: number): Promise<RoleGrant[]> {
  const rows = await query
    .selectFrom('person_roles')
    .select(['workspace_id', 'role'])
    .where('person', '=', person)
    .orderBy('workspace_id')
    .execute()
  return rows.map(toGrant)
}

export interface PersonGrant extends RoleGrant {
  /** `people.number`. */
  readonly person: number
}

/** The grants that hold in a workspace, those for every workspace among them. */
export async function listGrantsIn({ query }: Store, workspaceId: string): Promise<PersonGrant[]> {
  const rows = await query
    .selectFrom('person_roles')
    .selectAll()
    .where('workspace_id', 'in', [workspaceId, EVERY_WORKSPACE])
    .orderBy('person')
    .execute()
  return rows.map((row) => ({ person: row.person, ...toGrant(row) }))
}

/** Replaces the role for the same workspace. */
export async function saveGrant({ query }: Store, person: number, { workspaceId, role }: RoleGrant): Promise<void> {
  await query
    .insertInto('person_roles')
    .values({ person, workspace_id: workspaceId, role })
    .onConflict((conflict) => conflict.columns(['person', 'workspace_id']).doUpdateSet({ role }))
    .execute()
}

export async function removeGrant({ query }: Store, person: number, workspaceId: string): Promise<void> {
  await query.deleteFrom('person_roles').where('person', '=', person).where('workspace_id', '=', workspaceId).execute()
}

function toGrant({ workspace_id: workspaceId, role }: Pick<PersonRoleRow, 'workspace_id' | 'role'>): RoleGrant {
  return { workspaceId, role: toRole(role) as Role }
}
