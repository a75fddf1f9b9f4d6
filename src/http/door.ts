// What every request passes on its way to an operation, in the order of refusals: authentication, suspension, tile and
// workspace, limit, media type, size, JSON, fields.
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction, RouteOptions } from 'fastify'
import { AppError, invalidRequest, type Fault } from '../core/app-error.ts'
import { JsonText } from '../operations/json-text.ts'
import {
  BODY_BYTES_MAX,
  type Operation,
  type OperationRequest,
  type Parts,
  type RequestFields,
} from '../operations/operation.ts'
import { PIECE_BYTES_MAX, piecesToSend } from './answers/answer-pieces.ts'
import type { Authentication, Caller } from './authentication.ts'
import { callerAddress } from './requests/caller-address.ts'
import { parseJson } from './requests/json-body.ts'
import { NeverPasses, type Limiter, type LimitOutcome, type LimitState } from './limits/limiter.ts'
import type { Readiness } from './operator/readiness.ts'
import type { ReceivedBodies } from './requests/received-bodies.ts'
import { readBody, streamBody, type BodyToRead } from './requests/request-body.ts'
import { tooMuchUnsent, type UnsentAnswers } from './answers/unsent-answers.ts'
import { OperationValidator } from './requests/validation.ts'

export interface DoorParts {
  readonly parts: Parts
  readonly authentication: Authentication
  readonly rateLimits: Limiter
}

/** The same, with what one server counts over all requests. */
export interface Door extends DoorParts {
  readonly readiness: Readiness
  readonly bodies: ReceivedBodies
  readonly unsent: UnsentAnswers
}

