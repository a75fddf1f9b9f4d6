// A workspace: one team's settings, with their defaults and limits. Parses settings and never stores them.
import type { Fault } from './app-error.ts'
import { textProblem } from './bounded-text.ts'
import {
  changeDeliverySetting,
  DELIVERY_SETTING_DEFAULTS,
  deliverySettingsByKey,
  type DeliverySettings,
  type SealFeedbackKey,
} from './delivery/delivery-settings.ts'
import { isUnambiguousZone } from './time-zone.ts'
import { CUSTOMER_ID } from './users/user.ts'

export const EMAIL_PROTECTIONS = ['none', 'tokenized', 'encrypted'] as const
export type EmailProtection = (typeof EMAIL_PROTECTIONS)[number]

/** The document's limits ("Limits"), one for test messages, and one for all other operations. */
export const LIMIT_DEFAULTS = {
  search_templates_per_minute: 100,
  fetch_coupon_lists_per_day: 10_000,
  track_events_per_minute: 30_000,
  update_preferences_per_minute: 1_000,
  update_preferences_per_day: 360_000,
  campaign_stats_per_minute: 100,
  campaign_tests_per_minute: 30,
  management_per_minute: 1_000,
} as const
export type LimitName = keyof typeof LIMIT_DEFAULTS
export type Limits = { readonly [name in LimitName]: number }

export interface WorkspaceSettings extends DeliverySettings {
  readonly name: string
  /** The IANA zone of calendar days and of times without a zone. */
  readonly timezone: string
  readonly suspended: boolean
  readonly emailProtection: EmailProtection
  /** The names of identifiers; empty if identity resolution is off. */
  readonly identityResolution: readonly string[]
  /** The most customer ids that a request may join into one user ("Identity resolution"). */
  readonly joinedCustomerIdsMax: number
  /** Empty if project grouping is off. */
  readonly projectCodes: readonly string[]
  /** Names of the active email preference categories. */
  readonly categories: readonly string[]
  /** How far in the future an event may be dated. */
  readonly clockSkewSeconds: number
  /** How many days events are kept after they happened; null: for ever. */
  readonly eventRetentionDays: number | null
  readonly limits: Limits
}

export interface Workspace extends WorkspaceSettings {
  readonly id: string
  readonly createdAt: number
  /** Of the hashes that decide the global control group. Never changes. */
  readonly globalControlSeed: string
  /** Signs the tokens in links of messages: a secret. Never changes. */
  readonly linkKey: string
}

const IDENTIFIER_NAMES_MAX = 5
const PROJECT_CODES_MAX = 1_000
export const CATEGORIES_MAX = 1_000
const NAME_LENGTH_MAX = 256
const LIMIT_MAX = 1_000_000_000
/** The pipeline counts the customer ids of users up to the setting. */
const JOINED_CUSTOMER_IDS_MAX = 10_000
export const CLOCK_SKEW_SECONDS_MAX = 24 * 60 * 60
const RETENTION_DAYS_MAX = 36_500

export const DEFAULT_SETTINGS: Omit<WorkspaceSettings, 'name'> = {
  timezone: 'UTC',
  suspended: false,
  emailProtection: 'none',
  identityResolution: [],
  joinedCustomerIdsMax: 20,
  projectCodes: [],
  categories: [],
  clockSkewSeconds: 300,
  eventRetentionDays: null,
  ...DELIVERY_SETTING_DEFAULTS,
  limits: LIMIT_DEFAULTS,
}

/** KEY → value: the settings by the names that operators know. */
export function settingsByKey({ limits, ...settings }: Omit<WorkspaceSettings, 'name'> & { readonly name?: string }) {
  const named = {
    name: settings.name,
    timezone: settings.timezone,
    suspended: settings.suspended,
    email_protection: settings.emailProtection,
    identity_resolution: settings.identityResolution,
    project_codes: settings.projectCodes,
    joined_customer_ids_max: settings.joinedCustomerIdsMax,
    categories: settings.categories,
    clock_skew_seconds: settings.clockSkewSeconds,
    'retention_days.events': settings.eventRetentionDays,
  }
  return new Map<string, unknown>([
    ...Object.entries(named),
    ...deliverySettingsByKey(settings),
    ...Object.entries(limits).map(([name, units]) => [`limits.${name}`, units] as const),
  ])
}

/** The keys that `changeSettings` knows; categories have commands of their own. */
export const SETTING_KEYS: readonly string[] = [...settingsByKey(DEFAULT_SETTINGS).keys()].filter(
  (key) => key !== 'categories',
)

/** The keys of the settings that differ. */
export function listChangedSettings(before: WorkspaceSettings, after: WorkspaceSettings): string[] {
  const earlier = settingsByKey(before)
  const isChanged = ([key, value]: [string, unknown]) => JSON.stringify(value) !== JSON.stringify(earlier.get(key))
  return [...settingsByKey(after)].filter(isChanged).map(([key]) => key)
}

/** Settings as `workspace set` accepts them: KEY → text. */
export type SettingTexts = Readonly<Record<string, string>>

