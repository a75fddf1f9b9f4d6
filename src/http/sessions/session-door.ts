// Finds the person behind a request by the cookie of a session. The workspace is that of the path, or else that of the header
// SVC-APPKEY; the role that the person has there decides what they may do.
import { AppError } from '../../core/app-error.ts'
import { isOutsideWorkspaces, type PersonCredential } from '../../core/accounts/credential.ts'
import { roleIn, type RoleGrant } from '../../core/accounts/person.ts'
import { DEFAULT_SETTINGS, type Workspace } from '../../core/workspace.ts'
import { WORKSPACE_ID } from '../../core/workspaces/workspace-id.ts'
import { hashToken } from '../../actions/accounts/secret-token.ts'
import type { Operation } from '../../operations/operation.ts'
import { findPersonByNumber } from '../../store/accounts/people.ts'
import { listGrants } from '../../store/accounts/person-roles.ts'
import { findSession, touchSession } from '../../store/accounts/sessions.ts'
import type { Database } from '../../store/store.ts'
import type { Caller } from '../authentication.ts'
import type { RequestContext } from '../request-context.ts'
import type { WorkspaceRegistry } from '../workspace-registry.ts'
import { refuseOtherSites } from './connection-security.ts'
import { readSessionCookie } from './session-cookie.ts'

/** How exactly the time of the last request of a session is stored: a write for each request would be too many. */
const SEEN_EXACT_MS = 60_000
/** Stands for the workspace of operations that belong to none. */
const NO_WORKSPACE: Workspace = {
  ...DEFAULT_SETTINGS,
  id: '',
  name: '',
  createdAt: 0,
  globalControlSeed: '',
  linkKey: '',
}
const NOBODY: Caller = { workspace: NO_WORKSPACE, credential: { kind: 'none' } }

export interface SessionParts {
  readonly database: Database
  readonly registry: WorkspaceRegistry
  /** Whether sessions over plain http are refused (REQUIRE_HTTPS). */
  readonly requiresHttps: boolean
}

/** What a session needs to know of a request. */
export type SentCookie = Pick<RequestContext, 'headers' | 'isSecure' | 'callerAddress'>

interface SessionRequest {
  readonly sent: SentCookie
  readonly now: number
  /** Whether it keeps the session alive. */
  readonly isUse: boolean
}

export class SessionDoor {
  readonly #parts: SessionParts

  constructor(parts: SessionParts) {
    this.#parts = parts
  }

  /**
   * The caller, if the request has the cookie of a session, or needs none and belongs to no workspace; undefined if it must have a key.
   * Throws AppError `unauthorized` if the session has ended, `forbidden` if another site sent the request, or over plain http if that
   * is not allowed.
   */
  async find(
    context: RequestContext,
    { requires, isPolled }: Operation,
    workspaceId: string | undefined,
    now: number,
  ): Promise<Caller | undefined> {
    const isOutside = isOutsideWorkspaces(requires)
    const token = readSessionCookie(context.headers.cookie, context.isSecure)
    if (token === undefined && !isOutside) return undefined
    refuseOtherSites(context.headers)
    this.#refusePlain(context)
    const found =
      token === undefined ? undefined : await this.#findPerson(token, { sent: context, now, isUse: !isPolled })
    if (!found && requires === 'nothing') return NOBODY
    if (!found) throw new AppError('unauthorized', 'You are not signed in, or your session has ended. Sign in again.')
    if (isOutside) return { workspace: NO_WORKSPACE, credential: { ...found.person, role: undefined } }
    if (workspaceId === undefined) throw workspaceNeeded()
    const workspace = await this.#findWorkspace(workspaceId)
    const role = workspace && roleIn(found.grants, workspace.id)
    if (!workspace || !role) {
      throw new AppError('forbidden', 'You have no role in this workspace, or it does not exist.')
    }
    return { workspace, credential: { ...found.person, role } }
  }

  /**
   * Whether the request has the cookie of a session; not which site sent it. Throws AppError `forbidden` over plain http if that is not
   * allowed.
   */
  async isSignedIn(sent: SentCookie, now: number): Promise<boolean> {
    const token = readSessionCookie(sent.headers.cookie, sent.isSecure)
    if (token === undefined) return false
    this.#refusePlain(sent)
    return (await this.#findPerson(token, { sent, now, isUse: true })) !== undefined
  }

  #refusePlain({ isSecure }: Pick<RequestContext, 'isSecure'>): void {
    if (!this.#parts.requiresHttps || isSecure) return
    throw new AppError('forbidden', 'This server allows sign-in only over https (REQUIRE_HTTPS).')
  }

  async #findPerson(token: string, { sent, now, isUse }: SessionRequest): Promise<FoundPerson | undefined> {
    const { database } = this.#parts
    const session = await findSession(database, hashToken(token), now)
    const person = session && (await findPersonByNumber(database, session.person))
    if (!session || !person) return undefined
    if (isUse && now - session.lastSeenAt >= SEEN_EXACT_MS) {
      const seen = { id: session.id, lastSeenAt: now, address: sent.callerAddress() }
      await database.write((store) => touchSession(store, seen))
    }
    return {
      person: { kind: 'person', personId: person.id, email: person.email, sessionId: session.id },
      grants: await listGrants(database, person.number),
    }
  }

  /** Also one that is newer than the cache. */
  async #findWorkspace(id: string): Promise<Workspace | undefined> {
    if (!WORKSPACE_ID.test(id)) return undefined
    const { registry } = this.#parts
    if (!registry.get(id)) await registry.refreshShared()
    return registry.get(id)?.workspace
  }
}

function workspaceNeeded(): AppError {
  const details = [{ field: 'header.SVC-APPKEY', problem: 'is required with a session: the workspace id' }]
  return new AppError('forbidden', 'The request names no workspace. Send its id in the header SVC-APPKEY.', details)
}

interface FoundPerson {
  readonly person: Omit<PersonCredential, 'role'>
  readonly grants: readonly RoleGrant[]
}
