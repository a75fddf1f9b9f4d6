// The command line.
import { pino } from 'pino'
import { readConfig } from './config.ts'
import { serve } from './serve.ts'
import { createWorkspace } from './store/create-workspace.ts'
import { listWorkspaces } from './store/workspaces.ts'

const config = readConfig()
const server = await serve({ config, diagnostics: pino({ level: config.logLevel }, pino.destination(2)) })
if ((await listWorkspaces(server.database)).length === 0) {
  const made = await createWorkspace(server.database, 'main', {}, Date.now())
  process.stdout.write(`${JSON.stringify(made)}\n`)
}
process.stdout.write(`${server.url}\n`)
process.once('SIGTERM', () => void server.stop())
