// The words of Settings.

export const settingsText = {
  title: 'Settings',
  tabs: {
    workspace: 'Workspace',
    apis: 'APIs',
    system: 'System',
    limits: 'Limits',
    senders: 'Senders',
    suppressions: 'Suppressions',
    people: 'People',
    audit: 'Audit',
    account: 'Your account',
  },
}

export const apisText = {
  title: 'APIs',
  lead: 'Programs call Tidings with the workspace id and one of two keys.',
  workspaceId: 'Workspace ID',
  workspaceIdLead: 'The user name of every request.',
  tiles: {
    data: {
      title: 'Data',
      lead: 'Tracks events and users, reads users and consent, and writes email templates.',
    },
    reports: {
      title: 'Campaign report / Business events / Custom templates / Catalog API / Inform Report',
      lead: 'Coupon lists, campaigns and their statistics, segments, senders.',
    },
  },
  made: 'Created',
  madeBy: 'by',
  unknown: 'unknown',
  lastUsed: 'Last used',
  oldKey: 'Old key',
  oldKeyUntil: 'valid until',
  generate: 'Generate new key',
  warning:
    'Every program that uses the current key needs the new one. Without an overlap, its requests fail with 401 from now on.',
  overlap: 'The old key stays valid for',
  overlaps: [
    { value: '0', label: 'no overlap: it ends now' },
    { value: '1', label: '1 hour' },
    { value: '4', label: '4 hours' },
    { value: '24', label: '24 hours' },
  ],
  shownOnce: 'This is the new key. Copy it now: it is never shown again.',
  done: 'I have copied it',
  tryIt: 'Try it',
  curlLead:
    'This tracks an event for the user ada. Replace KEY with the key of “Data”; with the other key you get 403.',
  curlNew: 'This tracks an event for the user ada with the new key.',
}
