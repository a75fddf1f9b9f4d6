// The ids of workspaces. The dashboard has the pages of a workspace at `/dashboard/{id}`.

/** Every id that a workspace may have ever got. */
export const WORKSPACE_ID = /^[A-Za-z0-9_-]{1,64}$/

/** What the dashboard has at `/dashboard/{name}` in place of a workspace. */
export const DASHBOARD_NAMES: readonly string[] = ['setup', 'invitation', 'reset', 'sign-in', 'assets']

/** Why a new workspace cannot have an id; undefined if it can. */
export function workspaceIdProblem(id: string): string | undefined {
  if (!WORKSPACE_ID.test(id)) return 'must be 1 to 64 letters, digits, _ and -'
  if (DASHBOARD_NAMES.includes(id))
    return `must not be ${DASHBOARD_NAMES.join(', ')}: the dashboard has pages of that name`
  return undefined
}
