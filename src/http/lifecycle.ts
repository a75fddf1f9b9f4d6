// The lifecycle of every request to an operation, and the order of refusals: authentication, suspension, credential and workspace,
// limit, media type, size, JSON, fields. Track Events takes its limit after the JSON, because its units are its events. It must not
// know how a request travels: it sees a RequestContext, never Fastify or a socket.
import { AppError, callerLeft, invalidRequest, type Fault } from '../core/app-error.ts'
import { isKeyless, isOutsideWorkspaces } from '../core/accounts/credential.ts'
import {
  BODY_BYTES_MAX,
  type Operation,
  type OperationRequest,
  type Parts,
  type RequestFields,
} from '../operations/operation.ts'
import { collect } from '../operations/feedback/collect-upload.ts'
import type { UnsentAnswers } from './answers/unsent-answers.ts'
import { readBasic, type Authentication, type Caller } from './authentication.ts'
import type { Limiter } from './limits/limiter.ts'
import { countRefused, takeLimit } from './limits/take-limit.ts'
import type { Readiness } from './operator/readiness.ts'
import { APP_KEY, callerRefusal, workspaceInPath } from './refuse-caller.ts'
import type { RequestContext, SentBody } from './request-context.ts'
import { parseJson, type JsonBody } from './requests/json-body.ts'
import type { ReceivedBodies } from './requests/received-bodies.ts'
import type { CallerLimits } from './limits/caller-limits.ts'
import { toSetCookie } from './sessions/session-cookie.ts'
import type { SessionDoor } from './sessions/session-door.ts'
import { OperationValidator } from './requests/validation.ts'

export interface LifecycleParts {
  readonly parts: Parts
  readonly authentication: Authentication
  readonly sessions: SessionDoor
  readonly callerLimits: CallerLimits
  readonly rateLimits: Limiter
}

/** The same, with the counters that one server shares among all its requests. */
export interface Lifecycle extends LifecycleParts {
  readonly readiness: Readiness
  readonly bodies: ReceivedBodies
  readonly unsent: UnsentAnswers
}

/** An operation with everything its requests pass through. */
export interface RouteBinding {
  readonly operation: Operation
  readonly validator: OperationValidator
  readonly lifecycle: Lifecycle
}

const IDEMPOTENCY_KEY = 'idempotency-key'
const IDEMPOTENCY_KEY_VALID = /^[\u0020-\u007e]{1,128}$/
const NO_BYTES = new Uint8Array(0)
const NO_KEYS: readonly string[] = []

export function bindRoute(operation: Operation, lifecycle: Lifecycle): RouteBinding {
  return { operation, validator: new OperationValidator(operation), lifecycle }
}

/** Makes every check that does not need the body. Rejects with the refusal. */
export async function admit(context: RequestContext, { operation, lifecycle }: RouteBinding): Promise<void> {
  const { parts, readiness } = lifecycle
  const now = parts.clock()
  context.receivedAt = now
  if (readiness.loss) throw readiness.loss
  const caller = await findCaller(context, operation, { ...lifecycle, now })
  context.caller = caller
  const refusal = callerRefusal(context, caller, operation)
  if (refusal) {
    await countRefused(context, operation, lifecycle)
    throw refusal
  }
  // If the units depend on the body, they are taken after it is read.
  if (!operation.limitUnits) await takeLimit(context, operation, 1, lifecycle)
}

/**
 * By the key or, without one, by the session. Without either, where the operation needs none, the workspace of the path is the
 * caller's.
 */
function findCaller(
  context: RequestContext,
  operation: Operation,
  parts: Pick<LifecycleParts, 'authentication' | 'sessions'> & { readonly now: number },
): Promise<Caller> {
  const { requires } = operation
  const hasKey = requires !== 'signature' && context.headers.authorization !== undefined
  if (isOutsideWorkspaces(requires) || (!hasKey && !isKeyless(requires))) return findPerson(context, operation, parts)
  if (isKeyless(requires) && !hasKey) {
    const address = () => context.callerAddress()
    return parts.authentication.admitWithoutKey(workspaceInPath(context) ?? '', address, parts.now)
  }
  return findByKey(context, parts)
}

function findByKey(
  context: RequestContext,
  { authentication, now }: Pick<LifecycleParts, 'authentication'> & { readonly now: number },
): Promise<Caller> {
  context.attempt ??= readBasic(context.headers.authorization)
  return authentication.authenticate(context.attempt, () => context.callerAddress(), now)
}