/**
 * Applies `KEY=VALUE` texts to the settings. Returns the new settings and every fault (`field` is the key). With any fault, the
 * caller must not save. The caller checks rules that need the store, such as settings that are fixed once there are users. `seal`
 * encrypts keys of feedback; without it, they cannot be set.
 */
export function changeSettings(
  settings: WorkspaceSettings,
  texts: SettingTexts,
  seal?: SealFeedbackKey,
): { readonly settings: WorkspaceSettings; readonly faults: readonly Fault[] } {
  const faults: Fault[] = []
  let changed = settings
  for (const [key, text] of Object.entries(texts)) {
    const result = changeDeliverySetting(changed, { key, text, seal }) ?? changeOne(changed, key, text)
    if (typeof result === 'string') faults.push({ field: key, problem: result })
    else changed = result
  }
  const namesAddress = changed.identityResolution.some((name) => /e-?mail/i.test(name))
  if (changed.emailProtection !== 'none' && namesAddress) {
    const problem = 'must not include an email address while emails are tokenized or encrypted'
    faults.push({ field: 'identity_resolution', problem })
  }
  return { settings: changed, faults }
}

const UNNAMEABLE = 'must not be __proto__, which requests cannot contain'

/** The categories with one more, or the problem of the name. Adding an existing name changes nothing. */
export function appendCategory(categories: readonly string[], name: string): readonly string[] | string {
  const problem = textProblem(name, NAME_LENGTH_MAX)
  if (problem !== undefined) return problem
  if (name.trim() !== name) return 'must not start or end with a space'
  if (name === '__proto__') return UNNAMEABLE
  if (name === '.' || name === '..') return 'must not be . or .., which no URL can contain'
  if (categories.includes(name)) return categories
  if (categories.length >= CATEGORIES_MAX)
    return `cannot be added: a workspace has at most ${CATEGORIES_MAX} categories`
  return [...categories, name]
}

function changeOne(settings: WorkspaceSettings, key: string, text: string): WorkspaceSettings | string {
  if (key.startsWith('limits.')) return changeLimit(settings, key.slice('limits.'.length), text)
  switch (key) {
    case 'name':
      return textProblem(text, NAME_LENGTH_MAX) ?? { ...settings, name: text }
    case 'timezone':
      return isUnambiguousZone(text)
        ? { ...settings, timezone: text }
        : 'must be an IANA time zone, such as Europe/Berlin'
    case 'suspended':
      return text === 'true' || text === 'false' ? { ...settings, suspended: text === 'true' } : 'must be true or false'
    case 'email_protection': {
      const emailProtection = EMAIL_PROTECTIONS.find((protection) => protection === text)
      return emailProtection ? { ...settings, emailProtection } : `must be one of ${EMAIL_PROTECTIONS.join(', ')}`
    }
    case 'identity_resolution': {
      const names = toList(text)
      if (names.includes(CUSTOMER_ID)) return `must not include ${CUSTOMER_ID}, which always identifies users`
      if (names.includes('__proto__')) return UNNAMEABLE
      return listProblem(names, IDENTIFIER_NAMES_MAX) ?? { ...settings, identityResolution: names }
    }
    case 'project_codes': {
      const codes = toList(text)
      return listProblem(codes, PROJECT_CODES_MAX) ?? { ...settings, projectCodes: codes }
    }
    case 'joined_customer_ids_max': {
      const joinedCustomerIdsMax = toWhole(text, 1, JOINED_CUSTOMER_IDS_MAX)
      return joinedCustomerIdsMax === undefined
        ? `must be a whole number from 1 to ${JOINED_CUSTOMER_IDS_MAX}`
        : { ...settings, joinedCustomerIdsMax }
    }
    case 'clock_skew_seconds': {
      const seconds = toWhole(text, 0, CLOCK_SKEW_SECONDS_MAX)
      return seconds === undefined
        ? `must be a whole number from 0 to ${CLOCK_SKEW_SECONDS_MAX}`
        : { ...settings, clockSkewSeconds: seconds }
    }
    case 'retention_days.events': {
      const days = text === 'off' ? null : toWhole(text, 1, RETENTION_DAYS_MAX)
      return days === undefined
        ? `must be a whole number from 1 to ${RETENTION_DAYS_MAX}, or off`
        : { ...settings, eventRetentionDays: days }
    }
    default:
      return 'is not a workspace setting'
  }
}

function changeLimit(settings: WorkspaceSettings, name: string, text: string): WorkspaceSettings | string {
  if (!Object.hasOwn(LIMIT_DEFAULTS, name)) return 'is not a workspace limit'
  const units = toWhole(text, 1, LIMIT_MAX)
  if (units === undefined) return `must be a whole number from 1 to ${LIMIT_MAX}`
  return { ...settings, limits: { ...settings.limits, [name]: units } }
}

function toList(text: string): string[] {
  const items = text.split(',').map((item) => item.trim())
  return items.filter((item) => item !== '')
}

function listProblem(items: readonly string[], countMax: number): string | undefined {
  if (items.length > countMax) return `must have at most ${countMax} items`
  if (new Set(items).size < items.length) return 'must not repeat an item'
  return items.map((item) => textProblem(item, NAME_LENGTH_MAX)).find((problem) => problem !== undefined)
}

function toWhole(text: string, min: number, max: number): number | undefined {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : undefined
}
