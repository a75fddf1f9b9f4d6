// The settings of a workspace as the fields of the form hold them, and as requests send them. The server checks them.
import type { AnswerOf, AskedOf } from '../../../data/contracts.ts'
import { toLines } from '../../../components/controls/lines.ts'
import { workspaceText } from '../../../texts/settings/workspace-settings.ts'

export type WorkspaceBody = AnswerOf<'GET', '/v1/workspaces/:Workspace_ID'>
export type SentSettings = AskedOf<'PATCH', '/v1/workspaces/:Workspace_ID'>['body']['settings']

export type LimitSetting = keyof typeof workspaceText.limitNames
export const LIMIT_SETTINGS = Object.keys(workspaceText.limitNames) as LimitSetting[]

/** Everything but whether the workspace is suspended is a text. */
type TextSetting =
  | 'name'
  | 'timezone'
  | 'email_protection'
  | 'joined_customer_ids_max'
  | 'clock_skew_seconds'
  | 'retention_days.events'
  | 'global_control_percent'
  | 'alert_sender_id'
  | LimitSetting
type LinesSetting = 'identity_resolution' | 'project_codes' | 'frequency_caps'

export type FormValues = { readonly [Name in TextSetting | LinesSetting]: string } & { readonly suspended: boolean }

export const SETTING_LABELS: { readonly [Name in keyof FormValues]: string } = {
  name: workspaceText.name,
  timezone: workspaceText.timezone,
  suspended: workspaceText.suspended,
  email_protection: workspaceText.email_protection,
  joined_customer_ids_max: workspaceText.joined_customer_ids_max,
  clock_skew_seconds: workspaceText.clock_skew_seconds,
  'retention_days.events': workspaceText.retention,
  global_control_percent: workspaceText.global_control_percent,
  alert_sender_id: workspaceText.alert_sender_id,
  identity_resolution: workspaceText.identity_resolution,
  project_codes: workspaceText.project_codes,
  frequency_caps: workspaceText.frequency_caps,
  ...workspaceText.limitNames,
}

const LINES: ReadonlySet<string> = new Set<LinesSetting>(['identity_resolution', 'project_codes', 'frequency_caps'])
/** Empty turns them off. */
const CAN_BE_OFF: ReadonlySet<string> = new Set<TextSetting>(['retention_days.events', 'alert_sender_id'])

export function toFormValues({ settings }: WorkspaceBody): FormValues {
  const names = Object.keys(SETTING_LABELS) as (keyof FormValues)[]
  return Object.fromEntries(names.map((name) => [name, toField(settings[name])])) as unknown as FormValues
}

function toField(value: string | number | boolean | readonly string[] | null): string | boolean {
  if (typeof value === 'boolean') return value
  return Array.isArray(value) ? value.join('\n') : String(value ?? '')
}

export function toSettings(changes: Partial<FormValues>): SentSettings {
  return Object.fromEntries(
    Object.entries(changes).map(([name, value]) => {
      if (typeof value !== 'string') return [name, value]
      if (LINES.has(name)) return [name, toLines(value)]
      return [name, value === '' && CAN_BE_OFF.has(name) ? null : value]
    }),
  )
}
