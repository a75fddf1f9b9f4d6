// The type of an operation: one value from which its route, validation, limits, OpenAPI document and reference page are derived.
// Each operation has its own file; `operations.ts` lists them.
import type { Static, TObject, TSchema } from 'typebox'
import type { Fault, WarningKind } from '../core/app-error.ts'
import type { Credential, Requirement } from '../core/accounts/credential.ts'
import type { DeliveryConfig } from '../core/delivery/delivery-config.ts'
import type { LimitName, Workspace } from '../core/workspace.ts'
import type { SystemState } from '../core/workspaces/system-state.ts'
import type { UsedLimit } from '../core/workspaces/used-limit.ts'
import type { Renderer } from '../delivery/content/renderer.ts'
import type { LogReader, LogWriter } from '../log/event-log.ts'
import type { SecretVault } from '../store/secret-vault.ts'
import type { Database, Store } from '../store/store.ts'
import type { EmailVault } from '../store/users/email-vault.ts'
import type { ResponseMemory } from './response-memory.ts'
import type { AppliedEntries } from './applied-entries.ts'
import type { EventRates } from './overview/event-rates.ts'
import type { Freshness } from './statistics/freshness.ts'
import type { ResponseCache } from './statistics/response-cache.ts'
import type { FetchText } from '../actions/feedback/services/webhook.ts'
import type { PasswordHashes } from '../actions/accounts/password-hash.ts'
import type { SignInDelays } from '../actions/accounts/sign-in-delays.ts'
import type { ReplayParked } from '../actions/parked-entries.ts'
import type { NameCache } from '../actions/name-cache.ts'
import type { KeyedQueue } from '../concurrency/keyed-queue.ts'
import type { Slots } from './slots.ts'

/** What operations work with. Made once, at the start of the server. */
export interface Parts {
  readonly database: Database
  readonly log: LogWriter
  readonly logReader: LogReader
  /** Undefined if the server has no PII_KEY; then no workspace encrypts emails. */
  readonly emailVault: EmailVault | undefined
  /** Undefined if a store in PostgreSQL has no SECRET_KEY; then no secret can be stored. */
  readonly secretVault: SecretVault | undefined
  readonly delivery: DeliveryConfig
  /** For previews, tests and the links that show a message. Its thread starts with the first of them. */
  readonly renderer: Renderer
  /** Hashes of people's passwords. */
  readonly passwordHashes: PasswordHashes
  /** For signing in. */
  readonly signInDelays: SignInDelays
  readonly freshness: Freshness
  /** For Get changes. */
  readonly eventRates: EventRates
  /** For operations that name a user. */
  readonly appliedEntries: AppliedEntries
  /** For Fetch Campaign Stats: JSON of the numbers of campaigns. */
  readonly responseCache: ResponseCache
  /** For Add Coupons: limits uploads. */
  readonly uploadSlots: Slots
  /** For Import people: limits imports. */
  readonly importSlots: Slots
  /** For exports: limits them. */
  readonly exportSlots: Slots
  /** For reports: the dimensions and reasons of campaigns. */
  readonly nameCache: NameCache
  /** For work that must run one at a time, or that would block other workspaces if one ran many at once. */
  readonly queue: KeyedQueue
  /** Limits the memory of all responses that are being prepared. */
  readonly responseMemory: ResponseMemory
  /** What keys used of each limit of a workspace, in the windows under way. Takes nothing. */
  readonly listUsedLimits: (workspace: Workspace, now: number) => Promise<readonly UsedLimit[]>
  /** What this process and what it stands on are now. */
  readonly readSystem: () => Promise<SystemState>
  /** The pipeline's, which stands above operations. */
  readonly replayParked: ReplayParked
  /** Counts one warning in the metrics. */
  readonly countWarning: (operation: string, kind: WarningKind) => void
  /** Fetches a small text from a mail service, such as its certificate. */
  readonly fetchText: FetchText
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  /** The same for entries of the log; see `core/receipt-clock.ts`. */
  readonly receiptClock: () => number
}

/** The parts that exist before the operations are loaded. */
export type FirstParts = Omit<Parts, 'listUsedLimits' | 'readSystem' | 'replayParked'>

/** A request that passed the checks of the lifecycle: authenticated, within its limits, its fields valid. */
export interface OperationRequest<Path, Query, Body> {
  readonly workspace: Workspace
  /** The caller authenticated with it; `none` where the operation needs no key. */
  readonly credential: Credential
  readonly requestId: string
  /** When the server received it. */
  readonly now: number
  /** The caller's address, as reported by trusted proxies. */
  readonly callerAddress: string
  readonly path: Path
  readonly query: Query
  readonly body: Body
  /** The body as sent, decompressed; empty if the operation takes none. */
  readonly bodyBytes: Uint8Array
  /** The body as a stream, if the request has a media type of the operation's `upload`, and that type. */
  readonly upload: AsyncIterable<Uint8Array> | undefined
  readonly uploadType: string | undefined
  readonly header: (name: string) => string | undefined
  /** The header Idempotency-Key, if the operation takes it. */
  readonly idempotencyKey: string | undefined
  /** Whether what the browser sends stays secret on the way. */
  readonly isSecure: boolean
  /** Gives the browser the token of a session, or takes it away. */
  readonly setSession: (token: string | null) => void
  /** Sends the response with the id of the request that this one repeats. */
  readonly answerAs: (requestId: string) => void
}

/** A value as checks beyond the schema see it: members that the schema refused are undefined, members not sent are absent. */
export type Partially<Value> = Value extends readonly (infer Item)[]
  ? readonly (Partially<Item> | undefined)[]
  : Value extends object
    ? { readonly [Key in keyof Value]?: Partially<Value[Key]> | undefined }
    : Value

