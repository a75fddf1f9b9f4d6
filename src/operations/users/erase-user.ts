// Erase user: deletes everything that Tidings stores of a person, and keeps the numbers of campaigns.
import { recordChange } from '../../actions/audit/record-change.ts'
import { eraseMessages } from '../../actions/delivery/erase-messages.ts'
import { Type } from 'typebox'
import { toActorName } from '../../core/accounts/credential.ts'
import { AppError } from '../../core/app-error.ts'
import { toIso } from '../../core/time-value.ts'
import { erasePerson, removeErasedEvents } from '../../statistics/deletions/erase-person.ts'
import { lockTables } from '../../store/entries/lock-tables.ts'
import type { Store } from '../../store/store.ts'
import { findErasure } from '../../store/users/erasures.ts'
import { lockPreferences } from '../../store/users/preferences.ts'
import { countUsersWithEmail } from '../../store/users/users.ts'
import { toEmailKey } from '../../actions/email-protection.ts'
import { IsoTime, Strict, WorkspacePath } from '../fields.ts'
import { defineOperation, type OperationRequest, type Parts } from '../operation.ts'
import { EMAIL_FIELD, findNamedUser, LOOKUP_FIELDS, lookupFaults, noSuchUser, type LookupQuery } from './user-lookup.ts'

/** How long the request deletes events. A job deletes the rest. */
const DELETE_MS_MAX = 2_000

export const eraseUser = defineOperation({
  name: 'erase_user',
  summary: 'Erase user',
  description:
    'Erases one person: attributes, addresses, identities, preferences, events, and what was reported to campaigns. Identify the ' +
    'user as in Get user. Everything that was acknowledged before is erased too; what is sent later makes a new user. The ' +
    'statistics of campaigns keep their numbers. The proofs of consent stay for evidence, without addresses, and are found by the ' +
    'customer id alone (List erasures). An address that is opted out by `email_id` stays opted out. The log keeps processed ' +
    'requests for an hour more, warnings of requests quote ids for seven days, and backups keep what they hold. The ' +
    'response is the receipt: `status` is `deleting_events` while many events are still being deleted.',
  group: 'Events and users',
  method: 'DELETE',
  url: '/v1/customer/:Workspace_ID',
  requires: 'users.write',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({ ...LOOKUP_FIELDS, ...EMAIL_FIELD }),
  body: null,
  faults: ({ query, workspace }) => lookupFaults(query, workspace, true),
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: Type.Object({
    erasure_id: Type.String(),
    erased_at: IsoTime,
    status: Type.Unsafe<'complete' | 'deleting_events'>({ type: 'string', enum: ['complete', 'deleting_events'] }),
    events: Type.Integer({ description: 'How many events are deleted so far.' }),
    proofs: Type.Integer({ description: 'How many proofs of consent are kept.' }),
  }),
  async handle(request, parts) {
    // What was acknowledged before must not come back when it is processed.
    await parts.appliedEntries.wait()
    const id = await parts.database.write((store) => eraseIn(store, request, parts))
    const giveUpAt = performance.now() + DELETE_MS_MAX
    while (performance.now() < giveUpAt && (await removeErasedEvents(parts.database, id)));
    const erasure = await findErasure(parts.database, id)
    if (!erasure) throw new Error('an erasure is missing that was just stored')
    return {
      erasure_id: id,
      erased_at: toIso(erasure.erasedAt),
      status: erasure.isComplete ? ('complete' as const) : ('deleting_events' as const),
      events: erasure.events,
      proofs: erasure.proofs.length,
    }
  },
})

async function eraseIn(
  store: Store,
  request: OperationRequest<object, LookupQuery, unknown>,
  { emailVault }: Parts,
): Promise<string> {
  const { query, workspace, credential, now } = request
  await lockTables(store)
  await lockPreferences(store, [workspace.id])
  if (query.email !== undefined) {
    const users = await countUsersWithEmail(store, workspace.id, toEmailKey(workspace, query.email, emailVault), 2)
    if (users > 1) throw isShared()
  }
  const user = await findNamedUser(query, workspace, { database: store, emailVault })
  if (!user) throw noSuchUser()
  await eraseMessages(store, user)
  const id = await erasePerson(store, user, { by: toActorName(credential), now })
  // Nothing of the person: the erasure is what is left.
  await recordChange(store, request, { kind: 'erasure', id, action: 'erase_user', after: { erased_at: toIso(now) } })
  return id
}

function isShared(): AppError {
  const details = [{ field: 'query.email', problem: 'belongs to more than one user' }]
  return new AppError('conflict', 'Several users have this email address. Erase each by its customer id.', details)
}
