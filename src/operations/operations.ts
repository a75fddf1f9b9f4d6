// The list of all operations: routes, validation, limits, OpenAPI and the reference page come from it.
import type { Operation } from './operation.ts'
import { trackEvents } from './track-events.ts'

export const OPERATIONS: readonly Operation[] = [trackEvents]
