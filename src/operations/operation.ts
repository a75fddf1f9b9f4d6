// What an operation is: one value from which come its route, validation, limits, OpenAPI and the reference page.
// Each operation has one file beside this one; `operations.ts` lists them.
import type { Static, TObject, TSchema } from 'typebox'
import type { Fault } from '../core/app-error.ts'
import type { Credential, Requirement } from '../core/accounts/credential.ts'
import type { LimitName, Workspace } from '../core/workspace.ts'
import type { LogReader, LogWriter } from '../log/event-log.ts'
import type { Database, Store } from '../store/store.ts'
import type { EmailVault } from '../store/users/email-vault.ts'
import type { ResponseMemory } from './response-memory.ts'
import type { Freshness } from './statistics/freshness.ts'
import type { ResponseCache } from './statistics/response-cache.ts'
import type { NameCache } from '../actions/name-cache.ts'
import type { KeyedQueue } from '../concurrency/keyed-queue.ts'
import type { UploadSlots } from './coupons/upload-slots.ts'

/** What operations work on; made once at the start. */
export interface Parts {
  readonly database: Database
  readonly log: LogWriter
  readonly logReader: LogReader
  /** Undefined when the server has no PII_KEY; then no workspace encrypts. */
  readonly emailVault: EmailVault | undefined
  readonly freshness: Freshness
  /** For Fetch Campaign Stats: the numbers of campaigns. */
  readonly responseCache: ResponseCache
  /** For Add Coupons: bodies that come as a stream. */
  readonly uploadSlots: UploadSlots
  /** For reports: the places and reasons that campaigns have. */
  readonly nameCache: NameCache
  /** For work that must run one at a time, or would block others if a workspace ran as much of it at once as it may. */
  readonly queue: KeyedQueue
  /** The memory that responses take together while they are prepared. */
  readonly responseMemory: ResponseMemory
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  /** The same for what goes into the log; never goes back. */
  readonly receiptClock: () => number
}

/** A request that passed the checks of the lifecycle: authenticated, within its limits, its fields valid. */
export interface OperationRequest<Path, Query, Body> {
  readonly workspace: Workspace
  /** The caller authenticated with it. */
  readonly credential: Credential
  readonly requestId: string
  /** When the server received it. */
  readonly now: number
  /** The caller's own address, as far as trusted proxies tell. */
  readonly callerAddress: string
  readonly path: Path
  readonly query: Query
  readonly body: Body
  /** The body as it came, decompressed; empty where an operation takes none. */
  readonly bodyBytes: Uint8Array
  /** The body as a stream, where the operation takes one and the request sent that media type. */
  readonly upload: AsyncIterable<Uint8Array> | undefined
  readonly header: (name: string) => string | undefined
  /** Answers under the id of the request that this one repeats. */
  readonly answerAs: (requestId: string) => void
}

/** What a check beyond the schema sees: members that the schema refused are undefined; those not sent are not there. */
export type Partially<Value> = Value extends readonly (infer Item)[]
  ? readonly (Partially<Item> | undefined)[]
  : Value extends object
    ? { readonly [Key in keyof Value]?: Partially<Value[Key]> | undefined }
    : Value

export interface OperationSpec<Path extends TObject, Query extends TObject, Body extends TSchema, Output> {
  /** snake_case; also the name in metrics and, with capitals, in OpenAPI. */
  readonly name: string
  readonly summary: string
  /** For the reference page: the rules a caller must know, in the words of the API document. */
  readonly description: string
  readonly group: 'Email templates' | 'Coupon lists' | 'Events and users' | 'Preferences' | 'Campaigns'
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  /** Whether it changes nothing though it is not a GET, so that its answer can be asked for again. */
  readonly onlyReads?: true
  /**
   * Whether simple requests take the fast path (`http/fast-path/`), because clients send very many. The operation takes JSON, and
   * answers with a small value.
   */
  readonly isFrequent?: true
  /** In Fastify's notation: `/v1/event/:Workspace_ID`. */
  readonly url: string
  /** Further addresses of the same operation. */
  readonly otherUrls?: readonly string[]
  /** Which credential the caller needs. */
  readonly requires: Requirement
  /** Whether the header SVC-APPKEY must hold the workspace id. */
  readonly takesAppKey: boolean
  /** Whether the header Idempotency-Key is read. */
  readonly takesIdempotencyKey?: boolean
  /** Whether the header X-Forwarded-For is read as the address of the user. */
  readonly takesForwardedFor?: boolean
  readonly limits: readonly LimitName[]
  /** Units of the limit that a body takes, and the field that holds them; without it every request takes one. */
  readonly limitUnits?: { readonly field: string; readonly count: (body: unknown) => number }
  readonly path: Path
  readonly query: Query
  /** Null where the operation takes no body. */
  readonly body: Body | null
  readonly bodyBytesMax?: number
  /** A body of another media type, given to the handler as a stream. */
  readonly upload?: { readonly mediaType: string; readonly bytesMax: number; readonly example: string }
  /** An example of the body, for the reference page. */
  readonly example?: unknown
  /** What the schema cannot say. Every fault at once; called with what is valid so far. */
  readonly faults?: (request: FaultRequest<Static<Path>, Static<Query>, Static<Body>>) => readonly Fault[]
  /**
   * Faults that only the store can tell, and that `handle` refuses by itself. Called only where something else is at fault, so
   * that these are told at the same time; called with what is valid so far.
   */
  readonly storedFaults?: (
    request: FaultRequest<Static<Path>, Static<Query>, Static<Body>>,
    store: Store,
  ) => Promise<readonly Fault[]>
  /** What `handle` may refuse with, besides what every operation may. */
  readonly refusals?: readonly ('not_found' | 'conflict')[]
  readonly successStatus: 200 | 201 | 204
  /** Null with 204. */
  readonly output: TSchema | null
  /** An example of the answer, where one made from its schema would be too large to read. */
  readonly outputExample?: unknown
  readonly handle: (
    request: OperationRequest<Static<Path>, Static<Query>, Static<Body>>,
    parts: Parts,
  ) => Promise<Output>
}

export type FaultRequest<Path, Query, Body> = Omit<OperationRequest<Path, Query, Body>, 'path' | 'query' | 'body'> & {
  readonly path: Partially<Path>
  readonly query: Partially<Query>
  readonly body: Partially<Body> | undefined
}

/** The fields of a path or query whose operation is not known. */
export type RequestFields = Static<TObject>

/** An operation whose types of path, query and body are known only to itself. */
export type Operation = OperationSpec<TObject, TObject, TSchema, unknown>

/** The body limit where an operation names none. */
export const BODY_BYTES_MAX = 1024 * 1024

/** Checks that handler, checks and schemas of one operation agree, then forgets their types. */
export function defineOperation<Path extends TObject, Query extends TObject, Body extends TSchema, Output>(
  spec: OperationSpec<Path, Query, Body, Output>,
): Operation {
  // The lifecycle validates with these very schemas before it calls, so that the types forgotten here hold there.
  return spec
}
