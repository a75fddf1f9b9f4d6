// Export users: streams all users of a workspace with their preferences, oldest first, in the form that an import takes.
import { Type } from 'typebox'
import type { Workspace } from '../../core/workspace.ts'
import { toIso } from '../../core/time-value.ts'
import { NOTHING_SET, toOptIn, type Preference } from '../../core/users/preference.ts'
import { findPreferences } from '../../store/users/preferences.ts'
import { listUserIdsAfter } from '../../store/users/users.ts'
import { findCategories } from '../../store/workspaces/workspaces.ts'
import { IsoTime, Nullable, Strict, WorkspacePath } from '../fields.ts'
import { defineOperation, type Parts } from '../operation.ts'
import { PageCursor } from '../page-cursor.ts'
import { OptInOutput, toOptInBody } from '../preferences/opt-in-body.ts'
import { usersPerPortion } from '../preferences/preference-users.ts'
import { readUserBodies, UserOutput, type ShownUser } from '../users/user-body.ts'
import { After, afterFaults, EXPORT_RULES, ExportCursor } from './export-cursor.ts'
import { LINES_TYPE, streamLines } from './line-stream.ts'

const CURSOR = new PageCursor('x', ['id'])

export const exportUsers = defineOperation({
  name: 'export_users',
  summary: 'Export users',
  description:
    'Streams every user of the workspace with the current email preferences, oldest first. Import people takes these lines. ' +
    '`opt_in_status` is null until it is decided. Merged users appear once. Users that are created meanwhile may or may not ' +
    `be among them. ${EXPORT_RULES}`,
  group: 'Events and users',
  method: 'GET',
  url: '/v1/customer/:Workspace_ID/export',
  requires: 'users.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({ after: After }),
  body: null,
  faults: ({ query: { after } }) => afterFaults(after, CURSOR),
  successStatus: 200,
  outputType: LINES_TYPE,
  output: Type.Object({
    ...UserOutput,
    ...OptInOutput,
    opt_in_status: Nullable(OptInOutput.opt_in_status),
    preferences_updated_at: Nullable(IsoTime),
    cursor: ExportCursor,
  }),
  async handle({ workspace, query }, parts) {
    const after = query.after === undefined ? 0 : (CURSOR.parse(query.after)?.id ?? 0)
    return streamLines({ slots: parts.exportSlots, workspaceId: workspace.id }, usersAfter(after, workspace, parts))
  },
})

async function* usersAfter(
  start: number,
  workspace: Workspace,
  { database, emailVault }: Parts,
): AsyncGenerator<readonly string[]> {
  const active = await findCategories(database, workspace.id)
  const max = usersPerPortion(workspace)
  for (let after = start; ;) {
    const ids = await listUserIdsAfter(database, workspace.id, { after, max })
    const preferences = await findPreferences(database, ids)
    for await (const users of readUserBodies(database, ids, { workspace, emailVault })) {
      yield users.map((user) => writeLine(user, preferences.get(user.id)?.preference ?? NOTHING_SET, active))
    }
    if (ids.length < max) return
    after = ids.at(-1) as number
  }
}

function writeLine({ id, body }: ShownUser, preference: Preference, active: ReadonlySet<string>): string {
  const { status, updatedAt } = preference
  return JSON.stringify({
    ...body,
    ...toOptInBody(toOptIn(preference, active)),
    ...(status === null && { opt_in_status: null }),
    preferences_updated_at: updatedAt === null ? null : toIso(updatedAt),
    cursor: CURSOR.write({ id }),
  })
}
