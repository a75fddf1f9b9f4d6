// Get user: returns the newest attributes and identifiers of one user.
import { Type } from 'typebox'
import { NO_WARNINGS, type Warning } from '../../core/app-error.ts'
import { toIso } from '../../core/time-value.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findLastEventTime } from '../../store/users/events.ts'
import { IDENTIFIER_VALUES_MAX, listNewestIdentifiers } from '../../store/users/user-identities.ts'
import { countUsersWithEmail, listYoungestUserIds } from '../../store/users/users.ts'
import { toEmailKey } from '../../actions/email-protection.ts'
import { IsoTime, Nullable, Strict, WorkspacePath } from '../fields.ts'
import { defineOperation, type Parts } from '../operation.ts'
import { runOnceApplied } from '../applied-entries.ts'
import { queueUserRead } from './queue-user-read.ts'
import { toUserBody, UserOutput } from './user-body.ts'
import { EMAIL_FIELD, findNamedUser, LOOKUP_FIELDS, lookupFaults, noSuchUser, type LookupQuery } from './user-lookup.ts'
import { inDigits } from '../../core/in-digits.ts'
import { WarningsOutput, withWarnings } from '../warnings.ts'

/** The most users merged into this one, youngest first, whose events are searched for the last event. */
const MERGED_USERS_MAX = 10_000
/** The most users with one address that are counted for a warning. */
const SHARING_USERS_MAX = 1_000

export const getUser = defineOperation({
  name: 'get_user',
  summary: 'Get user',
  description:
    'Returns one user. Identify the user by exactly one of `customer_id`, `email`, or `identifier_name` with ' +
    '`identifier_value`. Every id the user ever had works; `email` does not if the workspace tokenizes emails. ' +
    `If an identifier has more than ${inDigits(IDENTIFIER_VALUES_MAX)} values, the newest of the first ` +
    `${inDigits(IDENTIFIER_VALUES_MAX)} in text order is shown. \`last_event_at\` covers the user's own id and the ids of the ` +
    `${inDigits(MERGED_USERS_MAX)} youngest users merged into it.`,
  group: 'Events and users',
  method: 'GET',
  url: '/v1/customer/:Workspace_ID',
  requires: 'users.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({ ...LOOKUP_FIELDS, ...EMAIL_FIELD }),
  body: null,
  faults: ({ query, workspace }) => lookupFaults(query, workspace, true),
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({ ...UserOutput, last_event_at: Nullable(IsoTime), warnings: WarningsOutput }),
  handle: ({ query, workspace }, parts) =>
    runOnceApplied(parts, () => queueUserRead(parts.queue, workspace, () => read(query, workspace, parts))),
})

async function read(query: LookupQuery, workspace: Workspace, parts: Parts) {
  const user = await findNamedUser(query, workspace, parts)
  if (!user) throw noSuchUser()
  const { database, emailVault } = parts
  // The first id is the user's own, or that of the user it was merged into meanwhile.
  const userIds = await listYoungestUserIds(database, user.id, MERGED_USERS_MAX)
  const identifiers = await listNewestIdentifiers(database, userIds[0] as number)
  const lastEventTime = await findLastEventTime(database, userIds)
  const warnings = await sharedEmailWarnings(query, workspace, parts)
  return {
    ...toUserBody(user, identifiers, { workspace, emailVault }),
    last_event_at: lastEventTime === null ? null : toIso(lastEventTime),
    ...withWarnings(parts, 'get_user', warnings),
  }
}

/** Warns that other users have the address of the query too. */
async function sharedEmailWarnings(
  { email }: LookupQuery,
  workspace: Workspace,
  { database, emailVault }: Parts,
): Promise<readonly Warning[]> {
  if (email === undefined) return NO_WARNINGS
  const key = toEmailKey(workspace, email, emailVault)
  const users = await countUsersWithEmail(database, workspace.id, key, SHARING_USERS_MAX + 1)
  if (users <= 1) return NO_WARNINGS
  const count = users > SHARING_USERS_MAX ? `more than ${inDigits(SHARING_USERS_MAX)}` : inDigits(users)
  const problem = `is the address of ${count} users, of whom this is the oldest; Read preferences lists all of them`
  return [{ kind: 'shared_email', field: 'query.email', problem }]
}
