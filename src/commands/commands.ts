// Lists all commands, in the order of the help.
import { auditCommands } from './audit/audit-command.ts'
import { backupCommands } from './backup/backup-commands.ts'
import { campaignCommands } from './campaigns/campaign-commands.ts'
import { categoryCommands } from './workspaces/category-commands.ts'
import type { Command } from './command.ts'
import { completionCommandFor } from './completion/completion-command.ts'
import { demoCommand } from './demo/demo-command.ts'
import { importCommand } from './import/import-command.ts'
import { keyCommands } from './workspaces/key-commands.ts'
import { logCommands } from './log-commands.ts'
import { moveCommand } from './move/move-command.ts'
import { personCommands } from './people/person-commands.ts'
import { parkedCommands } from './parked-commands.ts'
import { senderCommands } from './senders/sender-commands.ts'
import { serveCommand } from './serve-command.ts'
import { suppressionCommands } from './senders/suppression-commands.ts'
import { statisticsCommands } from './statistics-commands.ts'
import { workspaceCommands } from './workspaces/workspace-commands.ts'

export const COMMANDS: readonly Command[] = [
  serveCommand,
  ...workspaceCommands,
  ...keyCommands,
  ...categoryCommands,
  ...personCommands,
  ...senderCommands,
  importCommand,
  demoCommand,
  ...campaignCommands,
  ...suppressionCommands,
  ...auditCommands,
  ...statisticsCommands,
  ...parkedCommands,
  ...logCommands,
  ...backupCommands,
  moveCommand,
  completionCommandFor(() => COMMANDS),
]
