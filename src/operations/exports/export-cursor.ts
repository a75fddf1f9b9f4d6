// What all exports have in common: their rules, and the cursor by which an export continues.
import { Type } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import { Text } from '../fields.ts'
import { BEFORE_LENGTH_MAX, type PageCursor } from '../page-cursor.ts'
import { EXPORT_SLOTS } from '../slots.ts'

/** For the descriptions of exports. */
export const EXPORT_RULES =
  'Each line is a JSON object. If the server fails or stops, it cuts the connection without the end of a chunked response: ' +
  'send the `cursor` of the last complete line as `after` to continue. ' +
  `A workspace has at most ${EXPORT_SLOTS.slotsPerWorkspaceMax} exports at once; beyond that the response is 503.`

export const ExportCursor = Type.String({ description: 'Send it as `after` to continue behind this line.' })

export const After = Type.Optional(Text(1, BEFORE_LENGTH_MAX, 'The `cursor` of a line of an earlier export.'))

export function afterFaults<Name extends string>(after: string | undefined, cursor: PageCursor<Name>): Fault[] {
  if (after === undefined || cursor.parse(after)) return []
  return [{ field: 'query.after', problem: 'must be the cursor of a line of an earlier export' }]
}
