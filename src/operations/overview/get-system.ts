// Get system: what the process that answers and what it stands on are now, for people who look after the server.
import { Type } from 'typebox'
import { toIso } from '../../core/time-value.ts'
import { LOG_KINDS, PROCESS_ROLES, STORE_KINDS } from '../../core/workspaces/system-state.ts'
import { IsoTime, NoFields, Nullable, OneOf, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'

export const getSystem = defineOperation({
  name: 'get_system',
  summary: 'Get system',
  description:
    'Returns the versions of the process that answers, whether it is ready as `/readyz` says, and the sizes of its store and log, which ' +
    'all workspaces share. Of several processes, each tells of itself.',
  group: 'Workspace',
  method: 'GET',
  url: '/v1/workspaces/:Workspace_ID/system',
  requires: 'system.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: NoFields,
  body: null,
  successStatus: 200,
  output: Type.Object({
    version: Type.String({ description: 'Of Tidings.' }),
    node_version: Type.String(),
    roles: Type.Array(OneOf(PROCESS_ROLES), { description: 'What the process does.' }),
    started_at: IsoTime,
    memory_bytes: Type.Integer({ description: 'Resident memory of the process.' }),
    is_ready: Type.Boolean(),
    problems: Type.Array(Type.String(), { description: 'Why the process is not ready.' }),
    store: Type.Object({
      kind: OneOf(STORE_KINDS),
      schema: Type.String({ description: 'The newest migration of the tables.' }),
      bytes: Type.Integer({ description: 'In PostgreSQL with the log, unless that is in NATS.' }),
    }),
    log: Type.Object({
      kind: OneOf(LOG_KINDS),
      bytes: Nullable(Type.Integer({ description: 'Null: the log is no file of this process.' })),
      lag_entries: Type.Integer({ description: 'Entries that are not processed yet.' }),
      lag_seconds: Nullable(
        Type.Number({ description: 'The age of the oldest of them. Null: it is damaged and has none.' }),
      ),
    }),
  }),
  async handle(_request, { readSystem }) {
    const { store, log, problems, ...process } = await readSystem()
    return {
      version: process.version,
      node_version: process.nodeVersion,
      roles: process.roles,
      started_at: toIso(process.startedAt),
      memory_bytes: process.memoryBytes,
      is_ready: problems.length === 0,
      problems,
      store,
      log: {
        kind: log.kind,
        bytes: log.bytes,
        lag_entries: log.lagEntries,
        lag_seconds: Number.isNaN(log.lagSeconds) ? null : log.lagSeconds,
      },
    }
  },
})
