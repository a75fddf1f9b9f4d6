// The parts of the OpenAPI document that all operations share: security schemes, headers, and the body of refusals.
import { DETAILS_MAX, ERROR_CODES, type ErrorCode } from '../../core/app-error.ts'
import type { KeyTile } from '../../core/accounts/credential.ts'

export type JsonObject = { readonly [name: string]: unknown }

/** One scheme for each key, so that the reference page sends each operation the key it takes. */
export const KEY_SCHEMES: Readonly<Record<KeyTile, string>> = { data: 'DataKey', reports: 'ReportsKey' }

export const REQUEST_ID_HEADER = { 'x-request-id': { $ref: '#/components/headers/RequestId' } }
export const LIMIT_HEADERS = {
  'x-ratelimit-limit': { $ref: '#/components/headers/RateLimitLimit' },
  'x-ratelimit-remaining': { $ref: '#/components/headers/RateLimitRemaining' },
  'x-ratelimit-reset': { $ref: '#/components/headers/RateLimitReset' },
}

const REFUSALS: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'The request is invalid; `details` names every field at fault.',
  unauthorized: 'The Authorization header is missing or malformed, or its workspace or key is wrong.',
  forbidden: 'The key is of the other tile, the workspace is suspended, or the request names another workspace.',
  not_found: 'What the request names is not there.',
  method_not_allowed: 'The path does not take this method; `Allow` names those it takes.',
  request_timeout: 'The request took too long to arrive; nothing was executed, and the connection is closed.',
  conflict: 'The request contradicts what is there already; with `retry-after` where that will pass by itself.',
  payload_too_large: 'The body is too large, decompressed.',
  unsupported_media_type: 'The body has a media type or an encoding that the operation does not take.',
  rate_limited: 'The limit is used up; nothing was executed.',
  internal: 'Something went wrong in the server; the request id helps its operator to find it.',
  unavailable:
    'The server cannot do this now. It may have been done all the same, where only the confirmation was lost: repeat the ' +
    'request as it was, with its `Idempotency-Key` if it takes one.',
}

const RETRY_AFTER: JsonObject = { $ref: '#/components/headers/RetryAfter' }

/** Headers that a refusal has besides the request id; those of the limits come with every call of an authenticated caller. */
const REFUSAL_HEADERS: Readonly<Partial<Record<ErrorCode, JsonObject>>> = {
  unauthorized: { 'www-authenticate': { schema: { type: 'string' }, description: 'Asks for HTTP Basic.' } },
  conflict: { 'retry-after': RETRY_AFTER },
  rate_limited: { 'retry-after': RETRY_AFTER, ...LIMIT_HEADERS },
  unavailable: { 'retry-after': RETRY_AFTER },
}

const EXAMPLE_REQUEST_ID = '01a1fbaa-2420-7754-8f8f-c16f587f02e1'

const ERROR_SCHEMA = {
  type: 'object',
  required: ['status', 'error'],
  properties: {
    status: { type: 'string', const: 'fail' },
    error: {
      type: 'object',
      required: ['code', 'message', 'request_id', 'details'],
      properties: {
        code: { type: 'string', enum: ERROR_CODES, description: 'For programs.' },
        message: { type: 'string', description: 'For people.' },
        request_id: { type: 'string', description: 'The same as the header `x-request-id`.' },
        details: {
          type: 'array',
          maxItems: DETAILS_MAX,
          description: 'Every field at fault; empty where none is to blame.',
          items: {
            type: 'object',
            required: ['field', 'problem'],
            properties: {
              field: {
                type: 'string',
                description: 'A path in the body, or one that begins with `path.`, `query.` or `header.`.',
                examples: ['actions[2].action', 'header.SVC-APPKEY'],
              },
              problem: { type: 'string', examples: ['is required'] },
            },
          },
        },
      },
    },
  },
}

export const COMPONENTS = {
  securitySchemes: {
    [KEY_SCHEMES.data]: keyScheme('data'),
    [KEY_SCHEMES.reports]: keyScheme('reports'),
  },
  parameters: {
    AppKey: headerParameter('SVC-APPKEY', 'The workspace id, equal to the user name of the Authorization header.', {
      required: true,
    }),
    IdempotencyKey: headerParameter(
      'Idempotency-Key',
      'Your key for retries: a repeat of the request with the same key within 24 hours is answered the same and kept ' +
        'once. The same key with another request is refused with 409.',
      { maxLength: 128 },
    ),
    ForwardedFor: headerParameter(
      'X-Forwarded-For',
      'The address of the user whose events are sent on; of several, with commas, the first valid one is kept.',
    ),
  },
  headers: {
    RequestId: { description: 'The id of the request, made by the server.', schema: { type: 'string' } },
    RateLimitLimit: { description: 'Units that the window holds.', schema: { type: 'integer' } },
    RateLimitRemaining: { description: 'Units left in the window.', schema: { type: 'integer' } },
    RateLimitReset: { description: 'When the next window begins, in UTC epoch seconds.', schema: { type: 'integer' } },
    RetryAfter: { description: 'After how many seconds a repeat may succeed.', schema: { type: 'integer' } },
  },
  responses: Object.fromEntries(ERROR_CODES.map((code) => [toCapitals(code), refusalOf(code)])),
  schemas: { Error: ERROR_SCHEMA },
}

/** `track_events` as `TrackEvents`. */
export function toCapitals(name: string): string {
  return name.replaceAll(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase())
}

export function toResponseReference(code: ErrorCode): JsonObject {
  return { $ref: `#/components/responses/${toCapitals(code)}` }
}

function refusalOf(code: ErrorCode): JsonObject {
  const details = code === 'invalid_request' ? [{ field: 'actions[2].action', problem: 'is required' }] : []
  const error = { code, message: 'A sentence for people.', request_id: EXAMPLE_REQUEST_ID, details }
  const example = { status: 'fail', error }
  return {
    description: REFUSALS[code],
    headers: { ...REQUEST_ID_HEADER, ...REFUSAL_HEADERS[code] },
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, example } },
  }
}

function keyScheme(tile: KeyTile): JsonObject {
  const description = `User name: the workspace id. Password: the API key of the tile \`${tile}\`.`
  return { type: 'http', scheme: 'basic', description }
}

function headerParameter(
  name: string,
  description: string,
  given: { readonly required?: boolean; readonly maxLength?: number } = {},
): JsonObject {
  const { required = false, maxLength } = given
  return { name, in: 'header', required, description, schema: { type: 'string', ...(maxLength && { maxLength }) } }
}
