// Who is signed in, the workspace of the page, and what the person may do and see there. The server decides; this only hides what it would
// refuse.
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { exec } from 'preact-iso/router'
import { isSufficient } from '../../src/core/accounts/credential.ts'
import type { Permission } from '../../src/core/accounts/permission.ts'
import type { AnswerOf } from './contracts.ts'
import { pageAddress } from './address.ts'

export type SessionBody = AnswerOf<'POST', '/v1/sessions'>
export type SessionWorkspace = SessionBody['workspaces'][number]

export const SessionContext = createContext<SessionBody | undefined>(undefined)
/** Asks again who is signed in, for changes of the person or of a workspace. */
export const SessionRefreshContext = createContext<() => Promise<void>>(() => Promise.resolve())
export const WorkspaceContext = createContext<SessionWorkspace | undefined>(undefined)

export function useSession(): SessionBody {
  const session = useContext(SessionContext)
  if (!session) throw new Error('nobody is signed in')
  return session
}

export interface CurrentWorkspace {
  readonly id: string
  readonly name: string
  /** The IANA zone in which all times are shown. */
  readonly zone: string
  readonly role: SessionWorkspace['role']
  readonly isSuspended: boolean
  readonly may: (permission: Permission) => boolean
  /** The address of a page of this workspace. */
  readonly page: (...parts: readonly string[]) => string
}

export function useWorkspace(): CurrentWorkspace {
  const workspace = useContext(WorkspaceContext)
  if (!workspace) throw new Error('this component is outside of a workspace')
  const { workspace_id: id, name, timezone: zone, role, suspended: isSuspended } = workspace
  return {
    id,
    name,
    zone,
    role,
    isSuspended,
    may: (permission) => isSufficient({ kind: 'person', personId: '', email: '', sessionId: '', role }, permission),
    page: (...parts) => pageAddress(id, ...parts),
  }
}

export interface ScreenPath {
  /** Behind the workspace: `/campaigns/:campaign_id`. */
  readonly path: string
  readonly needs: Permission
}

export const ScreenPathsContext = createContext<readonly ScreenPath[]>([])

/** Gives the address of a page of the workspace; undefined if there is none, or the person may not see it. */
export function usePageIfAllowed(): (...parts: readonly string[]) => string | undefined {
  const screens = useContext(ScreenPathsContext)
  const { may, page } = useWorkspace()
  return (...parts) => {
    const wanted = `/${parts.map((part) => encodeURIComponent(part)).join('/')}`
    const found = screens.find(({ path }) => exec(wanted, path))
    return found && may(found.needs) ? page(...parts) : undefined
  }
}
