// The settings of a workspace as commands print them.
import { FEEDBACK_KEYS, formatFrequencyCaps } from '../../core/delivery/delivery-settings.ts'
import { toIso } from '../../core/time-value.ts'
import type { Workspace } from '../../core/workspace.ts'

export function toSettingsBody(workspace: Workspace) {
  return {
    workspace_id: workspace.id,
    name: workspace.name,
    timezone: workspace.timezone,
    suspended: workspace.suspended,
    email_protection: workspace.emailProtection,
    identity_resolution: workspace.identityResolution,
    joined_customer_ids_max: workspace.joinedCustomerIdsMax,
    project_codes: workspace.projectCodes,
    categories: workspace.categories,
    clock_skew_seconds: workspace.clockSkewSeconds,
    retention_days: { events: workspace.eventRetentionDays },
    global_control_percent: workspace.globalControlPercent,
    global_control_seed: workspace.globalControlSeed,
    frequency_caps: formatFrequencyCaps(workspace.frequencyCaps),
    alert_sender_id: workspace.alertSenderId,
    feedback: Object.fromEntries(FEEDBACK_KEYS.map((key) => [key, describeKey(workspace.feedbackKeys[key])])),
    limits: workspace.limits,
    created_at: toIso(workspace.createdAt),
  }
}

/** One setting per line, as `workspace set` takes it, lists with commas; also fixed properties such as the id. */
export function toSettingsText(workspace: Workspace): string {
  const { limits, retention_days: retention, feedback, ...others } = toSettingsBody(workspace)
  const settings = { ...others, alert_sender_id: others.alert_sender_id ?? 'off' }
  const rows = [
    ...Object.entries(settings).map(([key, value]) => `${key}=${String(value)}\n`),
    `retention_days.events=${retention.events ?? 'off'}\n`,
    ...Object.entries(feedback).map(([name, shown]) => `feedback.${name}=${shown}\n`),
    ...Object.entries(limits).map(([name, units]) => `limits.${name}=${units}\n`),
  ]
  return rows.join('')
}

/** Keys are never shown. */
function describeKey(sealed: string | undefined): 'set' | 'not set' {
  return sealed === undefined ? 'not set' : 'set'
}
