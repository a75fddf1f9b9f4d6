// HTTP Basic authentication ("Authentication"): the user name is the workspace id, the password one of its two keys. Every failure
// must look the same from outside, in its body and in its timing.
import { AppError } from '../core/app-error.ts'
import type { Credential } from '../core/accounts/credential.ts'
import { WORKSPACE_ID, type Workspace } from '../core/workspace.ts'
import { StoreError } from '../store/store.ts'
import { hashKey, matchTile } from '../store/workspaces/api-key.ts'
import type { KeyHashes, StoredWorkspace } from '../store/workspaces/workspaces.ts'
import { MINUTE_MS, rateLimited } from './limits/limiter.ts'
import type { WorkspaceRegistry } from './workspace-registry.ts'

/** Failed attempts from one address in a minute; further ones get 429. */
const FAILURES_PER_MINUTE_MAX = 100
/** Addresses counted separately in one minute; those beyond share one count. */
const ADDRESSES_COUNTED_MAX = 10_000
const OTHER_ADDRESSES = 'others'

/** The hashes that a key is compared with if there is no such workspace; no key has them. */
const NO_HASHES: KeyHashes = { data: '0'.repeat(64), reports: '0'.repeat(64) }
/** The message of every failure. */
const CREDENTIALS_NEEDED =
  'The Authorization header is missing or wrong. Send "Basic", a space, and the base64 of id:key, a workspace id and one of its API keys.'
const WORKSPACE_NEEDED = 'The path names no workspace of this server.'
const NO_CREDENTIAL: Credential = { kind: 'none' }
/** Not a workspace id, so that none is found. */
const NO_WORKSPACE_ID = ' '

export interface Caller {
  readonly workspace: Workspace
  readonly credential: Credential
}

/** A parsed Authorization header. It depends on nothing else, so it may be cached with the header. */
export interface Attempt {
  readonly user: string
  readonly keyHash: string
  /** False without the header: many clients send each request without a key first, and with it only when a 401 asks for it. */
  readonly isTried: boolean
}

/** How a caller is looked for in the cache, and what the refusal says. */
interface Search extends Pick<Attempt, 'isTried'> {
  readonly find: () => Caller | undefined
  readonly needed: string
}

export class Authentication {
  readonly #registry: WorkspaceRegistry
  readonly #failures = new FailureCount()

  constructor(registry: WorkspaceRegistry) {
    this.#registry = registry
  }

  /**
   * Finds the caller. Rejects with `unauthorized`, or with `rate_limited` for an address that failed too often. A right key always
   * passes, and then the address is not needed.
   */
  async authenticate(attempt: Attempt, address: () => string, now: number): Promise<Caller> {
    const find = () => toCaller(this.#registry.get(attempt.user), attempt.keyHash)
    return find() ?? this.#askAgain({ find, isTried: attempt.isTried, needed: CREDENTIALS_NEEDED }, address, now)
  }

  /**
   * The caller of an operation that needs no key: nobody, in the workspace that the path names. Rejects as `authenticate` if there is
   * no such workspace, so that workspaces cannot be guessed faster than keys.
   */
  async admitWithoutKey(workspaceId: string, address: () => string, now: number): Promise<Caller> {
    const find = () => {
      const stored = this.#registry.get(workspaceId)
      return stored && { workspace: stored.workspace, credential: NO_CREDENTIAL }
    }
    return find() ?? this.#askAgain({ find, isTried: true, needed: WORKSPACE_NEEDED }, address, now)
  }

  /** Whether the key is right according to the cache. A newer key may be right although this returns false. */
  isValidInCache({ user, keyHash }: Attempt): boolean {
    return toCaller(this.#registry.get(user), keyHash) !== undefined
  }

  /** The caller with the current settings of its workspace. The same object if nothing changed, or if the database is slow. */
  async renew({ workspace, credential }: Caller): Promise<Caller> {
    await this.#registry.refreshSoon().catch(leaveUnavailable)
    return { workspace: this.#registry.get(workspace.id)?.workspace ?? workspace, credential }
  }

  /**
   * The key or workspace may be newer than the cache. The work is the same whether the key or the workspace is wrong, so that both
   * failures take equally long. An address that failed too often causes no query: its attempts wait for the next one of the timer.
   * At most one attempt waits for each connection.
   */
  async #askAgain({ find, isTried, needed }: Search, address: () => string, now: number): Promise<Caller> {
    const blockedSeconds = isTried ? this.#failures.blockedSeconds(address(), now) : undefined
    await (blockedSeconds === undefined ? this.#registry.refreshShared() : this.#registry.awaitRefresh())
    const caller = find()
    if (caller) return caller
    const retryAfterSeconds = blockedSeconds ?? (isTried ? this.#failures.add(address(), now) : undefined)
    if (retryAfterSeconds === undefined) {
      throw new AppError('unauthorized', needed)
    }
    throw rateLimited('Too many failed attempts from this address.', retryAfterSeconds)
  }
}

/** The registry reports that itself. */
function leaveUnavailable(error: unknown): void {
  const isUnavailable = error instanceof AppError && error.code === 'unavailable'
  if (!isUnavailable && !(error instanceof StoreError)) throw error
}

function toCaller(stored: StoredWorkspace | undefined, keyHash: string): Caller | undefined {
  const tile = matchTile(keyHash, stored?.keyHashes ?? NO_HASHES)
  return stored && tile ? { workspace: stored.workspace, credential: { kind: 'key', tile } } : undefined
}

/** A malformed header becomes a user that cannot exist, so it is treated like a wrong key. */
export function readBasic(authorization: string | undefined): Attempt {
  const encoded = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(authorization ?? '')?.[1] ?? ''
  const decoded = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = decoded.indexOf(':')
  const user = decoded.slice(0, Math.max(0, colon))
  return {
    user: WORKSPACE_ID.test(user) ? user : NO_WORKSPACE_ID,
    keyHash: hashKey(decoded.slice(colon + 1)),
    isTried: authorization !== undefined,
  }
}

class FailureCount {
  #minute = 0
  readonly #counts = new Map<string, number>()

  /** The seconds until the next minute, if the address failed too often in this one. */
  blockedSeconds(address: string, now: number): number | undefined {
    const { count, minute } = this.#find(address, now)
    if (count < FAILURES_PER_MINUTE_MAX) return undefined
    return Math.max(1, Math.ceil(((minute + 1) * MINUTE_MS - now) / 1000))
  }

  /** Counts one failure, unless there were too many before it: then returns the same as `blockedSeconds`. */
  add(address: string, now: number): number | undefined {
    const blockedSeconds = this.blockedSeconds(address, now)
    const { key, count } = this.#find(address, now)
    if (blockedSeconds === undefined) this.#counts.set(key, count + 1)
    return blockedSeconds
  }

  #find(address: string, now: number) {
    const minute = Math.floor(now / MINUTE_MS)
    if (minute !== this.#minute) this.#counts.clear()
    this.#minute = minute
    const isCounted = this.#counts.has(address) || this.#counts.size < ADDRESSES_COUNTED_MAX
    const key = isCounted ? address : OTHER_ADDRESSES
    return { key, count: this.#counts.get(key) ?? 0, minute }
  }
}
