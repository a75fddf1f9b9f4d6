// List people: returns who has a role in the workspace, and the invitations that are open.
import { Type } from 'typebox'
import { INVITATIONS_MAX } from '../../core/accounts/access-link.ts'
import { EVERY_WORKSPACE, PEOPLE_MAX, roleIn } from '../../core/accounts/person.ts'
import { ROLES } from '../../core/accounts/role.ts'
import { toIso } from '../../core/time-value.ts'
import { listInvitations } from '../../store/accounts/access-links.ts'
import { listPeopleIn } from '../../store/accounts/people.ts'
import { listGrantsIn } from '../../store/accounts/person-roles.ts'
import { findLastSeen } from '../../store/accounts/sessions.ts'
import { IsoTime, NoFields, Nullable, OneOf, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'

export const listPeople = defineOperation({
  name: 'list_people',
  summary: 'List people',
  description: 'Returns everybody who has a role in the workspace, and the invitations that are open.',
  group: 'People and sessions',
  method: 'GET',
  url: '/v1/workspaces/:Workspace_ID/people',
  requires: 'people.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: NoFields,
  body: null,
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        person_id: Type.String(),
        email: Type.String(),
        name: Type.String(),
        role: OneOf(ROLES),
        is_everywhere: Type.Boolean({ description: 'Whether the person has the role in every workspace.' }),
        has_totp: Type.Boolean({ description: 'Whether signing in also takes a code.' }),
        created_at: IsoTime,
        last_seen_at: Nullable(IsoTime),
      }),
      { maxItems: PEOPLE_MAX },
    ),
    invitations: Type.Array(
      Type.Object({ email: Type.String(), role: OneOf(ROLES), created_at: IsoTime, expires_at: IsoTime }),
      { maxItems: INVITATIONS_MAX },
    ),
  }),
  async handle({ workspace, now }, { database }) {
    const grantsOf = Map.groupBy(await listGrantsIn(database, workspace.id), ({ person }) => person)
    const people = await listPeopleIn(database, [...grantsOf.keys()])
    const lastSeen = await findLastSeen(
      database,
      people.map(({ number }) => number),
    )
    const data = people.flatMap((person) => {
      const own = grantsOf.get(person.number) ?? []
      const role = roleIn(own, workspace.id)
      const seenAt = lastSeen.get(person.number)
      const shown = {
        person_id: person.id,
        email: person.email,
        name: person.name,
        is_everywhere: own.every(({ workspaceId }) => workspaceId === EVERY_WORKSPACE),
        has_totp: person.hasTotp,
        created_at: toIso(person.createdAt),
        last_seen_at: seenAt === undefined ? null : toIso(seenAt),
      }
      return role ? [{ ...shown, role }] : []
    })
    const invitations = (await listInvitations(database, workspace.id, now)).flatMap((link) => {
      const { email, role } = link
      const times = { created_at: toIso(link.createdAt), expires_at: toIso(link.expiresAt) }
      return email !== null && role !== null ? [{ email, role, ...times }] : []
    })
    return { data, invitations }
  },
})
