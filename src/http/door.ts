// What every request passes on its way to an operation, in the order of refusals: authentication, suspension, tile and
// workspace, limit, media type, size, JSON, fields.
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction, RouteOptions } from 'fastify'
import { AppError, invalidRequest, type Fault } from '../core/app-error.ts'
import {
  BODY_BYTES_MAX,
  type Operation,
  type OperationRequest,
  type Parts,
  type RequestFields,
} from '../operations/operation.ts'
import type { Authentication, Caller } from './authentication.ts'
import { parseJson } from './json-body.ts'
import { NeverPasses, type LimitState, type RateLimits } from './rate-limits.ts'
import { readBody, streamBody } from './request-body.ts'
import { OperationValidator } from './validation.ts'

export interface DoorParts {
  readonly parts: Parts
  readonly authentication: Authentication
  readonly rateLimits: RateLimits
}

interface Passage {
  readonly operation: Operation
  readonly door: DoorParts
}

/** The name of the request header that carries the workspace id where the document asks for it. */
const APP_KEY = 'svc-appkey'
const IDEMPOTENCY_KEY = 'idempotency-key'
const IDEMPOTENCY_KEY_VALID = /^[\u0020-\u007e]{1,128}$/
const NO_BYTES = new Uint8Array(0)

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `admit`, before anything of the body is read. */
    caller: Caller | null
    receivedAt: number
  }
  interface FastifyContextConfig {
    operation?: Operation
  }
}

/** What the content type parsers hand to the handler instead of a parsed body. */
export interface RawBody {
  readonly read: (bytesMax: number) => Promise<Uint8Array>
  readonly upload: AsyncIterable<Uint8Array> | undefined
}

/** The routes of one operation, one an address. */
export function routesOf(operation: Operation, door: DoorParts): RouteOptions[] {
  const validator = new OperationValidator(operation)
  return [operation.url, ...(operation.otherUrls ?? [])].map((url) => ({
    method: operation.method,
    url,
    config: { operation },
    onRequest: (request, reply, done) => admit(request, reply, { operation, door }, done),
    handler: (request, reply) => carryOut(request, reply, operation, validator, door),
  }))
}

/**
 * Everything that can be refused before the body is read. Answers at once where the caller is known already, without a
 * promise for each request.
 */
function admit(request: FastifyRequest, reply: FastifyReply, passage: Passage, done: HookHandlerDoneFunction): void {
  const { authentication, parts } = passage.door
  const now = parts.clock()
  request.receivedAt = now
  try {
    const found = authentication.authenticate(request.headers.authorization, request.ip, now)
    if (!(found instanceof Promise)) {
      admitCaller(request, reply, passage, found)
      done()
      return
    }
    void admitLater(request, reply, passage, found).then(done)
  } catch (error) {
    done(error as Error)
  }
}

/** Gives the refusal instead of throwing it, as the hook wants it. */
async function admitLater(
  request: FastifyRequest,
  reply: FastifyReply,
  passage: Passage,
  found: Promise<Caller>,
): Promise<Error | undefined> {
  try {
    admitCaller(request, reply, passage, await found)
    return undefined
  } catch (error) {
    return error as Error
  }
}

function admitCaller(request: FastifyRequest, reply: FastifyReply, { operation, door }: Passage, caller: Caller): void {
  request.caller = caller
  const refusal = refusalOf(request, caller, operation)
  if (refusal) {
    door.rateLimits.count(caller.workspace, operation.name, operation.limits, request.receivedAt)
    setLimitHeaders(reply, door.rateLimits.peek(caller.workspace, operation.name, operation.limits, request.receivedAt))
    throw refusal
  }
  // Where the units stand in the body, they are taken when it has been read.
  if (!operation.limitUnits) takeLimit(reply, caller, operation, 1, request.receivedAt, door.rateLimits)
}

function refusalOf(request: FastifyRequest, { workspace, tile }: Caller, operation: Operation): AppError | undefined {
  if (workspace.suspended) return new AppError('forbidden', 'The workspace is suspended.')
  if (operation.tile !== 'either' && operation.tile !== tile) {
    return new AppError('forbidden', `This operation needs the key of the tile "${operation.tile}".`)
  }
  const inPath = (request.params as Record<string, unknown>)['Workspace_ID']
  if (inPath !== undefined && inPath !== workspace.id) {
    const details = [{ field: 'path.Workspace_ID', problem: 'must be the workspace of the Authorization header' }]
    return new AppError('forbidden', 'The path names another workspace than the Authorization header.', details)
  }
  const appKey = request.headers[APP_KEY]
  if (operation.takesAppKey && appKey !== undefined && appKey !== '' && appKey !== workspace.id) {
    const details = [{ field: 'header.SVC-APPKEY', problem: 'must be the workspace of the Authorization header' }]
    return new AppError('forbidden', 'SVC-APPKEY names another workspace than the Authorization header.', details)
  }
  return undefined
}

function takeLimit(
  reply: FastifyReply,
  { workspace }: Caller,
  operation: Operation,
  units: number,
  now: number,
  rateLimits: RateLimits,
): void {
  try {
    setLimitHeaders(reply, rateLimits.take(workspace, operation.name, operation.limits, units, now))
  } catch (error) {
    setLimitHeaders(reply, rateLimits.peek(workspace, operation.name, operation.limits, now))
    throw error instanceof NeverPasses ? tooManyUnits(operation, units, error) : error
  }
}

