// What every request passes on its way to an operation, in the order of refusals: authentication, suspension, tile and
// workspace, limit, media type, size, JSON, fields.
import { AppError, invalidRequest, type Fault } from '../core/app-error.ts'
import {
  BODY_BYTES_MAX,
  type Operation,
  type OperationRequest,
  type Parts,
  type RequestFields,
} from '../operations/operation.ts'
import type { UnsentAnswers } from './answers/unsent-answers.ts'
import { readBasic, type Authentication, type Caller } from './authentication.ts'
import type { Exchange, SentBody } from './exchange.ts'
import { NeverPasses, type Limiter, type LimitOutcome, type LimitState } from './limits/limiter.ts'
import type { Readiness } from './operator/readiness.ts'
import { parseJson } from './requests/json-body.ts'
import type { ReceivedBodies } from './requests/received-bodies.ts'
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
export interface Passage {
  readonly operation: Operation
  readonly validator: OperationValidator
  readonly door: Door
}

/** The name of the request header that carries the workspace id where the document asks for it. */
const APP_KEY = 'svc-appkey'
const IDEMPOTENCY_KEY = 'idempotency-key'
const IDEMPOTENCY_KEY_VALID = /^[\u0020-\u007e]{1,128}$/
const NO_BYTES = new Uint8Array(0)

export function passageOf(operation: Operation, door: Door): Passage {
  return { operation, validator: new OperationValidator(operation), door }
}

/**
 * Refuses what can be refused before the body is read. Decides at once, without a promise for each request, where the caller is
 * known already and the limits are this process's own. Throws, or rejects, with the refusal.
 */
export function admit(exchange: Exchange, passage: Passage): void | Promise<void> {
  const { authentication, parts, readiness } = passage.door
  const now = parts.clock()
  exchange.receivedAt = now
  const { loss } = readiness
  if (loss) throw loss
  const attempt = (exchange.attempt ??= readBasic(exchange.headers.authorization))
  const found = authentication.authenticate(attempt, () => exchange.callerAddress(), now)
  return afterwards(found, (caller) => admitCaller(exchange, passage, caller))
}

function admitCaller(exchange: Exchange, { operation, door }: Passage, caller: Caller): void | Promise<void> {
  exchange.caller = caller
  const refusal = refusalOf(exchange, caller, operation)
  if (refusal) {
    const counted = door.rateLimits.count({ workspace: caller.workspace, operation, now: door.parts.clock() })
    return afterwards(counted, (state) => {
      setLimitHeaders(exchange, state)
      throw refusal
    })
  }
  // Where the units depend on the body, they are taken when it has been read.
  return operation.limitUnits ? undefined : takeLimit(exchange, operation, 1, door)
}

/** Goes on at once with a value that is there, and later with one that is promised. */
function afterwards<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}

function refusalOf(exchange: Exchange, { workspace, tile }: Caller, operation: Operation): AppError | undefined {
  if (workspace.suspended) return new AppError('forbidden', 'The workspace is suspended.')
  if (operation.tile !== 'either' && operation.tile !== tile) {
    return new AppError('forbidden', `This operation needs the key of the tile "${operation.tile}".`)
  }
  const inPath = (exchange.params as Record<string, unknown>)['Workspace_ID']
  if (inPath !== undefined && inPath !== workspace.id) {
    const details = [{ field: 'path.Workspace_ID', problem: 'must be the workspace of the Authorization header' }]
    return new AppError('forbidden', 'The path names another workspace than the Authorization header.', details)
  }
  const appKey = exchange.headers[APP_KEY]
  if (operation.takesAppKey && appKey !== undefined && appKey !== '' && appKey !== workspace.id) {
    const details = [{ field: 'header.SVC-APPKEY', problem: 'must be the workspace of the Authorization header' }]
    return new AppError('forbidden', 'SVC-APPKEY names another workspace than the Authorization header.', details)
  }
  return undefined
}

/** Throws, or rejects, when the units cannot be taken. */
export function takeLimit(
  exchange: Exchange,
  operation: Operation,
  units: number,
  { rateLimits, parts }: DoorParts,
): void | Promise<void> {
  const { workspace } = exchange.caller as Caller
  const taken = rateLimits.take({ workspace, operation, units, now: parts.clock() })
  return afterwards(taken, (outcome) => passLimit(exchange, operation, units, outcome))
}

