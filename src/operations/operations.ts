// The list of all operations: routes, validation, limits, OpenAPI and the reference page come from it.
import { fetchCampaignStats } from './fetch-campaign-stats.ts'
import { findRequest } from './find-request.ts'
import { getUser } from './get-user.ts'
import { listPreferenceChanges } from './list-preference-changes.ts'
import { listUserEvents } from './list-user-events.ts'
import type { Operation } from './operation.ts'
import { readPreferences } from './read-preferences.ts'
import { trackEvents } from './track-events.ts'
import { trackUser } from './track-user.ts'
import { updatePreferences } from './update-preferences.ts'

export const OPERATIONS: readonly Operation[] = [
  trackEvents,
  trackUser,
  getUser,
  listUserEvents,
  findRequest,
  updatePreferences,
  readPreferences,
  listPreferenceChanges,
  fetchCampaignStats,
]