/** What all requests to one operation pass. */
interface Passage {
  readonly operation: Operation
  readonly validator: OperationValidator
  readonly door: Door
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

/**
 * What the content type parsers hand to the handler instead of a parsed body: a function that reads it, or the stream of an
 * upload.
 */
type RawBody =
  | { readonly read: (bytesMax: number) => Promise<Uint8Array>; readonly upload: undefined }
  | { readonly upload: AsyncIterable<Uint8Array> }

/** The routes of one operation, one for each address. */
export function routesOf(operation: Operation, door: Door): RouteOptions[] {
  const passage: Passage = { operation, validator: new OperationValidator(operation), door }
  return [operation.url, ...(operation.otherUrls ?? [])].map((url) => ({
    method: operation.method,
    url,
    config: { operation },
    onRequest: (request, reply, done) => admit(request, reply, passage, done),
    handler: (request, reply) => carryOut(request, reply, passage),
  }))
}

/**
 * Refuses what can be refused before the body is read. Decides at once, without a promise for each request, where the caller is
 * known already and the limits are this process's own.
 */
function admit(request: FastifyRequest, reply: FastifyReply, passage: Passage, done: HookHandlerDoneFunction): void {
  const { authentication, parts, readiness } = passage.door
  const now = parts.clock()
  request.receivedAt = now
  const { loss } = readiness
  if (loss) return done(loss)
  try {
    const found = authentication.authenticate(request.headers.authorization, callerAddress(request), now)
    const admitted = afterwards(found, (caller) => admitCaller(request, reply, passage, caller))
    if (admitted instanceof Promise) void admitted.then(() => done(), done)
    else done()
  } catch (error) {
    done(error as Error)
  }
}

function admitCaller(
  request: FastifyRequest,
  reply: FastifyReply,
  { operation, door }: Passage,
  caller: Caller,
): void | Promise<void> {
  request.caller = caller
  const refusal = refusalOf(request, caller, operation)
  if (refusal) {
    const counted = door.rateLimits.count({ workspace: caller.workspace, operation, now: door.parts.clock() })
    return afterwards(counted, (state) => {
      setLimitHeaders(reply, state)
      throw refusal
    })
  }
  // Where the units depend on the body, they are taken when it has been read.
  return operation.limitUnits ? undefined : takeLimit(request, reply, operation, 1, door)
}

/** Goes on at once with a value that is there, and later with one that is promised. */
function afterwards<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
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

/** Throws, or rejects, when the units cannot be taken. */
function takeLimit(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation,
  units: number,
  { rateLimits, parts }: DoorParts,
): void | Promise<void> {
  const { workspace } = request.caller as Caller
  const taken = rateLimits.take({ workspace, operation, units, now: parts.clock() })
  return afterwards(taken, (outcome) => passLimit(reply, operation, units, outcome))
}

function passLimit(reply: FastifyReply, operation: Operation, units: number, { state, refusal }: LimitOutcome): void {
  setLimitHeaders(reply, state)
  if (refusal) throw refusal instanceof NeverPasses ? tooManyUnits(operation, units, refusal) : refusal
}

function tooManyUnits({ limitUnits }: Operation, units: number, { limitName, limit }: NeverPasses): AppError {
  const problem = `needs ${units} units of limits.${limitName}, and a whole window holds ${limit}: send smaller requests`
  return invalidRequest([{ field: limitUnits?.field ?? 'body', problem }])
}

/**
 * Counts a request that Fastify refused with an error, before the handler could read its body, as one. Returns the refusal that
 * comes first: the limit's, or that error.
 */
export async function countUnread(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  door: DoorParts,
): Promise<unknown> {
  const { operation } = request.routeOptions.config
  try {
    if (operation?.limitUnits && request.caller) await takeLimit(request, reply, operation, 1, door)
    return error
  } catch (refusal) {
    return refusal
  }
}

function setLimitHeaders(reply: FastifyReply, state: LimitState): void {
  reply.header('x-ratelimit-limit', state.limit)
  reply.header('x-ratelimit-remaining', state.remaining)
  reply.header('x-ratelimit-reset', state.reset)
}

async function carryOut(request: FastifyRequest, reply: FastifyReply, passage: Passage): Promise<Payload> {
  const output = runOperation(request, reply, passage, await readInput(request, reply, passage))
  return preparePayload(reply, passage, await output)
}

/** A function of its own, so that what was made of the body need not stay in memory until the operation is done. */
function runOperation(
  request: FastifyRequest,
  reply: FastifyReply,
  passage: Passage,
  sent: SentInput,
): Promise<unknown> {
  const { input, faults } = checkInput(request, reply, passage, sent)
  return faults.length > 0 ? refuseInput(passage, input, faults) : passage.operation.handle(input, passage.door.parts)
}

type Input = OperationRequest<RequestFields, RequestFields, unknown>

/** Throws AppError `invalid_request` with every fault of the whole request. */
async function refuseInput(
  { operation, door: { parts } }: Passage,
  input: Input,
  faults: readonly Fault[],
): Promise<never> {
  const stored = (await operation.storedFaults?.(input, parts.database)) ?? []
  throw invalidRequest([...faults, ...stored])
}

interface SentInput {
  readonly upload: AsyncIterable<Uint8Array> | undefined
  readonly bytes: Uint8Array
  readonly value: unknown
}

function checkInput(
  request: FastifyRequest,
  reply: FastifyReply,
  { operation, validator }: Passage,
  sent: SentInput,
): { readonly input: Input; readonly faults: readonly Fault[] } {
  const path = validator.path(request.params)
  const query = validator.query(request.query, request.url)
  const body = operation.body && !sent.upload ? validator.body(operation.body, sent.value) : NO_BODY
  const input = toOperationRequest(request, reply, sent, [path.value, query.value, body.value])
  const faults = [
    ...headerFaults(request, operation),
    ...path.faults,
    ...query.faults,
    ...body.faults,
    ...(operation.faults?.(input) ?? []),
  ]
  return { input, faults }
}

const NO_BODY = { value: undefined, faults: [] as readonly Fault[] }

/** Reads the body, and takes the units of the limit where they depend on it: a body that cannot be read counts as one. */
async function readInput(
  request: FastifyRequest,
  reply: FastifyReply,
  { operation, door }: Passage,
): Promise<SentInput> {
  const raw = request.body as RawBody | undefined
  let units = 1
  try {
    if (!operation.body || raw?.upload) return { bytes: NO_BYTES, value: undefined, upload: raw?.upload }
    const bytes = raw ? await raw.read(operation.bodyBytesMax ?? BODY_BYTES_MAX) : NO_BYTES
    const value = parseJson(bytes)
    units = operation.limitUnits?.count(value) ?? 1
    return { bytes, value, upload: undefined }
  } finally {
    const taken = operation.limitUnits && takeLimit(request, reply, operation, units, door)
    if (taken) await taken
  }
}

function toOperationRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  sent: SentInput,
  [path, query, body]: readonly [path: unknown, query: unknown, body: unknown],
): Input {
  const { workspace, tile } = request.caller as Caller
  return {
    workspace,
    tile,
    requestId: request.id,
    now: request.receivedAt,
    callerAddress: callerAddress(request),
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

/** What Fastify sends as it is. Returning it saves the promises with which Fastify would wait for a reply that sends itself. */
type Payload = string | Readable | undefined

/** Sets status and headers. Throws `unavailable` where the request changed nothing and too much else is unsent. */
function preparePayload(reply: FastifyReply, { operation, door: { unsent } }: Passage, value: unknown): Payload {
  reply.code(operation.successStatus)
  if (operation.successStatus === 204) return undefined
  reply.header('content-type', 'application/json; charset=utf-8')
  const text = value instanceof JsonText ? value : JSON.stringify(value)
  const bytes = text instanceof JsonText ? text.byteLength : Buffer.byteLength(text)
  if (operation.method !== 'GET' && !operation.onlyReads) unsent.add(reply.raw, bytes)
  else if (!unsent.addIfFits(reply.raw, bytes)) throw tooMuchUnsent()
  if (text instanceof JsonText) return inPieces(reply, text.pieces)
  return bytes <= PIECE_BYTES_MAX ? text : inPieces(reply, [Buffer.from(text)])
}

function inPieces(reply: FastifyReply, pieces: readonly Uint8Array[]): Readable {
  const bytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0)
  reply.header('content-length', bytes)
  return Readable.from(piecesToSend(pieces), { objectMode: false })
}

type BodyDone = (error: Error | null, body: RawBody) => void

/** The content type parser of JSON: nothing is read before the handler says how much may be. */
export function deferJson(bodies: ReceivedBodies) {
  return (request: FastifyRequest, _payload: unknown, done: BodyDone): void => {
    const sender = senderOf(request)
    done(null, { read: (bytesMax) => readBody(request.raw, { sender, bytesMax, bodies }), upload: undefined })
  }
}

/** The content type parser of everything else: the handler refuses it, so that the request counts in the limit. */
export async function deferUnsupported({ routeOptions }: FastifyRequest): Promise<RawBody> {
  return { read: () => refuseMediaType(routeOptions.config.operation), upload: undefined }
}

async function refuseMediaType(operation: Operation | undefined): Promise<never> {
  const types = ['application/json', ...(operation?.upload ? [operation.upload.mediaType] : [])]
  throw new AppError('unsupported_media_type', `The body needs Content-Type: ${types.join(' or ')}.`)
}

/** The content type parser of an operation's upload. */
export function deferUpload(toRead: Omit<BodyToRead, 'sender'>): (request: FastifyRequest) => Promise<RawBody> {
  return async (request) => ({ upload: streamBody(request.raw, { sender: senderOf(request), ...toRead }) })
}

function senderOf({ caller }: FastifyRequest): string {
  return caller?.workspace.id ?? ''
}
