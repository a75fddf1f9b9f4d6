// The command line. Which command the arguments name is found in `commands/`.
import { runCommand } from './commands/run-command.ts'

await runCommand(process.argv.slice(2))
