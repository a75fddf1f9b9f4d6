// HTTP Basic authentication ("Authentication"): the user name is the workspace id, the password one of its two keys. Every failure
// must look the same from outside, in its body and in its timing.
import { AppError } from '../core/app-error.ts'
import type { Credential } from '../core/accounts/credential.ts'
import type { Workspace } from '../core/workspace.ts'
import { WORKSPACE_ID } from '../core/workspaces/workspace-id.ts'
import { StoreError } from '../store/store.ts'
import { hashKey, matchTile, NO_HASH, type ApiKey, type ApiKeys } from '../store/workspaces/api-key.ts'
import type { StoredWorkspace } from '../store/workspaces/workspaces.ts'
import type { KeyUses } from './key-uses.ts'
import { rateLimited } from './limits/limiter.ts'
import { MinuteCounts, secondsLeftOfMinute } from './limits/minute-counts.ts'
import type { WorkspaceRegistry } from './workspace-registry.ts'

/** Failed attempts from one address in a minute; further ones get 429. */
const FAILURES_PER_MINUTE_MAX = 100

const NO_KEY: ApiKey = { hash: NO_HASH, createdAt: null, createdBy: null, previous: null }
/** What a key is compared with if there is no such workspace. */
const NO_KEYS: ApiKeys = { data: NO_KEY, reports: NO_KEY }
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
  readonly #keyUses: KeyUses
  readonly #failures = new FailureCount()

  constructor(registry: WorkspaceRegistry, keyUses: KeyUses) {
    this.#registry = registry
    this.#keyUses = keyUses
  }

  /**
   * Finds the caller. Rejects with `unauthorized`, or with `rate_limited` for an address that failed too often. A right key always
   * passes, and then the address is not needed.
   */
  async authenticate(attempt: Attempt, address: () => string, now: number): Promise<Caller> {
    const find = () => toCaller(this.#registry.get(attempt.user), attempt.keyHash, now)
    const search = { find, isTried: attempt.isTried, needed: CREDENTIALS_NEEDED }
    const caller = find() ?? (await this.#askAgain(search, address, now))
    this.#keyUses.note(attempt.user, attempt.keyHash, now)
    return caller
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
  isValidInCache({ user, keyHash }: Attempt, now: number): boolean {
    return toCaller(this.#registry.get(user), keyHash, now) !== undefined
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

function toCaller(stored: StoredWorkspace | undefined, keyHash: string, now: number): Caller | undefined {
  const tile = matchTile(keyHash, stored?.keys ?? NO_KEYS, now)
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
  readonly #counts = new MinuteCounts()

  /** The seconds until the next minute, if the address failed too often in this one. */
  blockedSeconds(address: string, now: number): number | undefined {
    return this.#counts.find(address, now) < FAILURES_PER_MINUTE_MAX ? undefined : secondsLeftOfMinute(now)
  }

  /** Counts one failure, unless there were too many before it: then returns the same as `blockedSeconds`. */
  add(address: string, now: number): number | undefined {
    const blockedSeconds = this.blockedSeconds(address, now)
    if (blockedSeconds === undefined) this.#counts.add(address, now)
    return blockedSeconds
  }
}
