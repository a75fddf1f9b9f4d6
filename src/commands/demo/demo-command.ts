// `demo`: fills a workspace with what a shop has after 60 days, to try the dashboard with; `demo --remove` removes it again.
import { addNamedCategory } from '../../actions/workspaces/change-categories.ts'
import { createWorkspace, type NewWorkspace } from '../../actions/create-workspace.ts'
import type { Config } from '../../app/config.ts'
import { AppError, invalidRequest } from '../../core/app-error.ts'
import { counted } from '../../core/phrases/counted.ts'
import { LIMIT_DEFAULTS } from '../../core/workspace.ts'
import type { Database } from '../../store/store.ts'
import { changedByCommand } from '../audit/changed-by-command.ts'
import type { Command, CommandCall, CommandOutput } from '../command.ts'
import { confirm, YES } from '../confirm.ts'
import { SERVER_URL, SERVER_URL_FAULT, toServerUrl } from '../servers/server-url.ts'
import { terminalProgress } from '../terminal-progress.ts'
import { withStore } from '../with-store.ts'
import { setSettings } from '../workspaces/set-settings.ts'
import { DemoServer, requireServer } from './demo-server.ts'
import { DEMO_DAYS, fillDemo, type DemoCounts, type DemoOptions } from './fill-demo.ts'
import { CARD_NUMBER, DEMO_CATEGORIES, GLOBAL_CONTROL_PERCENT } from './people.ts'
import { removeDemo } from './remove-demo.ts'

const DEMO_WORKSPACE_ID = 'demo'
const PEOPLE = 20_000
/** While the demo is filled; afterwards the defaults hold. */
const LIMITS_OF_FILLING = {
  track_events_per_minute: 10_000_000,
  management_per_minute: 100_000,
  campaign_stats_per_minute: 1_000,
}

export const demoCommand: Command = {
  name: 'demo',
  operands: [],
  options: {
    remove: { summary: 'Removes the workspace and everything in it. No server may run meanwhile.' },
    ...SERVER_URL,
    ...YES,
  },
  summary: `Fills the workspace ${DEMO_WORKSPACE_ID} of a running server with what a shop has after ${DEMO_DAYS} days.`,
  details: [
    'People, events, templates in four languages, coupon lists, segments and eight campaigns, to try the dashboard with.',
    'It takes up to a minute. Its addresses end in example.com and its SMTP server does not exist: nothing is ever sent.',
    'Owners of every workspace see it; `person invite EMAIL --role ROLE --workspace demo` invites others.',
    '--remove asks before it does so; --yes answers.',
  ].join('\n'),
  async run(call) {
    const { config, option, print } = call
    if (option('remove') !== undefined) return print(await removeWorkspace(call))
    const url = toServerUrl(config, option('url'))
    if (!url) throw invalidRequest([SERVER_URL_FAULT])
    const { counts, seconds } = await withStore(config, async (database) => {
      await requireServer(url)
      return fillFor(database, config, url, { people: PEOPLE, now: Date.now() })
    })
    print(describe(new URL(`/dashboard/${DEMO_WORKSPACE_ID}`, url), counts, seconds))
  },
}

async function removeWorkspace(call: CommandCall): Promise<CommandOutput> {
  const { config } = call
  await confirm(call, `The workspace ${DEMO_WORKSPACE_ID} and everything in it will be removed.`)
  const progress = terminalProgress()
  const options = { workspaceId: DEMO_WORKSPACE_ID, progress }
  const removing = withStore(config, (database) => removeDemo(database, config, options))
  const rows = await removing.finally(() => progress.clear())
  const text = `The workspace ${DEMO_WORKSPACE_ID} was removed: ${counted(rows, 'row')}.\n`
  return { json: { workspace_id: DEMO_WORKSPACE_ID, rows }, text }
}

/** Makes the workspace and fills it. Throws AppError `conflict` if there is one. */
export async function fillFor(
  database: Database,
  config: Config,
  url: URL,
  { people, now }: Pick<DemoOptions, 'people' | 'now'>,
): Promise<{ readonly counts: DemoCounts; readonly seconds: number }> {
  const startedAt = performance.now()
  const progress = terminalProgress()
  const server = new DemoServer(url, await makeWorkspace(database))
  try {
    const counts = await fillDemo(server, DEMO_WORKSPACE_ID, { people, now, progress })
    const assignments = Object.keys(LIMITS_OF_FILLING).map(
      (name) => `limits.${name}=${LIMIT_DEFAULTS[name as keyof typeof LIMITS_OF_FILLING]}`,
    )
    await setSettings(database, config, { id: DEMO_WORKSPACE_ID, assignments })
    return { counts, seconds: Math.round((performance.now() - startedAt) / 1000) }
  } catch (error) {
    if (error instanceof AppError && error.code === 'unauthorized') throw otherStore(url)
    throw error
  } finally {
    progress.clear()
  }
}

async function makeWorkspace(database: Database): Promise<NewWorkspace> {
  const by = changedByCommand(DEMO_WORKSPACE_ID)
  const settings = {
    name: 'Juniper (demo)',
    timezone: 'Europe/Berlin',
    identityResolution: [CARD_NUMBER],
    globalControlPercent: GLOBAL_CONTROL_PERCENT,
    frequencyCaps: [{ count: 2, days: 7 }],
    limits: { ...LIMIT_DEFAULTS, ...LIMITS_OF_FILLING },
  }
  const made = await createWorkspace(database, DEMO_WORKSPACE_ID, settings, by.now, by).catch((error: unknown) => {
    throw error instanceof AppError && error.code === 'conflict' ? alreadyThere() : error
  })
  for (const [name, labels] of Object.entries(DEMO_CATEGORIES)) {
    await database.write((store) => addNamedCategory(store, { name, by }, labels))
  }
  return made
}

function describe(dashboard: URL, counts: DemoCounts, seconds: number): CommandOutput {
  const { people, events, campaigns, memberships, message_events: messages } = counts
  const lines = [
    `${people} people, ${events} events, ${campaigns} campaigns, ${memberships} in their audiences, ${messages} message events: ${seconds} seconds.`,
    `Look at it: ${dashboard.href}`,
    'Remove it: stop the server, then run tidings demo --remove.',
  ]
  return { json: { workspace_id: DEMO_WORKSPACE_ID, ...counts, url: dashboard.href }, text: `${lines.join('\n')}\n` }
}

function alreadyThere(): AppError {
  const message = `The workspace ${DEMO_WORKSPACE_ID} already exists. To fill it anew, stop the server, run \`tidings demo --remove\`, and start it.`
  return new AppError('conflict', message)
}

function otherStore(url: URL): AppError {
  const message = `The server at ${url.origin} does not know the new workspace: it has another store. Set DATA_DIR or DATABASE_URL as it has them, or --url, after \`tidings demo --remove\`.`
  return new AppError('conflict', message)
}
