// The fields of parked entries in requests and responses.
import { Type } from 'typebox'
import type { Fault } from '../../../core/app-error.ts'
import { toIso } from '../../../core/time-value.ts'
import type { ParkedSummary } from '../../../store/entries/parked-entries.ts'
import { IsoTime, Strict, Text, WorkspacePath } from '../../fields.ts'

const POSITION_LENGTH_MAX = 16
const POSITION = /^\d{1,15}$/

export const ParkedPath = Strict({
  ...WorkspacePath.properties,
  position: Text(1, POSITION_LENGTH_MAX, 'The `position` of the entry.'),
})

export function positionFaults({ path }: { readonly path: { readonly position?: string | undefined } }): Fault[] {
  if (path.position === undefined || POSITION.test(path.position)) return []
  return [{ field: 'path.position', problem: 'must be a whole number' }]
}

export const ParkedFields = {
  position: Type.Integer({ description: 'Its position in the log, which identifies it.' }),
  kind: Type.String({ description: 'The kind of request, such as `track_events`.' }),
  request_id: Type.String({ description: 'The `request_id` of the request that was accepted.' }),
  received_at: IsoTime,
  parked_at: Type.String({ format: 'date-time', description: 'When it last could not be applied.' }),
  error: Type.String({ description: 'Why it could not be applied.' }),
}

export function toParkedBody({ position, kind, requestId, receivedAt, parkedAt, error }: ParkedSummary) {
  return {
    position,
    kind,
    request_id: requestId,
    received_at: toIso(receivedAt),
    parked_at: toIso(parkedAt),
    error,
  }
}
