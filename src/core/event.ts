// Tracked events: finds faults of a request that the schema cannot find, and turns an accepted request into events.
import type { Fault } from './app-error.ts'
import { checkAttributes, nameProblem } from './attributes.ts'
import { toPlatform } from './platform.ts'
import {
  decidingField,
  eventInstant,
  futureProblem,
  parseOffsetSeconds,
  parseTimeValue,
  TIME_PROBLEM,
  type EventTimes,
} from './time-value.ts'
import type { WorkspaceSettings } from './workspace.ts'

/**
 * The most events of one request; 128 KiB hold fewer than 9,000 of the smallest. An event's number is its entry's position times
 * this, plus its index.
 */
export const EVENTS_PER_ENTRY_MAX = 16_384

/** One element of `actions`, as sent. Null counts as not sent, except in the three members about time ("Bounds"). */
export interface Action {
  readonly action: string
  readonly attributes?: Readonly<Record<string, unknown>> | null
  readonly platform?: string | null
  readonly app_version?: string | null
  readonly user_time?: unknown
  readonly current_time?: unknown
  readonly user_timezone_offset?: unknown
  readonly event_id?: string | null
}

/** An event whose instant is decided. */
export interface TrackedEvent {
  /** From the entry's position and the index in it: unique, and ascending in the order of the log. */
  readonly id: number
  /** The client's id, used to drop repeats. */
  readonly givenId: string | null
  readonly action: string
  /** The attributes, serialized again: spaces are gone, numbers have the same value. */
  readonly attributes: string
  readonly platform: string | null
  readonly appVersion: string | null
  /** Milliseconds since the epoch. */
  readonly time: number
}

type PartialAction = { readonly [Key in keyof Action]?: Action[Key] | undefined }

/** Every fault of the actions that the schema cannot find, in names, attributes and times. */
export function actionFaults(
  actions: readonly (PartialAction | undefined)[],
  settings: WorkspaceSettings,
  receivedAt: number,
): Fault[] {
  const faults: Fault[] = []
  for (let index = 0; index < actions.length; index++) {
    const action = actions[index]
    if (action) checkAction(action, index, settings, receivedAt, faults)
  }
  return faults
}

/** The id that responses show. */
export function toEventId(id: number, givenId: string | null): string {
  return givenId ?? `${Math.floor(id / EVENTS_PER_ENTRY_MAX)}-${id % EVENTS_PER_ENTRY_MAX}`
}

/** The events of an accepted request. */
export function eventsOf(
  actions: readonly Action[],
  entry: { readonly position: number; readonly receivedAt: number },
  timezone: string,
): TrackedEvent[] {
  return actions.map((action, index) => ({
    id: entry.position * EVENTS_PER_ENTRY_MAX + index,
    givenId: action.event_id ?? null,
    action: action.action,
    attributes: JSON.stringify(action.attributes ?? {}),
    platform: typeof action.platform === 'string' ? toPlatform(action.platform) : null,
    appVersion: action.app_version ?? null,
    time: eventInstant(timesOf(action), timezone, entry.receivedAt),
  }))
}

function checkAction(
  action: PartialAction,
  index: number,
  settings: WorkspaceSettings,
  receivedAt: number,
  faults: Fault[],
): void {
  const name = action.action === undefined ? undefined : nameProblem(action.action)
  if (name !== undefined) faults.push({ field: `actions[${index}].action`, problem: name })
  if (action.attributes) checkAttributes(action.attributes, () => `actions[${index}].attributes`, faults)
  if (
    action.user_time === undefined &&
    action.current_time === undefined &&
    action.user_timezone_offset === undefined
  ) {
    return
  }
  const times = timesOf(action)
  const faultsBefore = faults.length
  checkTime(action, times, index, faults)
  if (faults.length > faultsBefore) return
  const instant = eventInstant(times, settings.timezone, receivedAt)
  const isFuture = instant > receivedAt + settings.clockSkewSeconds * 1000
  if (instant >= 0 && !isFuture) return
  const field = `actions[${index}].${decidingField(times)}`
  faults.push({ field, problem: isFuture ? futureProblem(instant, receivedAt) : TIME_PROBLEM })
}

function checkTime(action: PartialAction, times: EventTimes, index: number, faults: Fault[]): void {
  const blame = (name: keyof Action, problem: string) => faults.push({ field: `actions[${index}].${name}`, problem })
  if (action.user_time !== undefined && !times.userTime) blame('user_time', TIME_PROBLEM)
  if (action.current_time !== undefined && !times.currentTime) blame('current_time', TIME_PROBLEM)
  if (action.user_timezone_offset !== undefined && times.offsetSeconds === undefined) {
    blame('user_timezone_offset', 'must be a whole number of seconds from -54000 to 54000')
  }
}

function timesOf(action: PartialAction): EventTimes {
  return {
    userTime: action.user_time === undefined ? undefined : parseTimeValue(action.user_time),
    currentTime: action.current_time === undefined ? undefined : parseTimeValue(action.current_time),
    offsetSeconds: parseOffsetSeconds(action.user_timezone_offset),
  }
}
