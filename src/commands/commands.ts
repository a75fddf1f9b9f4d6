// The list of all commands, in the order of the help.
import { backupCommands } from './backup-commands.ts'
import { categoryCommands } from './category-commands.ts'
import type { Command } from './command.ts'
import { keyCommands } from './key-commands.ts'
import { moveCommand } from './move-command.ts'
import { parkedCommands } from './parked-commands.ts'
import { serveCommand } from './serve-command.ts'
import { statisticsCommands } from './statistics-commands.ts'
import { workspaceCommands } from './workspace-commands.ts'

export const COMMANDS: readonly Command[] = [
  serveCommand,
  ...workspaceCommands,
  ...keyCommands,
  ...categoryCommands,
  ...statisticsCommands,
  ...parkedCommands,
  ...backupCommands,
  moveCommand,
]
