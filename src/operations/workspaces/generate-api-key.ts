// Generate key: replaces the API key of a tile. The response is the only place where the new key ever stands.
import { Type } from 'typebox'
import { OLD_KEY_HOURS_MAX, replaceKey } from '../../actions/workspaces/replace-key.ts'
import { KEY_TILES } from '../../core/accounts/key-tile.ts'
import { toIso } from '../../core/time-value.ts'
import { IsoTime, NoFields, Nullable, OneOf, Strict, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'

export const generateApiKey = defineOperation({
  name: 'generate_key',
  summary: 'Generate key',
  description:
    'Replaces the key of a tile and returns the new one, which cannot be read again. The old key stops working within a ' +
    'second, or after `old_key_valid_hours`. A key that an earlier request kept valid stops working at once. No ' +
    '`Idempotency-Key` is taken, because the response would have to be stored: a repeat makes another key.',
  group: 'Workspace',
  method: 'POST',
  url: '/v1/workspaces/:Workspace_ID/keys/:tile',
  requires: 'keys.write',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: Strict({ ...WorkspacePath.properties, tile: OneOf(KEY_TILES, 'The tile whose key is replaced.') }),
  query: NoFields,
  body: Strict({
    old_key_valid_hours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OLD_KEY_HOURS_MAX,
        default: 0,
        description: 'How long the old key stays valid.',
      }),
    ),
  }),
  example: { old_key_valid_hours: 24 },
  successStatus: 201,
  output: Type.Object({
    tile: OneOf(KEY_TILES),
    key: Type.String(),
    previous_valid_until: Nullable(IsoTime),
  }),
  async handle(request, { database }) {
    const { tile } = request.path
    const { old_key_valid_hours: oldKeyValidHours = 0 } = request.body
    const replacement = { tile, oldKeyValidHours, by: request }
    const { key, previousValidUntil } = await database.write((store) => replaceKey(store, replacement))
    return { tile, key, previous_valid_until: previousValidUntil === null ? null : toIso(previousValidUntil) }
  },
})
