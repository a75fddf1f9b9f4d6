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
  made: 'Made',
  madeBy: 'by',
  unknown: 'not known',
  lastUsed: 'Last used',
  oldKey: 'Old key',
  oldKeyUntil: 'valid until',
  generate: 'Generate new key',
  warning:
    'Every program that uses the current key must get the new one. Without an overlap, its requests fail with 401 from this moment on.',
  overlap: 'The old key stays valid for',
  overlaps: [
    { value: '0', label: 'no time: it ends now' },
    { value: '1', label: '1 hour' },
    { value: '4', label: '4 hours' },
    { value: '24', label: '24 hours' },
  ],
  shownOnce: 'This is the new key. Copy it now: nobody can show it again.',
  done: 'I have copied it',
  tryIt: 'Try it',
  curlLead: 'This tracks an event of the user ada. Put a key in place of KEY.',
  curlNew: 'This tracks an event of the user ada with the new key.',
}
