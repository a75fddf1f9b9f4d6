// `key generate`: replaces the key of one tile of a workspace.
import { OLD_KEY_HOURS_MAX, replaceKey } from '../../actions/workspaces/replace-key.ts'
import { AppError, type Fault } from '../../core/app-error.ts'
import { KEY_TILES } from '../../core/accounts/key-tile.ts'
import { counted } from '../../core/phrases/counted.ts'
import { toIso } from '../../core/time-value.ts'
import { changedByCommand } from '../audit/changed-by-command.ts'
import type { Command } from '../command.ts'
import { confirm, YES } from '../confirm.ts'
import { withStore } from '../with-store.ts'

const HOURS = /^\d{1,2}$/

const generate: Command = {
  name: 'key generate',
  operands: ['ID', 'data|reports'],
  options: {
    'keep-old': { value: 'HOURS', summary: `How long the old key stays valid, 0 to ${OLD_KEY_HOURS_MAX}. Default: 0.` },
    ...YES,
  },
  summary: 'Replaces the key of a tile and prints the new one. The old key stops working within a second.',
  details:
    'Asks before it replaces the key. With --keep-old, the old key stays valid for some hours, so that every client can ' +
    'change over. A key that was kept before then ends at once.',
  async run(call) {
    const { config, operands, option, print } = call
    const [id = '', word] = operands
    const { tile, hours } = readArguments(word, option('keep-old') ?? '0')
    const end = hours === 0 ? 'stops working within a second' : `stops working in ${counted(hours, 'hour')}`
    await confirm(call, `The ${tile} key of ${id} that is in use ${end}.`)
    const { key, previousValidUntil } = await withStore(config, (database) =>
      database.write((store) => replaceKey(store, { tile, oldKeyValidHours: hours, by: changedByCommand(id) })),
    )
    const until = previousValidUntil === null ? null : toIso(previousValidUntil)
    const old = until === null ? 'the old one no longer works' : `the old one stops working at ${until}`
    const ifUnwritten = `The new key is lost, and ${old}: run \`tidings key generate ${id} ${tile}\` again.`
    // Prints only the key, for shells: KEY=$(tidings key generate main data --yes)
    print({ json: { workspace_id: id, tile, key, previous_valid_until: until }, text: `${key}\n`, ifUnwritten })
  },
}

export const keyCommands: readonly Command[] = [generate]

function readArguments(word: string | undefined, text: string) {
  const tile = KEY_TILES.find((known) => known === word)
  const hours = HOURS.test(text) ? Number(text) : Number.NaN
  const areValid = hours <= OLD_KEY_HOURS_MAX
  if (tile && areValid) return { tile, hours }
  const details: Fault[] = []
  if (!tile) details.push({ field: 'tile', problem: `must be one of ${KEY_TILES.join(', ')}` })
  if (!areValid) details.push({ field: '--keep-old', problem: `must be a whole number from 0 to ${OLD_KEY_HOURS_MAX}` })
  const message = tile ? 'The key was not replaced.' : `The tile ${JSON.stringify(word)} does not exist.`
  throw new AppError('invalid_request', message, details)
}
