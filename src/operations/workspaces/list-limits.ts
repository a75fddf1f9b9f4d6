// List limits: returns how much of each limit the API keys of the workspace used in the window under way.
import { Type } from 'typebox'
import { toIso } from '../../core/time-value.ts'
import { LIMIT_DEFAULTS, type LimitName } from '../../core/workspace.ts'
import { IsoTime, NoFields, Nullable, OneOf, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'

const LIMITS = Object.keys(LIMIT_DEFAULTS) as LimitName[]

export const listLimits = defineOperation({
  name: 'list_limits',
  summary: 'List limits',
  description:
    'Returns each limit of the workspace with what API keys used of it in the minute or UTC day under way. Each operation ' +
    'has a window of its own: the response shows the operation that used most of its window. Reading takes nothing from ' +
    'other operations. People who signed in have limits of their own, which are not shown.',
  group: 'Workspace',
  method: 'GET',
  url: '/v1/workspaces/:Workspace_ID/limits',
  requires: 'settings.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: NoFields,
  body: null,
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        limit: OneOf(LIMITS, 'The setting is `limits.` and this name.'),
        units: Type.Integer({ description: 'What a whole window holds: requests, or events of Track Events.' }),
        window: OneOf(['minute', 'day']),
        operation: Nullable(Type.String({ description: 'The operation that used most. Null: none used any.' })),
        used: Type.Integer({ description: 'The units that it used. More than `units` if the limit was lowered.' }),
        remaining: Type.Integer(),
        resets_at: IsoTime,
      }),
      { maxItems: LIMITS.length },
    ),
  }),
  async handle({ workspace, now }, { listUsedLimits }) {
    const limits = await listUsedLimits(workspace, now)
    return {
      data: limits.map(({ resetsAt, units, used, ...limit }) => {
        return { ...limit, units, used, remaining: Math.max(0, units - used), resets_at: toIso(resetsAt) }
      }),
    }
  },
})
