// Which workspace the address of a page is about: `/dashboard/{workspace}/…`.
import { DASHBOARD_NAMES } from '../../src/core/workspaces/workspace-id.ts'

export function workspaceIn(path: string): string | undefined {
  const [, name] = /^\/dashboard\/([\w-]+)/.exec(path) ?? []
  return name === undefined || DASHBOARD_NAMES.includes(name) ? undefined : name
}
