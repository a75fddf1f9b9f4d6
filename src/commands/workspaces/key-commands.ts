// `key generate`: replaces the key of one tile of a workspace.
import { AppError } from '../../core/app-error.ts'
import { KEY_TILES } from '../../core/accounts/credential.ts'
import { generateKey, hashKey } from '../../store/workspaces/api-key.ts'
import { lockWorkspaces, saveKeyHash } from '../../store/workspaces/workspaces.ts'
import type { Command } from '../command.ts'
import { requireWorkspace, withStore } from '../with-store.ts'

const generate: Command = {
  name: 'key generate',
  operands: ['ID', 'data|reports'],
  options: {},
  summary: 'Creates and prints a new key for a tile. The old key stops working within a second.',
  async run({ config, operands: [id = '', word], print }) {
    const tile = KEY_TILES.find((known) => known === word)
    if (!tile) {
      const details = [{ field: 'tile', problem: `must be one of ${KEY_TILES.join(', ')}` }]
      throw new AppError('invalid_request', `The tile ${JSON.stringify(word)} does not exist.`, details)
    }
    const key = generateKey(tile)
    await withStore(config, (database) => {
      return database.write(async (store) => {
        await lockWorkspaces(store)
        await requireWorkspace(store, id)
        await saveKeyHash(store, id, tile, hashKey(key))
      })
    })
    // Prints only the key, for shells: KEY=$(tidings key generate main data)
    print({ json: { workspace_id: id, tile, key }, text: `${key}\n` })
  },
}

export const keyCommands: readonly Command[] = [generate]
