// The OpenAPI 3.1 document, generated from the operations alone, so that it says what the lifecycle checks.
import { ERROR_CODES, type ErrorCode } from '../../core/app-error.ts'
import { isOutsideWorkspaces, rolesOf, tilesOf, type Requirement } from '../../core/accounts/credential.ts'
import { KEY_TILES } from '../../core/accounts/key-tile.ts'
import { LIMIT_DEFAULTS, type LimitName } from '../../core/workspace.ts'
import { BODY_BYTES_MAX, type Operation } from '../../operations/operation.ts'
import { ERROR_STATUS } from '../answers/error-answer.ts'
import { isPerDay } from '../limits/limiter.ts'
import {
  COMPONENTS,
  KEY_SCHEMES,
  SESSION_SCHEME,
  LIMIT_HEADERS,
  REQUEST_ID_HEADER,
  toCapitals,
  toResponseReference,
  type JsonObject,
} from './openapi-components.ts'
import { OPERATOR_PAGES, type OperatorPage } from './operator-pages.ts'
import { inDigits } from '../../core/in-digits.ts'

/** The paths of the document; everything beside them is the same for all operations. */
export interface OpenApiDocument {
  readonly openapi: string
  readonly paths: { readonly [path: string]: { readonly [method: string]: JsonObject } }
  readonly [member: string]: unknown
}

const INTRODUCTION = `
Tidings stores the events and consent of users, email templates and coupons, and counts exactly what each campaign achieved.

**Authentication.** HTTP Basic: the user name is the workspace id, the password one of the workspace's two API keys. Each
operation names the key that it needs: that of the tile \`data\` or that of the tile \`reports\`. Some operations also need the
workspace id in the header \`SVC-APPKEY\`. A person who signed in sends the cookie of the session instead, and needs a role.

**Errors.** Every error has the same members: a \`code\` for programs, a \`message\` for people, the \`request_id\` that is also in
the header \`x-request-id\`, and \`details\`, which lists every invalid field at once.

**Warnings.** A successful response has the member \`warnings\` if something in the request may be a mistake. What only the processing
of a request can show is in the status of the request.

**Limits.** Each workspace and operation has windows of one minute and one day, in UTC. The headers \`x-ratelimit-limit\`,
\`x-ratelimit-remaining\` and \`x-ratelimit-reset\` show what remains; beyond a limit the response is 429 with \`retry-after\`,
and nothing was executed.

**Bodies** are JSON in UTF-8 and may be sent with \`Content-Encoding: gzip\`. Size limits apply to the decompressed body.
`.trim()

/** The error codes of every operation. An operation names further ones. */
const ALWAYS: readonly ErrorCode[] = [
  'invalid_request',
  'unauthorized',
  'forbidden',
  'rate_limited',
  'internal',
  'unavailable',
]
const WITH_BODY: readonly ErrorCode[] = ['request_timeout', 'payload_too_large', 'unsupported_media_type']

/** The document as it is served. Addresses in it are relative to its own, so that they are right behind any proxy. */
export function openApiDocument(operations: readonly Operation[], version: string): OpenApiDocument {
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const operation of operations) {
    for (const [index, url] of [operation.url, ...(operation.otherUrls ?? [])].entries()) {
      const path = url.replaceAll(/:(\w+)/g, '{$1}')
      paths[path] = { ...paths[path], [operation.method.toLowerCase()]: toOperationObject(operation, url, index) }
    }
  }
  for (const page of OPERATOR_PAGES) paths[page.path] = { get: toPageObject(page) }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tidings API',
      version,
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: './' }],
    tags: toTags(operations),
    paths,
    components: COMPONENTS,
  }
}

function toTags(operations: readonly Operation[]): JsonObject[] {
  const groups = [...new Set(operations.map(({ group }) => group))]
  return [
    ...groups.map((name) => ({ name })),
    { name: OPERATOR_TAG, description: 'For operators. Needs no authentication.' },
  ]
}

const OPERATOR_TAG = 'Operation of the server'

function toOperationObject(operation: Operation, url: string, index: number): JsonObject {
  const requestBody = toRequestBody(operation)
  return {
    operationId: toCapitals(operation.name) + (index === 0 ? '' : String(index + 1)),
    tags: [operation.group],
    summary: operation.summary,
    description: `${operation.description}\n\n${boundsOf(operation)}`,
    security: toSecurity(operation),
    parameters: toParameters(operation, url),
    ...(requestBody && { requestBody }),
    responses: { [operation.successStatus]: toSuccess(operation), ...toRefusals(operation) },
  }
}

function toSecurity({ requires }: Operation): JsonObject[] {
  if (requires === 'signature' || requires === 'nothing') return []
  if (requires === 'session') return [{ [SESSION_SCHEME]: [] }]
  const tiles = requires === 'optional' ? KEY_TILES : tilesOf(requires)
  const keys = tiles.map((tile) => ({ [KEY_SCHEMES[tile]]: [] }))
  return requires === 'optional' ? [{}, ...keys] : [...keys, { [SESSION_SCHEME]: [] }]
}

/** Who may call, in words. */
function callersOf(requires: Requirement): string {
  if (requires === 'optional') return '**Key:** not needed.'
  if (requires === 'signature') return '**Key:** none; the signature of the mail service counts.'
  if (isOutsideWorkspaces(requires)) {
    return requires === 'session' ? '**Caller:** a person who signed in.' : '**Caller:** anybody.'
  }
  const [tile, other] = tilesOf(requires)
  const key = tile
    ? other
      ? '**Key:** of either tile.'
      : `**Key:** of the tile \`${tile}\`.`
    : '**Key:** none suffices.'
  return `${key} **Roles:** ${rolesOf(requires).join(', ')}.`
}

