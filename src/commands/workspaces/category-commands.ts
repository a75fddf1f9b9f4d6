// `category list|add|remove`: shows and changes the email preference categories of a workspace.
import { addNamedCategory, removeNamedCategory } from '../../actions/workspaces/change-categories.ts'
import { requireWorkspace } from '../../actions/workspaces/require-workspace.ts'
import { changedByCommand } from '../audit/changed-by-command.ts'
import type { Command, CommandOutput } from '../command.ts'
import { withStore } from '../with-store.ts'

const list: Command = {
  name: 'category list',
  operands: ['ID'],
  options: {},
  summary: 'Lists the email preference categories of a workspace.',
  async run({ config, operands: [id = ''], print }) {
    const { workspace } = await withStore(config, (database) => requireWorkspace(database, id))
    print(toOutput(id, workspace.categories))
  },
}

const add: Command = {
  name: 'category add',
  operands: ['ID', 'NAME'],
  options: {},
  summary: 'Adds an email preference category. Does nothing if it already exists.',
  async run({ config, operands: [id = '', name = ''], print }) {
    const { categories } = await withStore(config, (database) =>
      database.write((store) => addNamedCategory(store, { name, by: changedByCommand(id) })),
    )
    print(toOutput(id, categories))
  },
}

const remove: Command = {
  name: 'category remove',
  operands: ['ID', 'NAME'],
  options: {},
  summary: 'Removes an email preference category. The choices of users stay on record.',
  async run({ config, operands: [id = '', name = ''], print }) {
    const categories = await withStore(config, (database) =>
      database.write((store) => removeNamedCategory(store, { name, by: changedByCommand(id) })),
    )
    print(toOutput(id, categories))
  },
}

export const categoryCommands: readonly Command[] = [list, add, remove]

function toOutput(id: string, categories: readonly string[]): CommandOutput {
  return { json: { workspace_id: id, categories }, text: categories.map((category) => `${category}\n`).join('') }
}
