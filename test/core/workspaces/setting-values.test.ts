// Settings as JSON shows them, and the texts that JSON values stand for.
import { describe, expect, it } from 'vitest'
import { changeSettings, DEFAULT_SETTINGS, SETTING_KEYS, type WorkspaceSettings } from '../../../src/core/workspace.ts'
import { toSettingTexts, toSettingValues, type SettingValue } from '../../../src/core/workspaces/setting-values.ts'

const PLAIN: WorkspaceSettings = { ...DEFAULT_SETTINGS, name: 'Shop' }
const CHANGED: WorkspaceSettings = {
  ...PLAIN,
  timezone: 'Europe/Berlin',
  suspended: true,
  emailProtection: 'tokenized',
  identityResolution: ['crm', 'card'],
  projectCodes: ['a', 'b'],
  categories: ['News'],
  clockSkewSeconds: 0,
  eventRetentionDays: 30,
  globalControlPercent: 2.5,
  frequencyCaps: [
    { count: 1, days: 1 },
    { count: 3, days: 7 },
  ],
  alertSenderId: '00000000-0000-7000-8000-000000000000',
  feedbackKeys: { mailgun_key: 'sealed' },
}

describe('Settings as JSON', () => {
  it('have a member for each setting, and never a secret', () => {
    const values = toSettingValues(CHANGED)
    expect(Object.keys(values)).toEqual(SETTING_KEYS)
    expect(values).toMatchObject({
      suspended: true,
      identity_resolution: ['crm', 'card'],
      'retention_days.events': 30,
      frequency_caps: ['1/1d', '3/7d'],
      'feedback.mailgun_key': 'set',
      'feedback.sendgrid_key': null,
      'limits.management_per_minute': 1_000,
    })
    expect(JSON.stringify(values)).not.toContain('sealed')
  })

  it.each([PLAIN, CHANGED])('change nothing when they are sent back as they are', (settings) => {
    const { texts, faults } = toSettingTexts(toSettingValues(settings))
    expect(faults).toEqual([])
    expect(changeSettings(settings, texts)).toEqual({ settings, faults: [] })
  })

  it('become the default when all members of other settings are those of new ones', () => {
    const { 'feedback.mailgun_key': _, ...values } = toSettingValues(PLAIN)
    const { texts } = toSettingTexts({ ...values, 'feedback.mailgun_key': null })
    expect(changeSettings(CHANGED, texts).settings).toEqual({ ...PLAIN, categories: ['News'] })
  })

  it.each<[key: string, value: SettingValue, text: string]>([
    ['name', 'Shop', 'Shop'],
    ['name', null, ''],
    ['suspended', false, 'false'],
    ['clock_skew_seconds', 60, '60'],
    ['global_control_percent', 2.5, '2.5'],
    ['limits.management_per_minute', 1e21, '1e+21'],
    ['limits.management_per_minute', null, ''],
    ['project_codes', [], ''],
    ['project_codes', null, ''],
    ['identity_resolution', ['a', 'b'], 'a,b'],
    ['frequency_caps', null, ''],
    ['frequency_caps', ['1/1d', '3/7d'], '1/1d,3/7d'],
    ['retention_days.events', null, 'off'],
    ['alert_sender_id', null, 'off'],
    ['feedback.ses_topic', null, 'off'],
    ['feedback.ses_topic', ['arn:1', 'arn:2'], 'arn:1,arn:2'],
  ])('%s as %j is the text %j', (key, value, text) => {
    expect(toSettingTexts({ [key]: value })).toEqual({ texts: { [key]: text }, faults: [] })
  })

  it('must not have an item that the text would divide', () => {
    expect(toSettingTexts({ project_codes: ['a,b'] }).faults).toEqual([
      { field: 'project_codes', problem: 'must have items without commas' },
    ])
  })

  it('leave a key of feedback alone where they show that it is set, and refuse that where there is none', () => {
    expect(changeSettings(CHANGED, { 'feedback.mailgun_key': 'set' })).toEqual({ settings: CHANGED, faults: [] })
    const fields = changeSettings(PLAIN, { 'feedback.mailgun_key': 'set' }).faults.map(({ field }) => field)
    expect(fields).toEqual(['feedback.mailgun_key'])
  })
})
