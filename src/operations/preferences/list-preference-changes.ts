// Preference history: returns the proofs of consent of one user and of the users merged into it, newest first.
import { Type } from 'typebox'
import { CUSTOMER_ID } from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import { listIdsOfNewestChanges, listUserPreferenceChanges, type ChangesPage } from '../../store/users/preferences.ts'
import type { Store } from '../../store/store.ts'
import { findUserId, listUserIds } from '../../store/users/users.ts'
import { CustomerId, NoFields, Strict, Text } from '../fields.ts'
import { runOnceApplied } from '../applied-entries.ts'
import { JsonText } from '../json-text.ts'
import { defineOperation } from '../operation.ts'
import { ChangeOutput, toChangeBody } from './change-body.ts'
import { BEFORE_LENGTH_MAX, PageCursor } from '../page-cursor.ts'
import { noSuchCustomer } from './preference-users.ts'
import { PAGE_SIZE_LIMIT, readPage } from '../read-page.ts'
import { queueUserRead } from '../users/queue-user-read.ts'

const LIMIT_MAX = 500
const LIMIT_DEFAULT = 50
const CURSOR = new PageCursor('p', ['at', 'number', 'userId'])

export const listPreferenceChanges = defineOperation({
  name: 'list_preference_changes',
  summary: 'Preference history',
  description:
    'Returns the proofs of consent of a user, newest first: when, by which key or link and from which address each ' +
    'change was made, and the preferences before and after. If there are more, the response has `next_before`: send it ' +
    `as \`before\` to get the next page. A page ends early if its proofs would exceed ${PAGE_SIZE_LIMIT} as JSON.`,
  group: 'Preferences',
  method: 'GET',
  url: '/v1.0/opt-in-management/user-preferences/history',
  requires: 'users.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: Strict({
    customer_id: CustomerId,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT, description: 'Proofs per page.' }),
    ),
    before: Type.Optional(Text(1, BEFORE_LENGTH_MAX, 'The `next_before` of the previous page.')),
  }),
  body: null,
  faults({ query: { before } }) {
    if (before === undefined || CURSOR.parse(before)) return []
    return [{ field: 'query.before', problem: 'must be the next_before of an earlier page' }]
  },
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({ data: Type.Array(ChangeOutput), next_before: Type.Optional(Type.String()) }),
  handle: ({ workspace, query }, parts) =>
    runOnceApplied(parts, () => queueUserRead(parts.queue, workspace, () => list(parts.database, workspace, query))),
})

interface Query {
  readonly customer_id: string
  readonly limit?: number
  readonly before?: string
}

async function list(database: Store, workspace: Workspace, query: Query): Promise<JsonText> {
  const { limit = LIMIT_DEFAULT } = query
  const before = query.before === undefined ? undefined : CURSOR.parse(query.before)
  const userId = await findUserId(database, workspace.id, { name: CUSTOMER_ID, value: query.customer_id })
  if (userId === undefined) throw noSuchCustomer()
  const all = await listUserIds(database, userId)
  // Read once for all portions. One more than requested shows whether another page follows.
  const userIds = await listIdsOfNewestChanges(database, all, { before, max: limit + 1 })
  const { items, last } = await readPage({
    before,
    limit,
    read: (portion: ChangesPage) => listUserPreferenceChanges(database, userIds, portion),
    write: (change) => JSON.stringify(toChangeBody(change)),
  })
  return JsonText.objectBeginningWith('data', items, last ? { next_before: CURSOR.write(last) } : {})
}
