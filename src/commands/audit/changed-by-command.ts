// Who makes the changes of a command, for the audit trail: the user of the operating system who runs it.
import { userInfo } from 'node:os'
import type { ChangeContext, Changer } from '../../core/accounts/audit.ts'

/** Changes of one workspace. */
export function changedByCommand(workspaceId: string): ChangeContext {
  return { ...commandChanger(), workspace: { id: workspaceId } }
}

/** Changes of a resource that says which workspace it is of. */
export function commandChanger(): Changer {
  return { credential: { kind: 'command', user: findUser() }, callerAddress: null, requestId: null, now: Date.now() }
}

/** The number of the user where it has no name, as in many containers. */
function findUser(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.geteuid?.() ?? 'unknown')
  }
}