/** By the session; without one, the refusal is that of a missing key. */
async function findPerson(
  context: RequestContext,
  operation: Operation,
  parts: Pick<LifecycleParts, 'authentication' | 'sessions'> & { readonly now: number },
): Promise<Caller> {
  const named = workspaceInPath(context) ?? context.headers[APP_KEY]?.toString()
  const caller = await parts.sessions.find(context, operation, named, parts.now)
  return caller ?? findByKey(context, parts)
}

/** Reads the body of an admitted request and runs the operation. Resolves with its output, rejects with the refusal. */
export async function carryOut(context: RequestContext, binding: RouteBinding, body: SentBody): Promise<unknown> {
  return runOperation(context, binding, await readInput(context, binding, body))
}

/** Not async and not inlined: while the operation runs, nothing here keeps the body in memory. */
function runOperation(context: RequestContext, binding: RouteBinding, sent: SentInput): Promise<unknown> {
  const checked = checkInput(context, binding, sent)
  if (checked.faults.length > 0) return runOrRefuse(context, binding, sent, checked)
  return binding.operation.requires === 'signature'
    ? handleSigned(context, binding, checked.input)
    : handle(context, binding, checked.input)
}

/**
 * Handles a request with a wrong signature once more with the current settings of the workspace: services use a new key at once. Keeps
 * the body for that, which is small.
 */
async function handleSigned(context: RequestContext, binding: RouteBinding, input: Input): Promise<unknown> {
  const body = await collect(input.upload)
  try {
    return await handle(context, binding, { ...input, upload: streamOf(body) })
  } catch (error) {
    const isWrong = error instanceof AppError && error.code === 'unauthorized'
    if (!isWrong || !(await renewCaller(context, binding))) throw error
    const { workspace } = context.caller as Caller
    return handle(context, binding, { ...input, workspace, upload: streamOf(body) })
  }
}

async function* streamOf(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body
}

/** Begins nothing for a connection that has ended: neither the operation nor later what waits in its queue. Not async, as above. */
function handle(
  context: RequestContext,
  { operation, lifecycle: { parts } }: RouteBinding,
  input: Input,
): Promise<unknown> {
  if (context.isEnded) throw callerLeft()
  const queue = parts.queue.whileWanted(() => !context.isEnded)
  return operation.handle(input, { ...parts, queue })
}

type Input = OperationRequest<RequestFields, RequestFields, unknown>

interface CheckedInput {
  readonly input: Input
  readonly faults: readonly Fault[]
}

/**
 * Checks a request with faults once more with the current settings of the workspace, because clients use a new category at once.
 * Rejects with `invalid_request` and all faults if it is still wrong.
 */
async function runOrRefuse(
  context: RequestContext,
  binding: RouteBinding,
  sent: SentInput,
  checked: CheckedInput,
): Promise<unknown> {
  const { operation, lifecycle } = binding
  const isNewer = await renewCaller(context, binding)
  const { input, faults } = isNewer ? checkInput(context, binding, sent) : checked
  if (faults.length === 0) return handle(context, binding, input)
  const stored = (await operation.storedFaults?.(input, lifecycle.parts.database, lifecycle.parts)) ?? []
  throw invalidRequest([...faults, ...stored])
}

/** True if settings of the workspace have changed. Rejects with the refusal if it is suspended by now. */
async function renewCaller(context: RequestContext, { operation, lifecycle }: RouteBinding): Promise<boolean> {
  const caller = context.caller as Caller
  const renewed = await lifecycle.authentication.renew(caller)
  if (renewed.workspace === caller.workspace) return false
  context.caller = renewed
  const refusal = callerRefusal(context, renewed, operation)
  if (refusal) throw refusal
  return true
}

interface SentInput extends JsonBody {
  readonly upload: AsyncIterable<Uint8Array> | undefined
  readonly uploadType: string | undefined
  readonly bytes: Uint8Array
}

function checkInput(context: RequestContext, binding: RouteBinding, sent: SentInput): CheckedInput {
  const { operation, validator } = binding
  const body = operation.body && !sent.upload ? validator.body(operation.body, sent) : NO_BODY
  return checkAround(context, binding, sent, body)
}

/** Checks everything but the body, which is already checked or unreadable. */
function checkAround(
  context: RequestContext,
  { operation, validator }: RouteBinding,
  sent: SentInput,
  body: { readonly value: unknown; readonly faults: readonly Fault[] },
): CheckedInput {
  const path = validator.path(context.params)
  const query = validator.query(context.query, context.url)
  const input = toOperationRequest(context, { operation, sent }, [path.value, query.value, body.value])
  const faults = [
    ...headerFaults(context, operation),
    ...path.faults,
    ...query.faults,
    ...body.faults,
    ...(operation.faults?.(input) ?? []),
  ]
  return { input, faults }
}

