// Decides whether a caller who proved its identity may use an operation in the workspace that the request names.
import { AppError } from '../core/app-error.ts'
import {
  isKeyless,
  isOutsideWorkspaces,
  isSufficient,
  rolesOf,
  tilesOf,
  type Credential,
  type Requirement,
} from '../core/accounts/credential.ts'
import type { Operation } from '../operations/operation.ts'
import type { Caller } from './authentication.ts'
import type { RequestContext } from './request-context.ts'

/** The name of the request header that carries the workspace id where the document asks for it. */
export const APP_KEY = 'svc-appkey'

export function workspaceInPath({ params }: RequestContext): string | undefined {
  return (params as Readonly<Record<string, string | undefined>>)['Workspace_ID']
}

/** The refusal; undefined if the caller may go on. */
export function callerRefusal(
  context: RequestContext,
  { workspace, credential }: Caller,
  operation: Operation,
): AppError | undefined {
  if (workspace.suspended && !mayEnterSuspended(credential, operation)) {
    return new AppError('forbidden', 'The workspace is suspended.')
  }
  if (!isSufficient(credential, operation.requires)) {
    return insufficient(credential, operation.requires)
  }
  const inPath = workspaceInPath(context)
  if (inPath !== undefined && inPath !== workspace.id) {
    const details = [{ field: 'path.Workspace_ID', problem: 'must be the workspace of the Authorization header' }]
    return new AppError('forbidden', 'The path names a different workspace than the Authorization header.', details)
  }
  const appKey = context.headers[APP_KEY]
  if (operation.takesAppKey && appKey !== undefined && appKey !== '' && appKey !== workspace.id) {
    const details = [{ field: 'header.SVC-APPKEY', problem: 'must be the workspace of the Authorization header' }]
    return new AppError('forbidden', 'SVC-APPKEY names a different workspace than the Authorization header.', details)
  }
  return undefined
}

/** People can still look around, and change the settings, or nobody could resume the workspace. */
function mayEnterSuspended({ kind }: Credential, { method, isReadOnly, requires }: Operation): boolean {
  return kind === 'person' && (method === 'GET' || isReadOnly === true || requires === 'settings.write')
}

function insufficient(credential: Credential, required: Requirement): AppError {
  if (isKeyless(required) || isOutsideWorkspaces(required)) return new AppError('forbidden', 'Sign in first.')
  if (credential.kind === 'person') {
    const role = credential.role ? `Your role is ${credential.role}.` : 'You have no role in this workspace.'
    return new AppError('forbidden', `This operation needs one of the roles ${rolesOf(required).join(', ')}. ${role}`)
  }
  const [tile] = tilesOf(required)
  if (tile) return new AppError('forbidden', `This operation needs the key of the tile "${tile}".`)
  return new AppError('forbidden', 'This operation needs a signed-in person. API keys cannot use it.')
}
