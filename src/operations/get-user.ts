// Get user: what is known of one user, with the newest value of everything.
import { Type } from 'typebox'
import { AppError } from '../core/app-error.ts'
import { toIso } from '../core/time-value.ts'
import { CUSTOMER_ID } from '../core/user.ts'
import { findLastEventTime } from '../store/events.ts'
import { listIdentities } from '../store/user-identities.ts'
import { listUserIds } from '../store/users.ts'
import { shownAttributes } from './email-protection.ts'
import { IsoTime, Nullable, Strict, WorkspacePath } from './fields.ts'
import { defineOperation } from './operation.ts'
import { EMAIL_FIELD, findNamedUser, LOOKUP_FIELDS, lookupFaults } from './user-lookup.ts'

export const getUser = defineOperation({
  name: 'get_user',
  summary: 'Get user',
  description:
    'What is known of one user, found by `customer_id`, by `email`, or by `identifier_name` with `identifier_value`: ' +
    'exactly one of these. A user is found by every id it ever had. Not by `email` where emails are tokenized.',
  group: 'Events and users',
  method: 'GET',
  url: '/v1/customer/:Workspace_ID',
  tile: 'data',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({ ...LOOKUP_FIELDS, ...EMAIL_FIELD }),
  body: null,
  faults: ({ query, workspace }) => lookupFaults(query, workspace, true),
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    customer_id: Nullable(Type.String()),
    attributes: Type.Record(Type.String(), Type.Unknown()),
    user_identifiers: Type.Record(Type.String(), Type.String(), { description: 'Name and newest value of each.' }),
    created_at: IsoTime,
    last_event_at: Nullable(IsoTime),
  }),
  async handle({ query, workspace }, parts) {
    const user = await findNamedUser(query, workspace, parts)
    if (!user) throw new AppError('not_found', 'There is no such user.')
    const { database, emailVault } = parts
    // The first is the user's own, or that of the one it was merged into since.
    const userIds = await listUserIds(database, user.id)
    const identities = await listIdentities(database, userIds[0] as number)
    const identifiers = identities.filter(({ name }) => name !== CUSTOMER_ID)
    const lastEventTime = await findLastEventTime(database, userIds)
    return {
      customer_id: user.customerId,
      attributes: shownAttributes(workspace, user, emailVault),
      // Of several values of one name the newest comes last, and stays.
      user_identifiers: Object.fromEntries(identifiers.map(({ name, value }) => [name, value])),
      created_at: toIso(user.createdAt),
      last_event_at: lastEventTime === null ? null : toIso(lastEventTime),
    }
  },
})
