// `serve`: runs the server, or one role of it, until a signal ends it.
import { changedByCommand } from './audit/changed-by-command.ts'
import { describeLogLocation } from '../log/describe-log-location.ts'
import { createFirstWorkspace, type NewWorkspace } from '../actions/create-workspace.ts'
import { makeSetupLink, type MadeLink } from '../actions/accounts/access-links.ts'
import { statePathOf } from '../store/open-database.ts'
import { withoutPassword } from '../store/postgres/without-password.ts'
import type { Database } from '../store/store.ts'
import { PROCESS_ROLES, type ProcessRole } from '../core/workspaces/system-state.ts'
import type { Config } from '../app/config.ts'
import { readVersion } from '../app/version.ts'
import { UsageError, type Command, type CommandOutput } from './command.ts'
import { keepNewObjectsYoung } from '../runtime/keep-young.ts'
import { Shutdown, stopWaitMs, type Stoppable } from './shutdown.ts'
import { ifKeysUnwritten, toKeysBody, toKeysText } from './workspaces/workspace-commands.ts'

/** The workspace that the first start creates. */
const FIRST_WORKSPACE_ID = 'main'

/** The message of the first line of diagnostics. */
const STARTED = 'started'

export const serveCommand: Command = {
  name: 'serve',
  operands: [],
  options: {
    role: { value: PROCESS_ROLES.join('|'), isRepeatable: true, summary: 'Runs only this role. Default: all roles.' },
  },
  summary: 'Runs the server until SIGTERM or SIGINT.',
  details: [
    'Settings come from the environment: HOST, PORT, DATA_DIR, DATABASE_URL, NATS_URL, PII_KEY, SECRET_KEY,',
    'PUBLIC_URL, ALLOW_PLAIN_SMTP, ATTACHMENT_HOSTS, MACHINE_NETWORKS, TRUSTED_PROXIES, REQUIRE_HTTPS, FAST_PATH,',
    'LOG_LEVEL.',
  ].join('\n'),
  machineChecks: ({ repeated }) => ({ listens: readRoles(repeated('role')).includes('http') }),
  async run({ config, repeated, print, fail }) {
    const roles = readRoles(repeated('role'))
    refuseLoneDelivery(config, roles)
    const takenRoles = { withPipeline: roles.includes('pipeline'), withDelivery: roles.includes('delivery') }
    const shutdown = new Shutdown(fail, stopWaitMs(config))
    // Loaded only here: the other commands start in half the time without it.
    const [{ openDiagnostics }, { serve }, { serveBackground }] = await Promise.all([
      import('./diagnostics.ts'),
      import('../app/serve.ts'),
      import('../app/serve-background.ts'),
    ])
    const diagnostics = await openDiagnostics(config.logLevel)
    const options = { config, diagnostics }
    shutdown.diagnostics = diagnostics
    if (!roles.includes('http')) {
      const background = await serveBackground(options, takenRoles)
      shutdown.running = background
      diagnostics.info({ url: null, roles, ...placesOf(config) }, STARTED)
      print({ json: { url: null, roles }, text: `${title()} ${doingOf(roles)} ${describeLogLocation(config)}\n` })
      await background.loaded
    } else {
      const server = await serve({ ...options, ...takenRoles })
      // Set before keys are created: an orderly stop waits for running transactions, so that created keys are always printed.
      shutdown.running = server
      diagnostics.info({ url: server.url, roles, ...placesOf(config) }, STARTED)
      print(describe(server.url, roles, await makeFirst(server, shutdown)))
      await server.loaded
    }
    keepNewObjectsYoung()
  },
}

function readRoles(words: readonly string[]): readonly ProcessRole[] {
  const unknown = words.find((word) => !PROCESS_ROLES.some((role) => role === word))
  if (unknown !== undefined) {
    throw new UsageError(`Unknown role ${JSON.stringify(unknown)}; choose one of: ${PROCESS_ROLES.join(', ')}.`)
  }
  return words.length === 0 ? PROCESS_ROLES : PROCESS_ROLES.filter((role) => words.includes(role))
}

/** Only the process that has the embedded log open can append to it. */
function refuseLoneDelivery({ databaseUrl }: Config, roles: readonly ProcessRole[]): void {
  if (databaseUrl !== undefined || !roles.includes('delivery') || roles.includes('http')) return
  throw new UsageError('The role delivery needs the role http in the same process, or DATABASE_URL.')
}

/** What a process without the role http does, up to the place of the log. */
function doingOf(roles: readonly ProcessRole[]): string {
  if (!roles.includes('delivery')) return 'is following the log in'
  return roles.includes('pipeline')
    ? 'is sending campaigns and following the log in'
    : 'is sending campaigns, with the log in'
}

/** What operators want to know of a start. */
function placesOf(config: Config) {
  const { databaseUrl } = config
  const store = databaseUrl === undefined ? statePathOf(config) : withoutPassword(databaseUrl)
  return { store, log: describeLogLocation(config), version: readVersion() }
}

/** What only this start can print. */
interface Made {
  readonly first: NewWorkspace | undefined
  readonly setup: MadeLink | undefined
}

/**
 * Only once the server listens, so that no start creates keys and then fails without printing them. The keys come last, because each
 * start makes another link.
 */
async function makeFirst(server: Stoppable & { readonly database: Database }, shutdown: Shutdown): Promise<Made> {
  try {
    const setup = await makeSetupLink(server.database, Date.now())
    const by = changedByCommand(FIRST_WORKSPACE_ID)
    return { setup, first: await createFirstWorkspace(server.database, FIRST_WORKSPACE_ID, Date.now(), by) }
  } catch (error) {
    // Its threads end on purpose now.
    shutdown.running = undefined
    await server.stop()
    throw error
  }
}

function title(): string {
  return `Tidings ${readVersion()}`
}

function describe(url: string, roles: readonly ProcessRole[], { first, setup }: Made): CommandOutput {
  const setupUrl = setup && `${url}${setup.path}`
  const json = {
    url,
    roles,
    ...(first && { first_workspace: toKeysBody(first) }),
    ...(setupUrl !== undefined && { setup_url: setupUrl }),
  }
  const lines = [`${title()} is listening on ${url}`, ...(first ? welcome(url, first) : [])]
  if (setupUrl !== undefined)
    lines.push('', 'Create your account for the dashboard (works once, for 30 minutes):', '', setupUrl)
  return { json, text: `${lines.join('\n')}\n`, ...(first && { ifUnwritten: ifKeysUnwritten(first) }) }
}

function welcome(url: string, first: NewWorkspace): string[] {
  const event = JSON.stringify({ type: 'event', customer_id: 'customer-1', actions: [{ action: 'Order Placed' }] })
  const user = `${first.id}:${first.dataKey}`
  return [
    '',
    'This first start created a workspace. Save its keys: they are shown only once.',
    '',
    toKeysText(first),
    '',
    'Track a first event:',
    '',
    `curl -u ${user} -H 'Content-Type: application/json' -d '${event}' ${url}/v1/event/${first.id}`,
  ]
}