function passLimit(exchange: Exchange, operation: Operation, units: number, { state, refusal }: LimitOutcome): void {
  setLimitHeaders(exchange, state)
  if (refusal) throw refusal instanceof NeverPasses ? tooManyUnits(operation, units, refusal) : refusal
}

function tooManyUnits({ limitUnits }: Operation, units: number, { limitName, limit }: NeverPasses): AppError {
  const problem = `needs ${units} units of limits.${limitName}, and a whole window holds ${limit}: send smaller requests`
  return invalidRequest([{ field: limitUnits?.field ?? 'body', problem }])
}

function setLimitHeaders(exchange: Exchange, state: LimitState): void {
  exchange.setHeader('x-ratelimit-limit', state.limit)
  exchange.setHeader('x-ratelimit-remaining', state.remaining)
  exchange.setHeader('x-ratelimit-reset', state.reset)
}

/**
 * Reads the body of a request that was admitted, and gives what the operation answers. Rejects with the refusal. What is there
 * already is worked on at once: a promise for each stage is felt where a request has one event (`docs/decisions/0030`).
 */
export function carryOut(exchange: Exchange, passage: Passage, body: SentBody): Promise<unknown> {
  try {
    const sent = readInput(exchange, passage, body)
    if (sent instanceof Promise) return sent.then((read) => runOperation(exchange, passage, read))
    return runOperation(exchange, passage, sent)
  } catch (error) {
    return Promise.reject(error)
  }
}

/** A function of its own, so that what was made of the body need not stay in memory until the operation is done. */
function runOperation(exchange: Exchange, passage: Passage, sent: SentInput): Promise<unknown> {
  const checked = checkInput(exchange, passage, sent)
  if (checked.faults.length > 0) return runOrRefuse(exchange, passage, sent, checked)
  return passage.operation.handle(checked.input, passage.door.parts)
}

type Input = OperationRequest<RequestFields, RequestFields, unknown>

interface CheckedInput {
  readonly input: Input
  readonly faults: readonly Fault[]
}

/**
 * What is refused by the settings of the workspace may be right by newer ones: whoever has just added a category uses it at once.
 * Rejects with AppError `invalid_request` and every fault of the whole request where it is wrong all the same.
 */
async function runOrRefuse(
  exchange: Exchange,
  passage: Passage,
  sent: SentInput,
  known: CheckedInput,
): Promise<unknown> {
  const { operation, door } = passage
  const caller = exchange.caller as Caller
  const renewed = await door.authentication.renew(caller)
  const isNewer = renewed.workspace !== caller.workspace
  if (isNewer) {
    exchange.caller = renewed
    // It may have been suspended, too.
    const refusal = refusalOf(exchange, renewed, operation)
    if (refusal) throw refusal
  }
  const { input, faults } = isNewer ? checkInput(exchange, passage, sent) : known
  if (faults.length === 0) return operation.handle(input, door.parts)
  const stored = (await operation.storedFaults?.(input, door.parts.database)) ?? []
  throw invalidRequest([...faults, ...stored])
}

interface SentInput {
  readonly upload: AsyncIterable<Uint8Array> | undefined
  readonly bytes: Uint8Array
  readonly value: unknown
}

function checkInput(exchange: Exchange, passage: Passage, sent: SentInput): CheckedInput {
  const { operation, validator } = passage
  const body = operation.body && !sent.upload ? validator.body(operation.body, sent.value) : NO_BODY
  return checkAround(exchange, passage, sent, body)
}

/** All of a request with a body that was checked, or that cannot be read. */
function checkAround(
  exchange: Exchange,
  { operation, validator }: Passage,
  sent: SentInput,
  body: { readonly value: unknown; readonly faults: readonly Fault[] },
): CheckedInput {
  const path = validator.path(exchange.params)
  const query = validator.query(exchange.query, exchange.url)
  const input = toOperationRequest(exchange, sent, [path.value, query.value, body.value])
  const faults = [
    ...headerFaults(exchange, operation),
    ...path.faults,
    ...query.faults,
    ...body.faults,
    ...(operation.faults?.(input) ?? []),
  ]
  return { input, faults }
}