function tooManyUnits({ limitUnits }: Operation, units: number, { limitName, limit }: NeverPasses): AppError {
  const problem = `needs ${units} units of limits.${limitName}, and a whole window holds ${limit}: send smaller requests`
  return invalidRequest([{ field: limitUnits?.field ?? 'body', problem }])
}

/**
 * A request that Fastify refused before the handler could read its body counts as one; gives the refusal of the limit where
 * that comes first.
 */
export function countUnread(
  request: FastifyRequest,
  reply: FastifyReply,
  { rateLimits }: DoorParts,
): AppError | undefined {
  const { operation } = request.routeOptions.config
  if (!operation?.limitUnits || !request.caller) return undefined
  try {
    takeLimit(reply, request.caller, operation, 1, request.receivedAt, rateLimits)
    return undefined
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

function setLimitHeaders(reply: FastifyReply, state: LimitState): void {
  reply.header('x-ratelimit-limit', state.limit)
  reply.header('x-ratelimit-remaining', state.remaining)
  reply.header('x-ratelimit-reset', state.reset)
}

async function carryOut(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation,
  validator: OperationValidator,
  door: DoorParts,
): Promise<FastifyReply> {
  const raw = request.body as RawBody | undefined
  const { bytes, value } = await readInput(request, reply, raw, operation, door)
  const path = validator.path(request.params)
  const query = validator.query(request.query)
  const body = operation.body && !raw?.upload ? validator.body(operation.body, value) : NO_BODY
  const input = toOperationRequest(request, reply, { bytes, upload: raw?.upload }, [
    path.value,
    query.value,
    body.value,
  ])
  const faults = [
    ...headerFaults(request, operation),
    ...path.faults,
    ...query.faults,
    ...body.faults,
    ...(operation.faults?.(input) ?? []),
  ]
  if (faults.length > 0) throw invalidRequest(faults)
  return send(reply, operation, await operation.handle(input, door.parts))
}

const NO_BODY = { value: undefined, faults: [] as readonly Fault[] }

/** Reads the body, and takes the limit where its units stand in the body: a body that cannot be read counts as one. */
async function readInput(
  request: FastifyRequest,
  reply: FastifyReply,
  raw: RawBody | undefined,
  operation: Operation,
  door: DoorParts,
): Promise<{ bytes: Uint8Array; value: unknown }> {
  let units = 1
  try {
    if (!operation.body || raw?.upload) return { bytes: NO_BYTES, value: undefined }
    const bytes = raw ? await raw.read(operation.bodyBytesMax ?? BODY_BYTES_MAX) : NO_BYTES
    const value = parseJson(bytes)
    units = operation.limitUnits?.count(value) ?? 1
    return { bytes, value }
  } finally {
    if (operation.limitUnits) {
      takeLimit(reply, request.caller as Caller, operation, units, request.receivedAt, door.rateLimits)
    }
  }
}

function toOperationRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  sent: { readonly bytes: Uint8Array; readonly upload: AsyncIterable<Uint8Array> | undefined },
  [path, query, body]: readonly [path: unknown, query: unknown, body: unknown],
): OperationRequest<RequestFields, RequestFields, unknown> {
  const { workspace, tile } = request.caller as Caller
  return {
    workspace,
    tile,
    requestId: request.id,
    now: request.receivedAt,
    callerAddress: request.ip,
    path: path as RequestFields,
    query: query as RequestFields,
    body,
    bodyBytes: sent.bytes,
    upload: sent.upload,
    header(name) {
      const value = request.headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    answerAs: (requestId) => void reply.header('x-request-id', requestId),
  }
}

function headerFaults(request: FastifyRequest, operation: Operation): Fault[] {
  const faults: Fault[] = []
  if (operation.takesAppKey && !request.headers[APP_KEY]) {
    faults.push({ field: 'header.SVC-APPKEY', problem: 'is required: the workspace id' })
  }
  const key = operation.takesIdempotencyKey ? request.headers[IDEMPOTENCY_KEY] : undefined
  if (key !== undefined && (typeof key !== 'string' || !IDEMPOTENCY_KEY_VALID.test(key))) {
    faults.push({ field: 'header.Idempotency-Key', problem: 'must be 1 to 128 printable ASCII characters' })
  }
  return faults
}

function send(reply: FastifyReply, operation: Operation, output: unknown): FastifyReply {
  reply.code(operation.successStatus)
  if (operation.successStatus === 204) return reply.send()
  return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(output))
}

type BodyDone = (error: Error | null, body: RawBody) => void

/** The content type parser of JSON: nothing is read before the handler says how much may be. */
export function deferJson(request: FastifyRequest, _payload: unknown, done: BodyDone): void {
  done(null, { read: (bytesMax) => readBody(request.raw, bytesMax), upload: undefined })
}

/** The content type parser of everything else; refused by the handler, so that the request counts in the limit. */
export async function deferUnsupported({ routeOptions }: FastifyRequest): Promise<RawBody> {
  return { read: () => refuseMediaType(routeOptions.config.operation), upload: undefined }
}

async function refuseMediaType(operation: Operation | undefined): Promise<never> {
  const types = ['application/json', ...(operation?.upload ? [operation.upload.mediaType] : [])]
  throw new AppError('unsupported_media_type', `The body needs Content-Type: ${types.join(' or ')}.`)
}

/** The content type parser of an operation's upload. */
export function deferUpload(bytesMax: number): (request: FastifyRequest) => Promise<RawBody> {
  return async (request) => ({
    read: () => readBody(request.raw, bytesMax),
    upload: streamBody(request.raw, bytesMax),
  })
}