export interface OperationSpec<Path extends TObject, Query extends TObject, Body extends TSchema, Output> {
  /** snake_case; also the name in metrics and, with capitals, in OpenAPI. */
  readonly name: string
  readonly summary: string
  /** For the reference page: the rules that a caller must know, in the words of the API document. */
  readonly description: string
  readonly group:
    | 'Email templates'
    | 'Coupon lists'
    | 'Events and users'
    | 'Preferences'
    | 'Campaigns'
    | 'Segments'
    | 'Senders'
    | 'Suppressions and feedback'
    | 'People and sessions'
    | 'Workspace'
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** A POST that changes nothing, so that clients may repeat it. */
  readonly isReadOnly?: true
  /** Whether open pages ask it all the time by themselves, so that it says nothing of a person and keeps no session alive. */
  readonly isPolled?: true
  /**
   * Whether simple requests take the fast path (`http/fast-path/`), because clients send very many. The operation must take JSON
   * and return a small value.
   */
  readonly isFrequent?: true
  /** In Fastify's notation: `/v1/event/:Workspace_ID`. */
  readonly url: string
  /** Further addresses of the same operation. */
  readonly otherUrls?: readonly string[]
  /** What the caller needs: a permission, for which keys and roles stand in `core/accounts/permission.ts`. */
  readonly requires: Requirement
  /** Whether the header SVC-APPKEY must hold the workspace id. */
  readonly takesAppKey: boolean
  /** Whether the header Idempotency-Key is read. Every operation that creates or appends takes it. */
  readonly takesIdempotencyKey?: boolean
  /** Whether the header X-Forwarded-For is read as the address of the user. */
  readonly takesForwardedFor?: boolean
  readonly limits: readonly LimitName[]
  /** How many units of the limits a body takes, and the field that decides it. Without it every request takes one. */
  readonly limitUnits?: { readonly field: string; readonly count: (body: unknown) => number }
  readonly path: Path
  readonly query: Query
  /** Null if the operation takes no JSON. */
  readonly body: Body | null
  readonly bodyBytesMax?: number
  /**
   * Bodies of other media types, passed to the handler as a stream, with an example of each. If `body` is null, the operation takes
   * nothing else.
   */
  readonly upload?: { readonly bytesMax: number; readonly examples: Readonly<Record<string, string>> }
  /** An example of the body, for the reference page. */
  readonly example?: unknown
  /** Returns every fault that the schema cannot find. Called with the fields that are valid so far. */
  readonly faults?: (request: FaultRequest<Static<Path>, Static<Query>, Static<Body>>) => readonly Fault[]
  /**
   * Returns faults that only the store can find. `handle` checks them again. Called only if the request has other faults, so that
   * one response names all of them. Called with the fields that are valid so far. Some faults depend on the server's settings.
   */
  readonly storedFaults?: (
    request: FaultRequest<Static<Path>, Static<Query>, Static<Body>>,
    store: Store,
    settings: Pick<Parts, 'delivery' | 'secretVault' | 'emailVault' | 'logReader'>,
  ) => Promise<readonly Fault[]>
  /** The error codes of `handle`, besides those of every operation. */
  readonly refusals?: readonly ('not_found' | 'conflict')[]
  readonly successStatus: 200 | 201 | 204
  /** The media type of a response that is no JSON; `output` is then the schema of each of its lines. */
  readonly outputType?: string
  /** A media type in which the response comes if the client asks for it by Accept, with an example. */
  readonly otherOutput?: { readonly type: string; readonly example: string }
  /** Null with 204. */
  readonly output: TSchema | null
  /** An example of the response, if one generated from the schema would be too large to read. */
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

/** The fields of a path or query of any operation. */
export type RequestFields = Static<TObject>

/** Any operation, without its own types of path, query and body. */
export type Operation = OperationSpec<TObject, TObject, TSchema, unknown>

/** The body limit of operations that name none. */
export const BODY_BYTES_MAX = 1024 * 1024
/** That of operations that anybody may call: together, strangers must not hold much memory. */
export const STRANGERS_BODY_BYTES_MAX = 16 * 1024

/** What clients may know of an operation from its type: where it is, and the schemas of what it takes and returns. */
export interface TypedOperation<
  Url extends string,
  Method extends Operation['method'],
  Schemas extends OperationSchemas,
> extends Operation {
  readonly url: Url
  readonly method: Method
  /** Only for the compiler: no operation has a value here. */
  readonly schemas?: Schemas
}

export interface OperationSchemas {
  readonly path: TObject
  readonly query: TObject
  readonly body: TSchema | null
  readonly output: TSchema | null
}

/** Makes the compiler check that handler, checks and schemas of one operation agree, and remember what clients need. */
export function defineOperation<
  Path extends TObject,
  Query extends TObject,
  Body extends TSchema,
  Output,
  const Url extends string,
  Method extends Operation['method'],
  Sent extends TSchema | null,
  Returned extends TSchema | null,
>(
  spec: OperationSpec<Path, Query, Body, Output> & {
    readonly url: Url
    readonly method: Method
    readonly body: Sent
    readonly output: Returned
  },
): TypedOperation<Url, Method, { path: Path; query: Query; body: Sent; output: Returned }> {
  // The lifecycle validates with these schemas before it calls `handle`, so the types dropped here hold there.
  const operation: Operation = spec as OperationSpec<Path, Query, Body, Output>
  return operation as TypedOperation<Url, Method, { path: Path; query: Query; body: Sent; output: Returned }>
}