/** Key, limits and size in words: OpenAPI has no members for them. */
function boundsOf(operation: Operation): string {
  const { requires, limits, limitUnits, upload } = operation
  const unit = limitUnits ? 'events' : 'requests'
  const sentences = [
    callersOf(requires),
    ...(limits.length > 0 ? [`**Limit:** ${limits.map((name) => toLimit(name, unit)).join(' and ')}.`] : []),
  ]
  if (operation.body) sentences.push(`**Body:** at most ${inDigits(operation.bodyBytesMax ?? BODY_BYTES_MAX)} bytes.`)
  if (upload) {
    const types = Object.keys(upload.examples).map((type) => `\`${type}\``)
    sentences.push(`**Upload** (${types.join(', ')}): at most ${inDigits(upload.bytesMax)} bytes.`)
  }
  return sentences.join(' ')
}

function toLimit(name: LimitName, unit: string): string {
  const window = isPerDay(name) ? 'day' : 'minute'
  return `${inDigits(LIMIT_DEFAULTS[name])} ${unit} a ${window} (setting \`limits.${name}\`)`
}

function toParameters(operation: Operation, url: string): JsonObject[] {
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, name]) => toParameter('path', String(name), operation.path, true))
  const inQuery = Object.keys(operation.query.properties).map((name) => {
    return toParameter('query', name, operation.query, operation.query.required?.includes(name) ?? false)
  })
  const inHeader = [
    operation.takesAppKey && 'AppKey',
    operation.takesIdempotencyKey && 'IdempotencyKey',
    operation.takesForwardedFor && 'ForwardedFor',
  ]
  const headers = inHeader.flatMap((name) => (name ? [{ $ref: `#/components/parameters/${name}` }] : []))
  return [...inPath, ...inQuery, ...headers]
}

function toParameter(
  location: 'path' | 'query',
  name: string,
  fields: Operation['path'],
  required: boolean,
): JsonObject {
  const field = fields.properties[name]
  if (!field) throw new Error(`the path has no schema for ${name}`)
  const { description, items, ...schema } = toJsonSchema(field)
  // The server parses a repeated parameter as a list, which it may accept; a client should send one text.
  const type = items === undefined ? schema['type'] : 'string'
  return {
    name,
    in: location,
    required,
    ...(description !== undefined && { description }),
    schema: { ...schema, type },
  }
}

function toRequestBody({ body, example, upload }: Operation): JsonObject | undefined {
  if (!body && !upload) return undefined
  const uploads = Object.entries(upload?.examples ?? {}).map(([type, sample]) => {
    return [type, { schema: { type: 'string' }, example: sample }] as const
  })
  return {
    required: true,
    content: {
      ...(body && { 'application/json': { schema: toJsonSchema(body), ...(example !== undefined && { example }) } }),
      ...Object.fromEntries(uploads),
    },
  }
}

function toSuccess(operation: Operation): JsonObject {
  const { output, outputExample, outputType = 'application/json', otherOutput, successStatus } = operation
  const headers = { ...REQUEST_ID_HEADER, ...LIMIT_HEADERS }
  if (!output || successStatus === 204) return { description: 'Success, without a body.', headers }
  const content = { schema: toJsonSchema(output), ...(outputExample !== undefined && { example: outputExample }) }
  const other = otherOutput && { [otherOutput.type]: { schema: { type: 'string' }, example: otherOutput.example } }
  return { description: 'Success.', headers, content: { [outputType]: content, ...other } }
}

function toRefusals(operation: Operation): JsonObject {
  const codes = new Set<ErrorCode>([...ALWAYS, ...(operation.refusals ?? [])])
  if (operation.takesIdempotencyKey) codes.add('conflict')
  if (operation.body || operation.upload) for (const code of WITH_BODY) codes.add(code)
  const known = ERROR_CODES.filter((code) => codes.has(code))
  return Object.fromEntries(known.map((code) => [ERROR_STATUS[code], toResponseReference(code)]))
}

function toPageObject(page: OperatorPage): JsonObject {
  const content = { [page.mediaType]: { schema: page.schema } }
  return {
    operationId: `Page${toCapitals(page.path.replaceAll(/\W+/g, '_'))}`,
    tags: [OPERATOR_TAG],
    summary: page.summary,
    description: page.description,
    security: [],
    responses: {
      200: { description: 'Success.', headers: REQUEST_ID_HEADER, content },
      ...(page.mayBeUnavailable && { [ERROR_STATUS.unavailable]: toResponseReference('unavailable') }),
    },
  }
}

const OWN_FORMATS: ReadonlySet<unknown> = new Set(['text', 'content'])

/** A schema for other programs: our own formats mean nothing to them, and few client generators know patterns of names. */
function toJsonSchema(schema: object): JsonObject {
  const isOwn = (name: string, value: unknown) => name === 'format' && OWN_FORMATS.has(value)
  const text = JSON.stringify(schema, (name, value: unknown) => (isOwn(name, value) ? undefined : withAnyName(value)))
  return JSON.parse(text) as JsonObject
}

/** TypeBox writes a record as a schema for names that match a pattern, and every name matches it. */
function withAnyName(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('patternProperties' in value)) return value
  const { patternProperties, ...schema } = value
  return { ...schema, additionalProperties: Object.values(patternProperties as object)[0] as unknown }
}
