// The parts of the OpenAPI document that all operations share: security schemes, headers, and the body of refusals.
import { DETAILS_MAX, ERROR_CODES, type ErrorCode } from '../../core/app-error.ts'
import type { KeyTile } from '../../core/accounts/key-tile.ts'

export type JsonObject = { readonly [name: string]: unknown }

/** One scheme for each key, so that the reference page sends each operation the key it takes. */
export const KEY_SCHEMES: Readonly<Record<KeyTile, string>> = { data: 'DataKey', reports: 'ReportsKey' }

export const SESSION_SCHEME = 'Session'

export const REQUEST_ID_HEADER = { 'x-request-id': { $ref: '#/components/headers/RequestId' } }
export const LIMIT_HEADERS = {
  'x-ratelimit-limit': { $ref: '#/components/headers/RateLimitLimit' },
  'x-ratelimit-remaining': { $ref: '#/components/headers/RateLimitRemaining' },
  'x-ratelimit-reset': { $ref: '#/components/headers/RateLimitReset' },
}

const REFUSALS: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'The request is invalid; `details` names every invalid field.',
  unauthorized:
    'The Authorization header is missing or malformed, or its workspace or key is wrong; or the session has ended.',
  forbidden:
    'The key is of the other tile or the role too small, the workspace is suspended, or the request names another workspace.',
  not_found: 'The resource does not exist.',
  method_not_allowed: 'The path does not allow this method; the header `Allow` lists those it does.',
  request_timeout: 'The request took too long to arrive; nothing was executed, and the connection is closed.',
  conflict: 'The request conflicts with the current state. With `retry-after`, the conflict is temporary.',
  payload_too_large: 'The decompressed body is too large.',
  unsupported_media_type: 'The operation does not support the media type or encoding of the body.',
  rate_limited: 'The rate limit is exhausted; nothing was executed.',
  internal: 'The server failed. Give its operator the request id.',
  unavailable:
    'The server cannot handle the request now. If only the confirmation was lost, it may have taken effect: retry it ' +
    'unchanged, with the same `Idempotency-Key` if it had one.',
}

const RETRY_AFTER: JsonObject = { $ref: '#/components/headers/RetryAfter' }

/** Headers that a refusal has besides the request id; those of the limits come with every call of an authenticated caller. */
const REFUSAL_HEADERS: Readonly<Partial<Record<ErrorCode, JsonObject>>> = {
  unauthorized: {
    'www-authenticate': {
      schema: { type: 'string' },
      description: 'Asks for HTTP Basic, or for `Session` where a person must sign in.',
    },
  },
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
          description: 'Every invalid field; empty if the error concerns no field.',
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
    [SESSION_SCHEME]: {
      type: 'apiKey',
      in: 'cookie',
      name: '__Host-tidings',
      description:
        'The session of a person who signed in at the dashboard. The workspace is that of the path, or else that of the header ' +
        'SVC-APPKEY. The role of the person there decides.',
    },
  },
  parameters: {
    AppKey: headerParameter('SVC-APPKEY', 'The workspace id, equal to the user name of the Authorization header.', {
      required: true,
    }),
    IdempotencyKey: headerParameter(
      'Idempotency-Key',
      'Your key for retries. If the same request is sent again with the same key within 24 hours, it gets the same ' +
        'response and takes effect once. The same key with another request gets 409.',
      { maxLength: 128 },
    ),
    ForwardedFor: headerParameter(
      'X-Forwarded-For',
      'The IP address of the user whose events you forward. Of several, separated by commas, the first valid one is stored.',
    ),
  },
  headers: {
    RequestId: { description: 'The id of the request, generated by the server.', schema: { type: 'string' } },
    RateLimitLimit: { description: 'The units of the whole window.', schema: { type: 'integer' } },
    RateLimitRemaining: { description: 'The units left in the window.', schema: { type: 'integer' } },
    RateLimitReset: { description: 'The start of the next window, in UTC epoch seconds.', schema: { type: 'integer' } },
    RetryAfter: { description: 'The number of seconds after which a retry may succeed.', schema: { type: 'integer' } },
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