const NO_BODY = { value: undefined, faults: [] as readonly Fault[] }
const NOTHING_SENT: SentInput = {
  bytes: NO_BYTES,
  value: undefined,
  hasLongNumbers: false,
  upload: undefined,
  uploadType: undefined,
}

/** Reads the body, and takes units that depend on it; an unreadable body takes one, and is refused with every other fault. */
async function readInput(context: RequestContext, binding: RouteBinding, body: SentBody): Promise<SentInput> {
  const { operation } = binding
  const upload = body && 'upload' in body ? body.upload : undefined
  let sent: SentInput
  try {
    if (!upload && operation.upload && !operation.body) throw wrongMediaType(operation)
    sent = operation.body && !upload ? await readJson(body, operation) : toUpload(body)
  } catch (error) {
    await takeUnits(context, binding, 1)
    throw withOtherFaults(error, context, binding)
  }
  const isCounted = operation.limitUnits && operation.body && !upload
  await takeUnits(context, binding, isCounted ? operation.limitUnits.count(sent.value) : 1)
  return sent
}

/** The refusal of a body whose media type the operation does not take. */
export function wrongMediaType(operation: Operation | undefined): AppError {
  const takesJson = !operation || operation.body || !operation.upload
  const types = [...(takesJson ? ['application/json'] : []), ...Object.keys(operation?.upload?.examples ?? {})]
  return new AppError('unsupported_media_type', `The body needs Content-Type: ${types.join(' or ')}.`)
}

function toUpload(body: SentBody): SentInput {
  return body && 'upload' in body ? { ...NOTHING_SENT, upload: body.upload, uploadType: body.type } : NOTHING_SENT
}

async function readJson(body: SentBody, { bodyBytesMax = BODY_BYTES_MAX }: Operation): Promise<SentInput> {
  let bytes: Uint8Array = NO_BYTES
  if (body && 'read' in body) bytes = await body.read(bodyBytesMax)
  else if (body && 'bytes' in body) bytes = body.bytes
  return { ...NOTHING_SENT, bytes, ...parseJson(bytes) }
}

function withOtherFaults(error: unknown, context: RequestContext, binding: RouteBinding): unknown {
  if (!(error instanceof AppError) || error.code !== 'invalid_request') return error
  const { faults } = checkAround(context, binding, NOTHING_SENT, { value: undefined, faults: error.details })
  return faults.length > error.details.length ? invalidRequest(faults) : error
}

async function takeUnits(
  context: RequestContext,
  { operation, lifecycle }: RouteBinding,
  units: number,
): Promise<void> {
  if (operation.limitUnits) await takeLimit(context, operation, units, lifecycle)
}

function toOperationRequest(
  context: RequestContext,
  { operation, sent }: { readonly operation: Operation; readonly sent: SentInput },
  [path, query, body]: readonly [path: unknown, query: unknown, body: unknown],
): Input {
  const { workspace, credential } = context.caller as Caller
  return {
    workspace,
    credential,
    requestId: context.requestId,
    now: context.receivedAt,
    callerAddress: context.callerAddress(),
    path: path as RequestFields,
    query: query as RequestFields,
    body,
    bodyBytes: sent.bytes,
    upload: sent.upload,
    uploadType: sent.uploadType,
    header(name) {
      const value = context.headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    idempotencyKey: idempotencyKeysOf(context, operation)[0],
    get isSecure() {
      return context.isSecure
    },
    setSession: (token) => context.setHeader('set-cookie', toSetCookie(token, context.isSecure)),
    answerAs: (requestId) => context.setHeader('x-request-id', requestId),
  }
}

function headerFaults(context: RequestContext, operation: Operation): Fault[] {
  const faults: Fault[] = []
  if (operation.takesAppKey && !context.headers[APP_KEY]) {
    faults.push({ field: 'header.SVC-APPKEY', problem: 'is required: the workspace id' })
  }
  const [key, ...others] = idempotencyKeysOf(context, operation)
  const field = 'header.Idempotency-Key'
  if (others.length > 0) faults.push({ field, problem: 'must be sent only once' })
  else if (key !== undefined && !IDEMPOTENCY_KEY_VALID.test(key)) {
    faults.push({ field, problem: 'must be 1 to 128 printable ASCII characters' })
  }
  return faults
}

/** The different keys that were sent. Node joins repeated headers, which would look like one key. */
function idempotencyKeysOf(context: RequestContext, operation: Operation): readonly string[] {
  if (!operation.takesIdempotencyKey || context.headers[IDEMPOTENCY_KEY] === undefined) return NO_KEYS
  return [...new Set(context.headerValues(IDEMPOTENCY_KEY))]
}
