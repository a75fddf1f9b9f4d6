// The list of all operations: routes, validation, limits, OpenAPI and the reference page come from it.
import { listPreferenceChanges } from './list-preference-changes.ts'
import type { Operation } from './operation.ts'
import { readPreferences } from './read-preferences.ts'
import { trackEvents } from './track-events.ts'
import { updatePreferences } from './update-preferences.ts'

export const OPERATIONS: readonly Operation[] = [trackEvents, updatePreferences, readPreferences, listPreferenceChanges]
