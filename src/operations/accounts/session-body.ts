// A session on the wire: who signed in, and which role they have in which workspace.
import { Type } from 'typebox'
import { roleIn } from '../../core/accounts/person.ts'
import { ROLES } from '../../core/accounts/role.ts'
import { toIso } from '../../core/time-value.ts'
import { findPersonById } from '../../store/accounts/people.ts'
import { listGrants } from '../../store/accounts/person-roles.ts'
import type { Store } from '../../store/store.ts'
import { listWorkspaces } from '../../store/workspaces/workspaces.ts'
import { IsoTime, OneOf } from '../fields.ts'
import { accountRemoved } from './person-of.ts'

const PersonOutput = Type.Object({
  person_id: Type.String(),
  email: Type.String(),
  name: Type.String(),
  has_totp: Type.Boolean({ description: 'Whether signing in also takes a code.' }),
  created_at: IsoTime,
})

export const SessionOutput = Type.Object({
  session_id: Type.String(),
  is_secure: Type.Boolean({ description: 'False over plain http: others on the way can read and use the session.' }),
  person: PersonOutput,
  workspaces: Type.Array(
    Type.Object({
      workspace_id: Type.String(),
      name: Type.String(),
      timezone: Type.String(),
      suspended: Type.Boolean(),
      role: OneOf(ROLES),
    }),
    { description: 'The workspaces in which the person has a role, oldest first.' },
  ),
})

export interface ShownSession {
  readonly sessionId: string
  readonly personId: string
  readonly isSecure: boolean
}

/** Throws AppError `unauthorized` if the person was removed a moment ago. */
export async function readSessionBody(store: Store, { sessionId, personId, isSecure }: ShownSession) {
  const person = await findPersonById(store, personId)
  if (!person) throw accountRemoved()
  const grants = await listGrants(store, person.number)
  const workspaces = (await listWorkspaces(store)).flatMap(({ workspace }) => {
    const role = roleIn(grants, workspace.id)
    return role ? [{ workspace, role }] : []
  })
  return {
    session_id: sessionId,
    is_secure: isSecure,
    person: {
      person_id: person.id,
      email: person.email,
      name: person.name,
      has_totp: person.hasTotp,
      created_at: toIso(person.createdAt),
    },
    workspaces: workspaces.map(({ workspace, role }) => ({
      workspace_id: workspace.id,
      name: workspace.name,
      timezone: workspace.timezone,
      suspended: workspace.suspended,
      role,
    })),
  }
}
