// The settings of a workspace that are about campaigns that Tidings sends. Parses them and never stores them.

/** At most `count` messages in any `days` × 24 hours. */
export interface FrequencyCap {
  readonly count: number
  readonly days: number
}

/** The keys with which mail services prove that their feedback is theirs, without the `feedback.` of their settings. */
export const FEEDBACK_KEYS = ['sendgrid_key', 'mailgun_key', 'postmark_key', 'ses_topic'] as const
export type FeedbackKey = (typeof FEEDBACK_KEYS)[number]

/** What responses show in place of a key of feedback. Sent back, it leaves the key as it is. */
export const SHOWN_KEY = 'set'

export interface DeliverySettings {
  /** The part of all people, in percent, to whom no campaign is sent that respects the global control group. */
  readonly globalControlPercent: number
  readonly frequencyCaps: readonly FrequencyCap[]
  /** The sender of alerts of coupon lists; null: no alerts are sent. */
  readonly alertSenderId: string | null
  /** Encrypted; `store/workspaces/feedback-keys.ts` opens them. */
  readonly feedbackKeys: { readonly [key in FeedbackKey]?: string }
}

export const DELIVERY_SETTING_DEFAULTS: DeliverySettings = {
  globalControlPercent: 0,
  frequencyCaps: [],
  alertSenderId: null,
  feedbackKeys: {},
}

export type SealFeedbackKey = (key: FeedbackKey, text: string) => string

const GLOBAL_CONTROL_PERCENT_MAX = 15
const FREQUENCY_CAPS_MAX = 5
const CAP_COUNT_MAX = 1_000
const CAP_DAYS_MAX = 365
const SENDER_ID = /^[0-9a-f-]{36}$/
const FEEDBACK_PREFIX = 'feedback.'
const FEEDBACK_KEY_LENGTH_MAX = 1_024
const SES_TOPICS_MAX = 10
const SES_TOPIC = /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}$/

/** The settings by the names that operators know. */
export function deliverySettingsByKey(settings: DeliverySettings): readonly (readonly [string, unknown])[] {
  return [
    ['global_control_percent', settings.globalControlPercent],
    ['frequency_caps', settings.frequencyCaps],
    ['alert_sender_id', settings.alertSenderId],
    ...FEEDBACK_KEYS.map((key) => [FEEDBACK_PREFIX + key, settings.feedbackKeys[key]] as const),
  ]
}

/** The items of the setting, as `workspace set` takes them. */
export function formatFrequencyCaps(caps: readonly FrequencyCap[]): string[] {
  return caps.map(({ count, days }) => `${count}/${days}d`)
}

/** Whether a setting is a key of feedback, which is stored encrypted. */
export function isFeedbackSetting(key: string): boolean {
  return FEEDBACK_KEYS.some((name) => FEEDBACK_PREFIX + name === key)
}

export interface DeliverySettingChange {
  readonly key: string
  readonly text: string
  readonly seal: SealFeedbackKey | undefined
}

/** The changed settings, or the problem of the text; undefined if the key is none of these settings. */
export function changeDeliverySetting<Settings extends DeliverySettings>(
  settings: Settings,
  { key, text, seal }: DeliverySettingChange,
): Settings | string | undefined {
  const feedbackKey = FEEDBACK_KEYS.find((name) => FEEDBACK_PREFIX + name === key)
  if (feedbackKey) return changeFeedbackKey(settings, feedbackKey, { text, seal })
  switch (key) {
    case 'global_control_percent': {
      const percent = /^\d{1,2}(?:\.\d{1,2})?$/.test(text) ? Number(text) : Number.NaN
      return percent <= GLOBAL_CONTROL_PERCENT_MAX
        ? { ...settings, globalControlPercent: percent }
        : `must be a number from 0 to ${GLOBAL_CONTROL_PERCENT_MAX}, with at most two decimals`
    }
    case 'frequency_caps': {
      const frequencyCaps = parseFrequencyCaps(text)
      return typeof frequencyCaps === 'string' ? frequencyCaps : { ...settings, frequencyCaps }
    }
    case 'alert_sender_id': {
      if (text === 'off') return { ...settings, alertSenderId: null }
      return SENDER_ID.test(text) ? { ...settings, alertSenderId: text } : 'must be the id of a sender, or off'
    }
    default:
      return undefined
  }
}

const CAP = /^(?<count>\d{1,4})\/(?<days>\d{1,3})d$/

function parseFrequencyCaps(text: string): FrequencyCap[] | string {
  if (text.trim() === '' || text === 'off') return []
  const caps = text.split(',').map((part) => CAP.exec(part.trim())?.groups)
  if (caps.length > FREQUENCY_CAPS_MAX) return `must have at most ${FREQUENCY_CAPS_MAX} items`
  const parsed = caps.map((groups) => ({ count: Number(groups?.['count']), days: Number(groups?.['days']) }))
  const isValid = ({ count, days }: FrequencyCap) =>
    count >= 1 && count <= CAP_COUNT_MAX && days >= 1 && days <= CAP_DAYS_MAX
  if (!parsed.every(isValid)) {
    return `must be caps such as 1/1d,3/7d: 1 to ${CAP_COUNT_MAX} messages in 1 to ${CAP_DAYS_MAX} days`
  }
  const isRepeated = new Set(parsed.map(({ days }) => days)).size < parsed.length
  return isRepeated ? 'must have one cap for each number of days' : parsed
}

function changeFeedbackKey<Settings extends DeliverySettings>(
  settings: Settings,
  key: FeedbackKey,
  { text, seal }: Omit<DeliverySettingChange, 'key'>,
): Settings | string {
  const { [key]: stored, ...others } = settings.feedbackKeys
  // As responses show a key that is stored.
  if (text === SHOWN_KEY) return stored === undefined ? 'must be the key itself: none is stored yet' : settings
  if (text === 'off') return { ...settings, feedbackKeys: others }
  const problem = feedbackKeyProblem(key, text)
  if (problem !== undefined) return problem
  if (!seal) return 'can be set only when SECRET_KEY is set, because it is stored encrypted'
  return { ...settings, feedbackKeys: { ...others, [key]: seal(key, text) } }
}

function feedbackKeyProblem(key: FeedbackKey, text: string): string | undefined {
  if (!/^[!-~]+$/.test(text) || text.length > FEEDBACK_KEY_LENGTH_MAX) {
    return `must be 1 to ${FEEDBACK_KEY_LENGTH_MAX} visible ASCII characters, or off`
  }
  if (key === 'postmark_key' && !/^[^:]+:./.test(text)) return 'must be a user and a password with a colon between them'
  if (key === 'sendgrid_key' && !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) {
    return 'must be the verification key that SendGrid shows, in base64'
  }
  if (key !== 'ses_topic') return undefined
  const topics = toFeedbackTopics(text)
  if (topics.length > SES_TOPICS_MAX) return `must have at most ${SES_TOPICS_MAX} topics`
  return topics.every((topic) => SES_TOPIC.test(topic)) ? undefined : 'must be ARNs of SNS topics, separated by commas'
}

/** The ARNs in an opened `ses_topic`. */
export function toFeedbackTopics(text: string): string[] {
  return text.split(',').map((topic) => topic.trim())
}
