// The settings of a workspace on the wire: schemas of the members in requests and responses, and conversion of both. A member has the
// name of its setting, such as `limits.management_per_minute`.
import { Type, type Static, type TInteger, type TSchema } from 'typebox'
import { AppError, invalidRequest, type Fault } from '../../core/app-error.ts'
import { FEEDBACK_KEYS, SHOWN_KEY, type FeedbackKey } from '../../core/delivery/delivery-settings.ts'
import { memberPath } from '../../core/field-path.ts'
import { toIso } from '../../core/time-value.ts'
import { EMAIL_PROTECTIONS, LIMIT_DEFAULTS, type LimitName } from '../../core/workspace.ts'
import { toSettingTexts, toSettingValues, type SettingValue } from '../../core/workspaces/setting-values.ts'
import type { StoredWorkspace } from '../../store/workspaces/workspaces.ts'
import { IsoTime, Nullable, OneOf } from '../fields.ts'
import type { Partially } from '../operation.ts'

const Secret = Nullable(OneOf([SHOWN_KEY], 'Only whether there is one: it is stored encrypted, and never answered.'))

const SETTINGS = {
  name: Type.String(),
  timezone: Type.String({ description: 'IANA. Fixed once there are statistics.' }),
  suspended: Type.Boolean(),
  email_protection: OneOf(EMAIL_PROTECTIONS, 'Fixed once there are users, and while entries are parked.'),
  identity_resolution: Type.Array(Type.String(), { description: 'Names of identifiers. Empty: off.' }),
  project_codes: Type.Array(Type.String(), { description: 'Empty: off.' }),
  joined_customer_ids_max: Type.Integer(),
  clock_skew_seconds: Type.Integer(),
  'retention_days.events': Nullable(Type.Integer({ description: 'Null: events are kept for ever.' })),
  global_control_percent: Type.Number(),
  frequency_caps: Type.Array(Type.String(), { description: 'Such as `1/1d`: 1 message in any 24 hours.' }),
  alert_sender_id: Nullable(Type.String({ description: 'Null: coupon lists send no alerts.' })),
  ...(membersOf('feedback', FEEDBACK_KEYS, Secret) as { [key in FeedbackKey as `feedback.${key}`]: typeof Secret }),
  ...(membersOf('limits', Object.keys(LIMIT_DEFAULTS), Type.Integer()) as {
    [name in LimitName as `limits.${name}`]: TInteger
  }),
}

export type SettingName = keyof typeof SETTINGS

const SettingInput = Type.Unsafe<SettingValue>({
  type: ['string', 'number', 'boolean', 'array', 'null'],
  items: { type: 'string' },
})

/** Each setting as the response has it, or as the text that `tidings workspace set` takes. */
export const SettingsInput = Type.Unsafe<{ readonly [name in SettingName]?: SettingValue }>(
  Type.Object(Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, Type.Optional(SettingInput)])), {
    additionalProperties: false,
    minProperties: 1,
    description:
      'The settings to change. Each is a value as the response has it, or the text that `tidings workspace set` takes. ' +
      'Null turns off what can be off.',
  }),
)

export const WorkspaceOutput = Type.Object({
  workspace_id: Type.String(),
  settings: Type.Object(SETTINGS),
  created_at: IsoTime,
  revision: Type.Integer({ description: 'Grows with each change of settings, keys or categories.' }),
})

export function toWorkspaceBody({ workspace, revision }: StoredWorkspace) {
  return {
    workspace_id: workspace.id,
    settings: toSettingValues(workspace),
    created_at: toIso(workspace.createdAt),
    revision,
  }
}

/** The texts of sent settings, and the faults of values that have none. */
export function readSettings(settings: Partially<Static<typeof SettingsInput>> = {}) {
  return toSettingTexts(settings)
}

/** Faults whose field is a setting, as faults of the request. */
export function inSettings(faults: readonly Fault[]): Fault[] {
  return faults.map(({ field, problem }) => ({ field: memberPath('settings', field), problem }))
}

export function refuseSettings(faults: readonly Fault[]): AppError {
  return invalidRequest(inSettings(faults))
}

function membersOf(prefix: string, names: readonly string[], schema: TSchema): Record<string, TSchema> {
  return Object.fromEntries(names.map((name) => [`${prefix}.${name}`, schema]))
}
