// Read preferences: returns the current preferences of one user, or of every user with an email address.
import { Type } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import { toOptIn } from '../../core/users/preference.ts'
import { toIso } from '../../core/time-value.ts'
import { listPreferencesByEmail, type NamedPreference } from '../../store/users/preferences.ts'
import { findCategories } from '../../store/workspaces/workspaces.ts'
import { IsoTime, NoFields, Nullable, Strict, Text } from '../fields.ts'
import { runOnceApplied } from '../applied-entries.ts'
import { JsonText } from '../json-text.ts'
import { defineOperation, type OperationRequest, type Parts } from '../operation.ts'
import { OptInOutput, toOptInBody } from './opt-in-body.ts'
import { BEFORE_LENGTH_MAX, PageCursor } from '../page-cursor.ts'
import {
  emailKeyMeant,
  noSuchEmail,
  requirePreference,
  userIdFaults,
  type SentUserIds,
  UserIds,
  usersPerPortion,
} from './preference-users.ts'
import { PAGE_SIZE_LIMIT, readPage, type PageSource } from '../read-page.ts'
import { queueUserRead } from '../users/queue-user-read.ts'
import { inDigits } from '../../core/in-digits.ts'

/** More users than nearly any address has, so one response usually has all of them. */
const LIMIT_MAX = 10_000
const CURSOR = new PageCursor('u', ['userId'])

const UserPreferencesOutput = Type.Object({
  customer_id: Nullable(Type.String({ description: 'Null for a user known only by other identifiers.' })),
  ...OptInOutput,
  updated_at: Nullable(IsoTime),
})

export const readPreferences = defineOperation({
  name: 'read_preferences',
  summary: 'Read preferences',
  description:
    'Returns the current email preferences of the user with a `customer_id`, or of every user with an `email_id`, oldest ' +
    `user first. A response has at most ${inDigits(LIMIT_MAX)} users, or \`limit\`, and at most ${PAGE_SIZE_LIMIT} as ` +
    'JSON. If more users have the address, it has the newest of them and `next_before`: send that as `before` to get the ' +
    'older ones. A user without preferences has `OPT_IN_PENDING`, no categories and `updated_at` null. Categories that the ' +
    'workspace no longer has are omitted.',
  group: 'Preferences',
  method: 'GET',
  url: '/v1.0/opt-in-management/user-preferences',
  requires: 'users.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: Strict({
    customer_id: Type.Optional(UserIds.customer_id),
    email_id: Type.Optional(UserIds.email_id),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_MAX, description: 'Users per page.' }),
    ),
    before: Type.Optional(Text(1, BEFORE_LENGTH_MAX, 'The `next_before` of the previous page.')),
  }),
  body: null,
  faults: ({ workspace, query }) => [...userIdFaults(query, 'query', workspace), ...beforeFaults(query.before)],
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({ data: Type.Array(UserPreferencesOutput), next_before: Type.Optional(Type.String()) }),
  handle: (request, parts) => runOnceApplied(parts, () => read(request, parts)),
})

type Request = OperationRequest<object, Query, unknown>

interface Query extends SentUserIds {
  readonly limit?: number
  readonly before?: string
}

async function read({ workspace, query }: Request, { database, emailVault, queue }: Parts): Promise<JsonText> {
  const { limit = LIMIT_MAX, before } = query
  const active = await findCategories(database, workspace.id)
  const write = (preference: NamedPreference) => JSON.stringify(toBody(preference, active))
  const emailKey = emailKeyMeant(query, { workspace, emailVault })
  if (emailKey === undefined) {
    return JsonText.objectBeginningWith('data', [write(await requirePreference(database, workspace, query))], {})
  }
  // Reads the newest user first. A merge goes into the older user, so if two users are merged between two portions or pages, the
  // response shows both rather than neither.
  const source: PageSource<{ readonly userId: number }, NamedPreference> = {
    before: before === undefined ? undefined : CURSOR.parse(before),
    limit,
    portionMax: usersPerPortion(workspace),
    read: ({ before: last, max }) => {
      return listPreferencesByEmail(database, workspace.id, emailKey, { before: last?.userId, max })
    },
    write,
  }
  const { items, last } = await queueUserRead(queue, workspace, () => readPage(source))
  if (items.length === 0 && before === undefined) throw noSuchEmail()
  return JsonText.objectBeginningWith('data', items.toReversed(), last ? { next_before: CURSOR.write(last) } : {})
}

function beforeFaults(before: string | undefined): Fault[] {
  if (before === undefined || CURSOR.parse(before)) return []
  return [{ field: 'query.before', problem: 'must be the next_before of an earlier page' }]
}

function toBody({ customerId, preference }: NamedPreference, active: ReadonlySet<string>) {
  const { updatedAt } = preference
  return {
    customer_id: customerId,
    ...toOptInBody(toOptIn(preference, active)),
    updated_at: updatedAt === null ? null : toIso(updatedAt),
  }
}
