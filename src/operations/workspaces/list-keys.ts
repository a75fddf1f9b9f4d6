// List keys: returns what is known of the API keys of the workspace, never the keys.
import { Type } from 'typebox'
import { requireWorkspace } from '../../actions/workspaces/require-workspace.ts'
import { KEY_TILES } from '../../core/accounts/key-tile.ts'
import { toIso } from '../../core/time-value.ts'
import { validPrevious } from '../../store/workspaces/api-key.ts'
import { findKeyUses } from '../../store/workspaces/key-uses.ts'
import { IsoTime, NoFields, Nullable, OneOf, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'

export const listKeys = defineOperation({
  name: 'list_keys',
  summary: 'List keys',
  description:
    'Returns for each tile when and by whom its key was made, and when it was last used. Nobody can read a key again: ' +
    'only its hash is stored. Uses are noted once a minute. `previous` is the key before it, while that is still valid.',
  group: 'Workspace',
  method: 'GET',
  url: '/v1/workspaces/:Workspace_ID/keys',
  requires: 'keys.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: NoFields,
  body: null,
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        tile: OneOf(KEY_TILES),
        created_at: Nullable(IsoTime),
        created_by: Nullable(
          Type.String({ description: 'Such as `person:ada@example.com` or `command:root`. Null: not known.' }),
        ),
        last_used_at: Nullable(IsoTime),
        previous: Nullable(Type.Object({ valid_until: IsoTime, last_used_at: Nullable(IsoTime) })),
      }),
      { maxItems: KEY_TILES.length },
    ),
  }),
  async handle({ workspace, now }, { database }) {
    const { keys } = await requireWorkspace(database, workspace.id)
    const uses = await findKeyUses(database, workspace.id)
    const useOf = (hash: string) => toIsoOrNull(uses.get(hash))
    return {
      data: KEY_TILES.map((tile) => {
        const { hash, createdAt, createdBy } = keys[tile]
        const old = validPrevious(keys[tile], now)
        const previous = old && { valid_until: toIso(old.validUntil), last_used_at: useOf(old.hash) }
        return { tile, created_at: toIsoOrNull(createdAt), created_by: createdBy, last_used_at: useOf(hash), previous }
      }),
    }
  },
})

function toIsoOrNull(at: number | null | undefined): string | null {
  return at === undefined || at === null ? null : toIso(at)
}
