// The settings of a workspace as JSON holds them: KEY → value. Converts them to the texts that `changeSettings` checks, and from
// settings. It checks nothing that `changeSettings` checks.
import type { Fault } from '../app-error.ts'
import { formatFrequencyCaps, isFeedbackSetting, SHOWN_KEY } from '../delivery/delivery-settings.ts'
import { SETTING_KEYS, settingsByKey, type SettingTexts, type WorkspaceSettings } from '../workspace.ts'

export type SettingValue = string | number | boolean | null | readonly string[]

/** Every setting of `SETTING_KEYS`. A secret is `set` or null: it never leaves the server. */
export function toSettingValues(settings: WorkspaceSettings): Readonly<Record<string, SettingValue>> {
  const values = settingsByKey(settings)
  return Object.fromEntries(SETTING_KEYS.map((key) => [key, toValue(key, values.get(key), settings)]))
}

function toValue(key: string, value: unknown, { frequencyCaps }: WorkspaceSettings): SettingValue {
  if (key === 'frequency_caps') return formatFrequencyCaps(frequencyCaps)
  if (isFeedbackSetting(key)) return value === undefined ? null : SHOWN_KEY
  return value as SettingValue
}

/** Values and items that have faults already are undefined. */
export type CheckedValue = Exclude<SettingValue, readonly string[]> | undefined | readonly (string | undefined)[]

/** Leaves out what has faults already. `field` of a fault is the key. */
export function toSettingTexts(values: Readonly<Record<string, CheckedValue>>): {
  readonly texts: SettingTexts
  readonly faults: readonly Fault[]
} {
  const given = Object.entries(values).flatMap(([key, value]) => (isWhole(value) ? [{ key, value }] : []))
  const divided = given.filter(({ value }) => Array.isArray(value) && value.some((item: string) => item.includes(',')))
  return {
    texts: Object.fromEntries(given.map(({ key, value }) => [key, toText(key, value)])),
    faults: divided.map(({ key }) => ({ field: key, problem: 'must have items without commas' })),
  }
}

function isWhole(value: CheckedValue): value is SettingValue {
  return Array.isArray(value) ? !value.includes(undefined) : value !== undefined
}

function toText(key: string, value: SettingValue): string {
  if (value === null) return canBeOff(key) ? 'off' : ''
  return Array.isArray(value) ? value.join(',') : String(value)
}

/** Whether null turns the setting off. A list is empty instead, and everything else must have a value. */
function canBeOff(key: string): boolean {
  return key === 'retention_days.events' || key === 'alert_sender_id' || isFeedbackSetting(key)
}
