// Plans the Tidings processes of a development cluster, and creates its workspace with the command line of Tidings.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ProgramPlan, StartedProgram } from './started-program.ts'

const TIDINGS = fileURLToPath(new URL('../../bin/tidings', import.meta.url))
const START_WAIT_MS = 30_000
const COMMAND_WAIT_MS = 30_000

export const WORKSPACE_ID = 'development'

export type Environment = Readonly<Record<string, string>>

export interface WorkspaceKeys {
  readonly dataKey: string
  readonly reportsKey: string
}

export type Role = 'http' | 'pipeline' | 'delivery'

/** `count` processes of one role, each on a free port. */
export function planProcesses(role: Role, count: number, environment: Environment): readonly ProgramPlan[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `${role}-${index + 1}`,
    command: TIDINGS,
    args: ['serve', '--role', role, '--json'],
    environment: { ...environment, HOST: '127.0.0.1', PORT: '0' },
  }))
}

/** Its address; null for a process that serves no requests. Rejects with the reason of the program if it does not start. */
export async function waitUntilStarted({ name, firstLine }: StartedProgram): Promise<string | null> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`${name} did not start in time.`)), START_WAIT_MS)
  try {
    const line = await Promise.race([firstLine, late.promise])
    const started = JSON.parse(line) as { url: string | null; error?: Refusal }
    if (started.error) throw new Error(`${name} does not start: ${toSentence(started.error)}`)
    return started.url
  } finally {
    clearTimeout(timer)
  }
}

/** Creates the workspace at the first start. Generates new keys at each start, which revokes the old ones. */
export async function createKeys(environment: Environment): Promise<WorkspaceKeys> {
  const created = await runTidings(['workspace', 'create', WORKSPACE_ID], environment)
  if (created.error === undefined)
    return { dataKey: created['data_key'] as string, reportsKey: created['reports_key'] as string }
  if (created.error.code !== 'conflict')
    throw new Error(`The workspace cannot be created: ${toSentence(created.error)}`)
  const generate = async (tile: 'data' | 'reports') => {
    const { error, key } = await runTidings(['key', 'generate', WORKSPACE_ID, tile, '--yes'], environment)
    if (error) throw new Error(`The key cannot be generated: ${toSentence(error)}`)
    return key as string
  }
  const [dataKey, reportsKey] = await Promise.all([generate('data'), generate('reports')])
  return { dataKey, reportsKey }
}

interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: readonly { readonly field: string; readonly problem: string }[]
}

type Printed = Readonly<Record<string, unknown>> & { readonly error?: Refusal }

/** The JSON that a command prints, also when it fails. */
function runTidings(args: readonly string[], environment: Environment): Promise<Printed> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...process.env, ...environment }, timeout: COMMAND_WAIT_MS }
    execFile(TIDINGS, [...args, '--json'], options, (error, stdout, stderr) => {
      if (stdout !== '') resolve(JSON.parse(stdout) as Printed)
      else reject(new Error(`\`tidings ${args.join(' ')}\` failed: ${stderr}`, { cause: error }))
    })
  })
}

function toSentence({ message, details }: Refusal): string {
  return [message, ...details.map(({ field, problem }) => `${field} ${problem}.`)].join(' ')
}
