// Preference history: the proofs of consent of one user, newest first, those of users merged into it included.
import { Type } from 'typebox'
import type { PreferenceChange } from '../core/preference.ts'
import { toIso } from '../core/time-value.ts'
import { listUserPreferenceChanges, type ChangesBefore } from '../store/preferences.ts'
import { listUserIds } from '../store/users.ts'
import { CustomerId, IsoTime, NoFields, Nullable, Strict, Text } from './fields.ts'
import { defineOperation } from './operation.ts'
import { OptInOutput, toOptInBody } from './opt-in-body.ts'
import { userWithCustomerId } from './preference-users.ts'

const LIMIT_MAX = 500
const LIMIT_DEFAULT = 50
const BEFORE_LENGTH_MAX = 64
/** What `next_before` holds: time, number and user of the last proof of a page. No date looks like it. */
const CURSOR = /^p([0-9a-z]{1,11})-([0-9a-z]{1,11})-([0-9a-z]{1,11})$/
const CURSOR_RADIX = 36

const ChangeOutput = Type.Object({
  at: IsoTime,
  by: Type.String({
    description:
      '`key:` and the tile of the API key, `link:` and the link in an email, or `merge` where the user turned out to ' +
      'be the same as another and has the newest decisions of both.',
  }),
  ip: Nullable(Type.String({ description: 'The address that sent the change; null where nobody did.' })),
  before: Type.Object(OptInOutput),
  after: Type.Object(OptInOutput),
})

export const listPreferenceChanges = defineOperation({
  name: 'list_preference_changes',
  summary: 'Preference history',
  description:
    'The proofs of consent of a user, newest first: when, by which key or link and from which address each change was ' +
    'made, and what held before and after. Where there are more, `next_before` stands beside `data`; sent as `before` ' +
    'it gives the next page.',
  group: 'Preferences',
  method: 'GET',
  url: '/v1.0/opt-in-management/user-preferences/history',
  tile: 'data',
  takesAppKey: true,
  limits: ['management_per_minute'],
  refusals: ['not_found'],
  path: NoFields,
  query: Strict({
    customer_id: CustomerId,
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT })),
    before: Type.Optional(Text(1, BEFORE_LENGTH_MAX, 'The `next_before` of the page before.')),
  }),
  body: null,
  faults({ query: { before } }) {
    if (before === undefined || parseBefore(before)) return []
    return [{ field: 'query.before', problem: 'must be the next_before of another page' }]
  },
  successStatus: 200,
  output: Type.Object({ data: Type.Array(ChangeOutput), next_before: Type.Optional(Type.String()) }),
  async handle({ workspace, query }, { database }) {
    const { limit = LIMIT_DEFAULT, before } = query
    const user = await userWithCustomerId(database, workspace, query.customer_id)
    const page = { before: before === undefined ? undefined : parseBefore(before), max: limit + 1 }
    const changes = await listUserPreferenceChanges(database, await listUserIds(database, user.id), page)
    const shown = changes.slice(0, limit)
    const last = changes.length > limit ? shown.at(-1) : undefined
    return { data: shown.map(toBody), ...(last && { next_before: toCursor(last) }) }
  },
})

function parseBefore(text: string): ChangesBefore | undefined {
  const parts = CURSOR.exec(text)?.slice(1) ?? []
  const [at = Number.NaN, number = Number.NaN, userId = Number.NaN] = parts.map((part) =>
    Number.parseInt(part, CURSOR_RADIX),
  )
  return [at, number, userId].every(Number.isSafeInteger) ? { at, number, userId } : undefined
}

function toCursor({ at, number, userId }: ChangesBefore): string {
  return `p${[at, number, userId].map((part) => part.toString(CURSOR_RADIX)).join('-')}`
}

function toBody({ at, by, ip, before, after }: PreferenceChange) {
  return { at: toIso(at), by, ip, before: toOptInBody(before), after: toOptInBody(after) }
}
