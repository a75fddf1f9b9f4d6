// Valid values for the settings of a workspace, and its categories.
import { describe, expect, it } from 'vitest'
import {
  appendCategory,
  changeSettings,
  DEFAULT_SETTINGS,
  SETTING_KEYS,
  type WorkspaceSettings,
} from '../../src/core/workspace.ts'

const SETTINGS: WorkspaceSettings = { ...DEFAULT_SETTINGS, name: 'test' }

describe('A setting', () => {
  const refused: [key: string, value: string][] = [
    ['limits.management_per_minute', '0'],
    ['limits.management_per_minute', '1000000001'],
    ['clock_skew_seconds', '86401'],
    ['retention_days.events', '0'],
    ['retention_days.events', ''],
    ['joined_customer_ids_max', '0'],
    ['joined_customer_ids_max', '10001'],
    ['identity_resolution', 'a,b,c,d,e,f'],
    ['identity_resolution', 'a,a'],
    ['identity_resolution', 'customer_id'],
    ['identity_resolution', '__proto__'],
    ['project_codes', 'shop,shop'],
    ['global_control_percent', '15.01'],
    ['global_control_percent', '-1'],
    ['frequency_caps', '1/1d,2/2d,3/3d,4/4d,5/5d,6/6d'],
    ['frequency_caps', '0/1d'],
    ['frequency_caps', '1/366d'],
    ['frequency_caps', '1/7'],
    ['frequency_caps', '1/7d,2/7d'],
    ['alert_sender_id', ''],
    ['feedback.ses_topic', 'arn:aws:sqs:eu-west-1:123456789012:topic'],
    ['feedback.postmark_key', 'user'],
    ['feedback.postmark_key', ':password'],
    ['feedback.postmark_key', 'user:'],
    ['feedback.sendgrid_key', ''],
    ['feedback.mailgun_key', 'no key to encrypt with'],
    ['feedback.mailgun_key', 'without-a-vault'],
    ['suspended', 'TRUE'],
    ['timezone', 'BST'],
  ]
  it.each(refused)('%s must not be %s', (key, value) => {
    const { settings, faults } = changeSettings(SETTINGS, { [key]: value })
    expect(faults.map(({ field }) => field)).toEqual([key])
    expect(settings).toEqual(SETTINGS)
  })

  const taken: [key: string, value: string, changed: Partial<WorkspaceSettings>][] = [
    ['clock_skew_seconds', '86400', { clockSkewSeconds: 86_400 }],
    ['joined_customer_ids_max', '10000', { joinedCustomerIdsMax: 10_000 }],
    ['identity_resolution', 'a,b,c,d,e', { identityResolution: ['a', 'b', 'c', 'd', 'e'] }],
    ['retention_days.events', '365', { eventRetentionDays: 365 }],
    ['retention_days.events', 'off', { eventRetentionDays: null }],
    ['global_control_percent', '15', { globalControlPercent: 15 }],
    ['global_control_percent', '2.5', { globalControlPercent: 2.5 }],
    [
      'frequency_caps',
      '1/1d, 3/7d',
      {
        frequencyCaps: [
          { count: 1, days: 1 },
          { count: 3, days: 7 },
        ],
      },
    ],
    ['frequency_caps', '', { frequencyCaps: [] }],
    ['alert_sender_id', 'off', { alertSenderId: null }],
    ['suspended', 'true', { suspended: true }],
    ['timezone', 'Europe/London', { timezone: 'Europe/London' }],
  ]
  it.each(taken)('%s may be %s', (key, value, changed) => {
    expect(changeSettings(SETTINGS, { [key]: value })).toEqual({ settings: { ...SETTINGS, ...changed }, faults: [] })
  })

  it('that is a key of feedback is sealed, and removed by off', () => {
    const seal = (key: string, text: string) => `sealed ${key} ${text}`
    const { settings, faults } = changeSettings(SETTINGS, { 'feedback.mailgun_key': 'key-1' }, seal)
    expect(faults).toEqual([])
    expect(settings.feedbackKeys).toEqual({ mailgun_key: 'sealed mailgun_key key-1' })
    expect(changeSettings(settings, { 'feedback.mailgun_key': 'off' }).settings.feedbackKeys).toEqual({})
  })

  it('for Postmark holds user and password, which may have colons', () => {
    const seal = (_key: string, text: string) => text
    const { settings } = changeSettings(SETTINGS, { 'feedback.postmark_key': 'user:pass:word' }, seal)
    expect(settings.feedbackKeys).toEqual({ postmark_key: 'user:pass:word' })
  })

  it.each(['joined_customer_ids_max', 'retention_days.events', 'global_control_percent', 'feedback.ses_topic'])(
    '%s is one that `workspace set` knows',
    (key) => expect(SETTING_KEYS).toContain(key),
  )

  it('must not make an email address an identifier while emails are protected', () => {
    const texts = { email_protection: 'tokenized', identity_resolution: 'work_e-mail' }
    expect(changeSettings(SETTINGS, texts).faults.map(({ field }) => field)).toEqual(['identity_resolution'])
  })
})

describe('The categories of a workspace', () => {
  it('number at most a thousand', () => {
    const many = Array.from({ length: 999 }, (_, index) => `c${index}`)
    expect(appendCategory(many, 'last')).toHaveLength(1_000)
    expect(appendCategory([...many, 'last'], 'one more')).toMatch(/at most 1000/)
  })

  it.each(['', ' x', '__proto__', '.', '..', 'x\u200b'])('must not have the name %j', (name) => {
    expect(appendCategory([], name)).toMatch(/^must/)
  })
})
