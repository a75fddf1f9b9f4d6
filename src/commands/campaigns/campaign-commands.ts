// `campaign start|pause|resume|cancel|runs`: what the operations of the same names do, while a server runs or not.
import { requireWorkspace } from '../../actions/workspaces/require-workspace.ts'
import type { Config } from '../../app/config.ts'
import { cancelByKey, pauseByKey, resumeByKey } from '../../actions/delivery/change-campaign.ts'
import { requireDelivery, type CampaignKey } from '../../actions/delivery/require-delivery.ts'
import { findRunProgress, type RunProgress } from '../../actions/delivery/run-progress.ts'
import { shownStateOf } from '../../actions/delivery/shown-deliveries.ts'
import { toShownWarnings } from '../../core/app-error.ts'
import type { ShownState } from '../../core/delivery/delivery-changes.ts'
import { toIso } from '../../core/time-value.ts'
import { startByKey } from '../../delivery/start/start-campaign.ts'
import { openSecretVault } from '../../app/settings/secret-key.ts'
import type { Database } from '../../store/store.ts'
import { changedByCommand } from '../audit/changed-by-command.ts'
import type { Command, CommandCall } from '../command.ts'
import { withStore } from '../with-store.ts'

const OPERANDS = ['WORKSPACE', 'CAMPAIGN'] as const

const start: Command = {
  name: 'campaign start',
  operands: OPERANDS,
  options: {},
  summary: 'Starts a campaign, or schedules it.',
  details: 'Checks everything first, and names every fault.',
  async run(call) {
    const { config, print } = call
    const key = toKey(call)
    const { state, warnings } = await withStore(config, async (database) => {
      const { workspace } = await requireWorkspace(database, key.workspaceId)
      const hasEmailVault = config.piiKey !== undefined
      const { publicUrl, attachmentHosts } = config.delivery
      const surroundings = {
        workspace,
        now: Date.now(),
        publicUrl,
        hasEmailVault,
        attachmentHosts,
        secretVault: openSecretVault(config),
        by: changedByCommand(key.workspaceId),
      }
      const found = await startByKey(database, key, surroundings)
      return { state: await findState(database, key), warnings: toShownWarnings(found) }
    })
    const warned = warnings.map(({ field, problem }) => `Warning: ${field} ${problem}.\n`).join('')
    print({ json: { campaign_id: key.campaignId, state, warnings }, text: `${toSentence(key, state)}${warned}` })
  },
}

const pause = defineChange('pause', 'Pauses a campaign: no further message is begun.', pauseByKey)
const resume = defineChange('resume', 'Resumes a paused campaign, or starts an overdue one.', resumeByKey)
const cancel = defineChange('cancel', 'Cancels a campaign for good.', cancelByKey)

const runs: Command = {
  name: 'campaign runs',
  operands: OPERANDS,
  options: {},
  summary: 'Shows how far the sending of a campaign is.',
  async run(call) {
    const key = toKey(call)
    const { state, progress } = await withStore(call.config, async (database) => {
      const delivered = await requireDelivery(database, key)
      return { state: shownStateOf(delivered.shown), progress: await findRunProgress(database, delivered, Date.now()) }
    })
    const json = { campaign_id: key.campaignId, state, runs: progress ? [toRunObject(progress)] : [] }
    call.print({ json, text: toSentence(key, state) + (progress ? toLines(progress) : '') })
  },
}

export const campaignCommands: readonly Command[] = [start, pause, resume, cancel, runs]

type Change = typeof pauseByKey

function defineChange(verb: string, summary: string, change: Change): Command {
  return {
    name: `campaign ${verb}`,
    operands: OPERANDS,
    options: {},
    summary,
    async run(call) {
      const key = toKey(call)
      const state = await changeIn(call.config, key, change)
      call.print({ json: { campaign_id: key.campaignId, state }, text: toSentence(key, state) })
    },
  }
}

function changeIn(config: Config, key: CampaignKey, change: Change): Promise<ShownState> {
  return withStore(config, async (database) => {
    await requireWorkspace(database, key.workspaceId)
    await change(database, key, changedByCommand(key.workspaceId))
    return findState(database, key)
  })
}

function toKey({ operands: [workspaceId = '', campaignId = ''] }: CommandCall): CampaignKey {
  return { workspaceId, campaignId }
}

async function findState(database: Database, key: CampaignKey): Promise<ShownState> {
  return shownStateOf((await requireDelivery(database, key)).shown)
}

function toSentence({ campaignId }: CampaignKey, state: ShownState): string {
  return `The campaign ${campaignId} is ${state}.\n`
}

function toRunObject({ run, states, audience, rate, eta }: RunProgress) {
  return {
    evaluated_at: toIso(run.evaluatedAt),
    started_at: toIso(run.startedAt),
    finished_at: run.finishedAt === null ? null : toIso(run.finishedAt),
    audience,
    without_address: run.withoutAddress,
    states,
    rate,
    eta: eta === null ? null : toIso(eta),
  }
}

function toLines(progress: RunProgress): string {
  const { states, ...run } = toRunObject(progress)
  return Object.entries({ ...run, ...states })
    .map(([name, value]) => `${name}: ${value ?? '-'}\n`)
    .join('')
}
