// `category list|add|remove`: shows and changes the email preference categories of a workspace.
import { AppError } from '../../core/app-error.ts'
import { addCategory, type WorkspaceSettings } from '../../core/workspace.ts'
import { lockWorkspaces, saveSettings } from '../../store/workspaces/workspaces.ts'
import type { Command, CommandCall, CommandOutput } from '../command.ts'
import { requireWorkspace, withStore } from '../with-store.ts'

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
  run: (call) =>
    changeCategories(call, (settings, name) => {
      const added = addCategory(settings.categories, name)
      if (typeof added !== 'string') return added
      throw new AppError('invalid_request', 'The category cannot be added; nothing was changed.', [
        { field: 'NAME', problem: added },
      ])
    }),
}

const remove: Command = {
  name: 'category remove',
  operands: ['ID', 'NAME'],
  options: {},
  summary: 'Removes an email preference category. The choices of users stay on record.',
  run: (call) =>
    changeCategories(call, ({ categories }, name) => {
      if (categories.includes(name)) return categories.filter((category) => category !== name)
      throw new AppError('not_found', `The category ${JSON.stringify(name)} does not exist.`)
    }),
}

export const categoryCommands: readonly Command[] = [list, add, remove]

async function changeCategories(
  { config, operands: [id = '', name = ''], print }: CommandCall,
  change: (settings: WorkspaceSettings, name: string) => readonly string[],
): Promise<void> {
  const categories = await withStore(config, (database) => {
    return database.write(async (store) => {
      await lockWorkspaces(store)
      const { workspace } = await requireWorkspace(store, id)
      const changed = change(workspace, name)
      await saveSettings(store, id, { ...workspace, categories: changed })
      return changed
    })
  })
  print(toOutput(id, categories))
}

function toOutput(id: string, categories: readonly string[]): CommandOutput {
  return { json: { workspace_id: id, categories }, text: categories.map((category) => `${category}\n`).join('') }
}
