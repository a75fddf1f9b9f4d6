// `key generate`: replaces the key of one tile of a workspace.
import { AppError } from '../../core/app-error.ts'
import { KEY_TILES } from '../../core/accounts/credential.ts'
import { generateKey, hashKey } from '../../store/workspaces/api-key.ts'
import { lockWorkspaces, saveKeyHash } from '../../store/workspaces/workspaces.ts'
import type { Command } from '../command.ts'
import { confirm, YES } from '../confirm.ts'
import { requireWorkspace, withStore } from '../with-store.ts'

const generate: Command = {
  name: 'key generate',
  operands: ['ID', 'data|reports'],
  options: YES,
  summary: 'Replaces the key of a tile and prints the new one. The old key stops working within a second.',
  details: 'Asks before it replaces the key.',
  async run(call) {
    const { config, operands, print } = call
    const [id = '', word] = operands
    const tile = KEY_TILES.find((known) => known === word)
    if (!tile) {
      const details = [{ field: 'tile', problem: `must be one of ${KEY_TILES.join(', ')}` }]
      throw new AppError('invalid_request', `The tile ${JSON.stringify(word)} does not exist.`, details)
    }
    await confirm(call, `The ${tile} key of ${id} that is in use stops working within a second.`)
    const key = generateKey(tile)
    await withStore(config, (database) => {
      return database.write(async (store) => {
        await lockWorkspaces(store)
        await requireWorkspace(store, id)
        await saveKeyHash(store, id, tile, hashKey(key))
      })
    })
    // Prints only the key, for shells: KEY=$(tidings key generate main data --yes)
    const ifUnwritten = `The new key is lost, and the old one no longer works: run \`tidings key generate ${id} ${tile}\` again.`
    print({ json: { workspace_id: id, tile, key }, text: `${key}\n`, ifUnwritten })
  },
}

export const keyCommands: readonly Command[] = [generate]
