// The entry point of the command line. All commands are in `commands/`.
import { runCommand } from './commands/run-command.ts'

await runCommand(process.argv.slice(2))
