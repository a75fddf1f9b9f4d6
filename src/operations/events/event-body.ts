// An event on the wire, as the list of a user's events and the export show it.
import { Type } from 'typebox'
import { toEventId } from '../../core/event.ts'
import { toIso } from '../../core/time-value.ts'
import type { StoredEvent } from '../../store/users/events.ts'
import { ATTRIBUTE_NUMBERS, IsoTime, Nullable } from '../fields.ts'

export const EventItem = Type.Object({
  event_id: Type.String({ description: 'The id sent with the event, otherwise one the server generated.' }),
  action: Type.String(),
  attributes: Type.Record(Type.String(), Type.Unknown(), { description: ATTRIBUTE_NUMBERS }),
  platform: Nullable(Type.String()),
  app_version: Nullable(Type.String()),
  device_id: Nullable(Type.String()),
  ip: Nullable(Type.String({ description: 'The first valid address in X-Forwarded-For.' })),
  time: Type.String({ format: 'date-time', description: 'When the event happened.' }),
  received_at: IsoTime,
})

/** An event among those of many users. */
export const OwnedEventItem = {
  customer_id: Nullable(Type.String({ description: 'Null if the user is known only by other identifiers.' })),
  ...EventItem.properties,
}

export function writeOwnedEvent(customerId: string | null, event: StoredEvent): string {
  return `{"customer_id":${JSON.stringify(customerId)},${writeEvent(event).slice(1)}`
}

/** The event as JSON. Its attributes are JSON already, and are not parsed. */
export function writeEvent(event: StoredEvent): string {
  const before = JSON.stringify({ event_id: toEventId(event.id, event.givenId), action: event.action })
  const after = JSON.stringify({
    platform: event.platform,
    app_version: event.appVersion,
    device_id: event.deviceId,
    ip: event.ip,
    time: toIso(event.time),
    received_at: toIso(event.receivedAt),
  })
  return `${before.slice(0, -1)},"attributes":${event.attributes},${after.slice(1)}`
}
