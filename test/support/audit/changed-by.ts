// Who makes a change where a test calls an operation or an action without HTTP.
import type { ChangeContext } from '../../../src/core/accounts/audit.ts'

export const REQUESTED_BY_TEST = {
  credential: { kind: 'key', tile: 'reports' },
  callerAddress: '127.0.0.1',
  requestId: 'request-of-a-test',
} as const

export function changedByTest(workspaceId: string, now = Date.now()): ChangeContext {
  const credential = { kind: 'command', user: 'test' } as const
  return { workspace: { id: workspaceId }, credential, callerAddress: null, requestId: null, now }
}
