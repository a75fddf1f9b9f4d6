// Read preferences: what holds now for one user, or for every user with an email address.
import { Type } from 'typebox'
import { toOptIn } from '../core/preference.ts'
import { toIso } from '../core/time-value.ts'
import type { NamedPreference } from '../store/preferences.ts'
import { IsoTime, NoFields, Nullable, Strict } from './fields.ts'
import { defineOperation } from './operation.ts'
import { OptInOutput, toOptInBody } from './opt-in-body.ts'
import { preferencesMeant, userIdFaults, UserIds } from './preference-users.ts'

const UserPreferencesOutput = Type.Object({
  customer_id: Nullable(Type.String({ description: 'Null for a user known by other identifiers alone.' })),
  ...OptInOutput,
  updated_at: Nullable(IsoTime),
})

export const readPreferences = defineOperation({
  name: 'read_preferences',
  summary: 'Read preferences',
  description:
    'The current email preferences of the user with a `customer_id`, or of every user with an `email_id`, oldest user ' +
    'first. Where nothing is set yet: `OPT_IN_PENDING`, no categories, `updated_at` null. Categories that the ' +
    'workspace no longer has are not shown.',
  group: 'Preferences',
  method: 'GET',
  url: '/v1.0/opt-in-management/user-preferences',
  tile: 'data',
  takesAppKey: true,
  limits: ['management_per_minute'],
  refusals: ['not_found', 'conflict'],
  path: NoFields,
  query: Strict({ customer_id: Type.Optional(UserIds.customer_id), email_id: Type.Optional(UserIds.email_id) }),
  body: null,
  faults: ({ workspace, query }) => userIdFaults(query, 'query', workspace),
  successStatus: 200,
  output: Type.Object({ data: Type.Array(UserPreferencesOutput) }),
  async handle({ workspace, query }, { database, emailVault }) {
    const active = new Set(workspace.categories)
    const data = []
    for await (const page of preferencesMeant(database, query, { workspace, emailVault })) {
      data.push(...page.map((known) => toBody(known, active)))
    }
    return { data: data.toReversed() }
  },
})

function toBody({ customerId, preference }: NamedPreference, active: ReadonlySet<string>) {
  const { updatedAt } = preference
  return {
    customer_id: customerId,
    ...toOptInBody(toOptIn(preference, active)),
    updated_at: updatedAt === null ? null : toIso(updatedAt),
  }
}
