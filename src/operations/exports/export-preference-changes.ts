// Export preference changes: streams the proofs of consent of all users of a workspace.
import { Type } from 'typebox'
import type { PreferenceChange } from '../../core/users/preference.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findPreferenceChanges, listChangeKeysAfter, type ChangeCursor } from '../../store/users/preferences.ts'
import { findShownCustomers, listAllUserIdsAfter } from '../../store/users/exported-users.ts'
import type { Store } from '../../store/store.ts'
import { NoFields, Nullable, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { PageCursor } from '../page-cursor.ts'
import { ChangeOutput, toChangeBody } from '../preferences/change-body.ts'
import { usersPerPortion } from '../preferences/preference-users.ts'
import { After, afterFaults, EXPORT_RULES, ExportCursor } from './export-cursor.ts'
import { LINES_TYPE, streamLines } from './line-stream.ts'

const CURSOR = new PageCursor('z', ['userId', 'at', 'number'])
/** Users whose proofs are looked for in one statement. */
const USERS_AT_ONCE = 500

export const exportPreferenceChanges = defineOperation({
  name: 'export_preference_changes',
  summary: 'Export proofs of consent',
  description:
    'Streams the proofs of consent of all users, as Preference history shows them, user by user and each of them oldest ' +
    'first, with the `customer_id` of the user: null if the user is known only by other identifiers. The proofs of a merged ' +
    `user come by themselves, with the id of the user that it was merged into. ${EXPORT_RULES}`,
  group: 'Preferences',
  method: 'GET',
  url: '/v1.0/opt-in-management/user-preferences/export',
  requires: 'users.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: Strict({ after: After }),
  body: null,
  faults: ({ query: { after } }) => afterFaults(after, CURSOR),
  successStatus: 200,
  outputType: LINES_TYPE,
  output: Type.Object({ customer_id: Nullable(Type.String()), ...ChangeOutput.properties, cursor: ExportCursor }),
  async handle({ workspace, query }, { database, exportSlots: slots }) {
    const after = query.after === undefined ? undefined : CURSOR.parse(query.after)
    return streamLines({ slots, workspaceId: workspace.id }, changesAfter(database, workspace, after))
  },
})

async function* changesAfter(
  database: Store,
  workspace: Workspace,
  start: ChangeCursor | undefined,
): AsyncGenerator<readonly string[]> {
  // The user of the cursor may have more.
  for (let afterUser = start ? start.userId - 1 : 0; ;) {
    const userIds = await listAllUserIdsAfter(database, workspace.id, { after: afterUser, max: USERS_AT_ONCE })
    const customers = await findShownCustomers(database, userIds)
    for await (const changes of changesOf(database, workspace, { userIds, start })) {
      yield changes.map((change) => writeLine(change, customers.get(change.userId)?.customerId ?? null))
    }
    if (userIds.length < USERS_AT_ONCE) return
    afterUser = userIds.at(-1) as number
  }
}

/** The proofs of some users, as many at a time as fit into memory: each holds all categories twice. */
async function* changesOf(
  database: Store,
  workspace: Workspace,
  { userIds, start }: { readonly userIds: readonly number[]; readonly start: ChangeCursor | undefined },
): AsyncGenerator<readonly PreferenceChange[]> {
  const max = usersPerPortion(workspace)
  for (let after = start; ;) {
    const keys = await listChangeKeysAfter(database, userIds, { after, max })
    yield await findPreferenceChanges(database, keys)
    if (keys.length < max) return
    after = keys.at(-1)
  }
}

function writeLine(change: PreferenceChange, customerId: string | null): string {
  return JSON.stringify({ customer_id: customerId, ...toChangeBody(change), cursor: CURSOR.write(change) })
}
