// Track Events: appends the events of one user to the log. The pipeline applies them.
import { Type } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import { NAME_LENGTH_MAX } from '../../core/attributes.ts'
import { actionFaults, EVENTS_PER_ENTRY_MAX } from '../../core/event.ts'
import { userKey, userReferenceFaults, userReferenceWarnings } from '../../core/users/user.ts'
import type { EntryContext } from '../../log/event-log.ts'
import { accept } from '../accept.ts'
import {
  AcceptedOutput,
  ATTRIBUTE_NUMBERS,
  Strict,
  Text,
  NullableText,
  TrackedCustomerId,
  WorkspacePath,
} from '../fields.ts'
import { firstForwardedAddress } from './forwarded-address.ts'
import { defineOperation } from '../operation.ts'

const BODY_BYTES_MAX = 128 * 1024
const EVENT_ID_LENGTH_MAX = 128
const PROJECT_CODE = 'The project. Required if the workspace has project codes, otherwise ignored.'

const Time = Type.Unsafe<string | number>({
  type: ['string', 'number'],
  description: 'ISO 8601 with or without a zone, epoch seconds or epoch milliseconds (from 100,000,000,000).',
})

// Accepts unknown members: real clients send extras, such as device and SDK keys.
const ActionBody = Type.Object({
  action: Text(1, NAME_LENGTH_MAX, 'Event name. Must not start with the reserved prefix `svc_`.'),
  attributes: Type.Optional(
    Type.Unsafe<Record<string, unknown> | null>({
      type: ['object', 'null'],
      additionalProperties: true,
      description:
        'Up to 500 free-form name/value pairs, nested up to 10 levels. Names must not start with `svc_`. ' +
        ATTRIBUTE_NUMBERS,
    }),
  ),
  platform: Type.Optional(
    NullableText(0, NAME_LENGTH_MAX, 'ANDROID, IOS, WEB or TV, in any case. Any other value is stored as sent.'),
  ),
  app_version: Type.Optional(NullableText(0, NAME_LENGTH_MAX, 'App version.')),
  user_time: Type.Optional(Time),
  current_time: Type.Optional(Time),
  user_timezone_offset: Type.Optional(
    Type.Unsafe<string | number>({
      type: ['string', 'number'],
      description: 'Offset of `user_time` in seconds east of UTC.',
    }),
  ),
  event_id: Type.Optional(
    NullableText(1, EVENT_ID_LENGTH_MAX, 'Your event id. A repeat is not stored again, and counts in `duplicates`.'),
  ),
})

export const trackEvents = defineOperation({
  name: 'track_events',
  summary: 'Track Events',
  description:
    'Accepts one or more events for one user. The server responds once they are durable and processes them within a ' +
    'second. One invalid action rejects the whole request. Events dated in the future are rejected. If the schema ' +
    'allows null in an optional field, null means not sent.',
  group: 'Events and users',
  method: 'POST',
  isFrequent: true,
  url: '/v1/event/:Workspace_ID',
  otherUrls: ['/v1/event/:Workspace_ID/:project_code'],
  requires: 'events.write',
  takesAppKey: false,
  takesIdempotencyKey: true,
  takesForwardedFor: true,
  limits: ['track_events_per_minute'],
  limitUnits: { field: 'actions', count: countActions },
  path: Strict({
    ...WorkspacePath.properties,
    project_code: Type.Optional(Type.String({ description: PROJECT_CODE })),
  }),
  // Accepts unknown parameters: real clients add their own.
  query: Type.Object({
    // Sent twice it is a list, which names no project.
    project_code: Type.Optional(
      Type.Unsafe<string>({ type: ['string', 'array'], items: { type: 'string' }, description: PROJECT_CODE }),
    ),
  }),
  body: Type.Object({
    type: Type.Literal('event'),
    customer_id: Type.Optional(TrackedCustomerId),
    actions: Type.Array(ActionBody, { minItems: 1, maxItems: EVENTS_PER_ENTRY_MAX }),
    device_id: Type.Optional(NullableText(1, NAME_LENGTH_MAX, 'Maps the events to a device. Default: `customer_id`.')),
    user_identifiers: Type.Optional(
      Type.Unknown({ description: 'Configured identifiers as name/value pairs, if identity resolution is on.' }),
    ),
  }),
  bodyBytesMax: BODY_BYTES_MAX,
  example: {
    type: 'event',
    customer_id: 'customer-1',
    actions: [{ action: 'Order Placed', attributes: { amount: 49.9, currency: 'EUR' }, platform: 'WEB' }],
  },
  faults({ workspace, body, path, query, now }) {
    return [
      ...projectFaults(workspace.projectCodes, path.project_code, query.project_code),
      ...(body ? userReferenceFaults(body, workspace.identityResolution) : []),
      ...(body?.actions ? actionFaults(body.actions, workspace, now) : []),
    ]
  },
  successStatus: 200,
  output: AcceptedOutput,
  handle(request, parts) {
    const ip = firstForwardedAddress(request.header('x-forwarded-for'))
    const isGrouped = request.workspace.projectCodes.length > 0
    const projectCode = isGrouped ? request.path.project_code || request.query.project_code : undefined
    const context: EntryContext = { ...(ip !== undefined && { ip }), ...(projectCode !== undefined && { projectCode }) }
    return accept(request, parts, {
      kind: 'track_events',
      context,
      events: request.body.actions.length,
      partitionKey: userKey(request.workspace, request.body),
      warnings: userReferenceWarnings(request.body, request.workspace.identityResolution),
    })
  },
})

/** A request takes as many units as it has actions, and at least one. */
function countActions(body: unknown): number {
  const actions = typeof body === 'object' && body !== null ? (body as { actions?: unknown }).actions : undefined
  return Array.isArray(actions) ? Math.max(1, actions.length) : 1
}

/** The document does not say whether the code is in the path or the query, so both are read ("`project_code`"). */
function projectFaults(codes: readonly string[], inPath: string | undefined, inQuery: string | undefined): Fault[] {
  if (codes.length === 0) return []
  const field = inPath ? 'path.project_code' : 'query.project_code'
  const code = inPath || inQuery
  if (!code) return [{ field, problem: 'is required in this workspace' }]
  return codes.includes(code) ? [] : [{ field, problem: 'is not a project of this workspace' }]
}