const NO_BODY = { value: undefined, faults: [] as readonly Fault[] }

/** Reads the body, and takes the units of the limit where they depend on it: a body that cannot be read counts as one. */
function readInput(exchange: Exchange, passage: Passage, body: SentBody): SentInput | Promise<SentInput> {
  const { operation } = passage
  const upload = body && 'upload' in body ? body.upload : undefined
  if (!operation.body || upload) {
    return afterwards(takeUnits(exchange, passage, 1), () => ({ bytes: NO_BYTES, value: undefined, upload }))
  }
  const bytes = readBytes(body, operation)
  if (!(bytes instanceof Promise)) return parseInput(exchange, passage, bytes)
  return bytes.then(
    (all) => parseInput(exchange, passage, all),
    (error: unknown) => refuseBody(exchange, passage, error),
  )
}

function parseInput(exchange: Exchange, passage: Passage, bytes: Uint8Array): SentInput | Promise<SentInput> {
  let value: unknown
  try {
    value = parseJson(bytes)
  } catch (error) {
    return refuseBody(exchange, passage, error)
  }
  const units = passage.operation.limitUnits?.count(value) ?? 1
  return afterwards(takeUnits(exchange, passage, units), () => ({ bytes, value, upload: undefined }))
}

/** Throws, or rejects, with the error and what else is wrong with the request, unless the limit refuses even that. */
function refuseBody(exchange: Exchange, passage: Passage, error: unknown): never | Promise<never> {
  return afterwards(takeUnits(exchange, passage, 1), () => {
    throw withOtherFaults(error, exchange, passage)
  })
}

function withOtherFaults(error: unknown, exchange: Exchange, passage: Passage): unknown {
  if (!(error instanceof AppError) || error.code !== 'invalid_request') return error
  const { faults } = checkAround(exchange, passage, NOTHING_SENT, { value: undefined, faults: error.details })
  return faults.length > error.details.length ? invalidRequest(faults) : error
}

const NOTHING_SENT: SentInput = { bytes: NO_BYTES, value: undefined, upload: undefined }

function takeUnits(exchange: Exchange, { operation, door }: Passage, units: number): void | Promise<void> {
  return operation.limitUnits ? takeLimit(exchange, operation, units, door) : undefined
}

/** At once what is there already. */
function readBytes(body: SentBody, { bodyBytesMax = BODY_BYTES_MAX }: Operation): Uint8Array | Promise<Uint8Array> {
  if (!body) return NO_BYTES
  if ('read' in body) return body.read(bodyBytesMax)
  return 'bytes' in body ? body.bytes : NO_BYTES
}

function toOperationRequest(
  exchange: Exchange,
  sent: SentInput,
  [path, query, body]: readonly [path: unknown, query: unknown, body: unknown],
): Input {
  const { workspace, tile } = exchange.caller as Caller
  return {
    workspace,
    tile,
    requestId: exchange.requestId,
    now: exchange.receivedAt,
    callerAddress: exchange.callerAddress(),
    path: path as RequestFields,
    query: query as RequestFields,
    body,
    bodyBytes: sent.bytes,
    upload: sent.upload,
    header(name) {
      const value = exchange.headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    answerAs: (requestId) => exchange.setHeader('x-request-id', requestId),
  }
}

function headerFaults({ headers }: Exchange, operation: Operation): Fault[] {
  const faults: Fault[] = []
  if (operation.takesAppKey && !headers[APP_KEY]) {
    faults.push({ field: 'header.SVC-APPKEY', problem: 'is required: the workspace id' })
  }
  const key = operation.takesIdempotencyKey ? headers[IDEMPOTENCY_KEY] : undefined
  if (key !== undefined && (typeof key !== 'string' || !IDEMPOTENCY_KEY_VALID.test(key))) {
    faults.push({ field: 'header.Idempotency-Key', problem: 'must be 1 to 128 printable ASCII characters' })
  }
  return faults
}
