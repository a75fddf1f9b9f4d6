// `statistics verify|rebuild`: compares campaign statistics with a recount of the stored facts, and corrects them. A server may
// run.
import { requireWorkspace } from '../actions/workspaces/require-workspace.ts'
import { recordChange } from '../actions/audit/record-change.ts'
import { FACT_CAPS } from '../core/campaigns/facts.ts'
import { counted } from '../core/phrases/counted.ts'
import { NO_DAY } from '../core/statistics/cells.ts'
import { toCalendarDate } from '../core/time-zone.ts'
import { rebuildStatistics } from '../statistics/rebuild-statistics.ts'
import {
  DIFFERENCES_MAX,
  verifyStatistics,
  type CellDifference,
  type CountProgress,
  type Verification,
} from '../statistics/verify-statistics.ts'
import { listAllCampaigns } from '../store/campaigns/campaigns.ts'
import type { Database } from '../store/store.ts'
import { listWorkspaces } from '../store/workspaces/workspaces.ts'
import { changedByCommand } from './audit/changed-by-command.ts'
import type { Command, CommandCall } from './command.ts'
import { terminalProgress } from './terminal-progress.ts'
import { withStore } from './with-store.ts'

/** Printed after the differences that `verify` found. */
const REBUILD_HINT = 'Run `tidings statistics rebuild` to correct the statistics.\n'

const WORKSPACE = { workspace: { value: 'ID', summary: 'Only this workspace. Default: all workspaces.' } }

const verify: Command = {
  name: 'statistics verify',
  operands: [],
  options: WORKSPACE,
  summary: 'Recounts all statistics from the stored facts. If cells differ, prints them and exits with status 1.',
  details:
    `Reads a consistent snapshot while the server runs. Prints at most ${DIFFERENCES_MAX} differing cells per ` +
    'workspace. Shows progress on a terminal.',
  async run(call) {
    const found = await forWorkspaces(call, verifyStatistics)
    const isEqual = found.every(({ differingCells }) => differingCells === 0)
    call.print({
      json: { equal: isEqual, workspaces: found.map(toBody) },
      text: (found.map(toText).join('') || 'No campaigns to verify.\n') + (isEqual ? '' : REBUILD_HINT),
      isFailure: !isEqual,
    })
  },
}

const rebuild: Command = {
  name: 'statistics rebuild',
  operands: [],
  options: WORKSPACE,
  summary: 'Recounts all statistics from the stored facts and corrects the cells that differ.',
  details: 'The server can keep running. Its updates are preserved.',
  async run(call) {
    const found = await forWorkspaces(call, rebuildRecorded)
    const text = found
      .map((verified) => `${toText(verified)}  written: ${counted(verified.differingCells, 'cell')}\n`)
      .join('')
    call.print({ json: { workspaces: found.map(toBody) }, text: text || 'No campaigns to rebuild.\n' })
  },
}

export const statisticsCommands: readonly Command[] = [verify, rebuild]

/** A verification with the ids of its campaigns. */
interface Verified extends Verification {
  readonly workspaceId: string
  /** Number → id. */
  readonly campaignIds: ReadonlyMap<number, string>
}

type Count = (
  database: Database,
  workspaceId: string,
  onProgress: (progress: CountProgress) => void,
) => Promise<Verification>

function forWorkspaces({ config, option }: CommandCall, count: Count): Promise<Verified[]> {
  return withStore(config, async (database) => {
    const wanted = option('workspace')
    const workspaces =
      wanted === undefined ? await listWorkspaces(database) : [await requireWorkspace(database, wanted)]
    const found: Verified[] = []
    for (const { workspace } of workspaces) {
      const campaigns = await listAllCampaigns(database, workspace.id)
      if (campaigns.length === 0) continue
      const campaignIds = new Map(campaigns.map(({ number, id }) => [number, id]))
      const verification = await countWithProgress(count, database, workspace.id)
      found.push({ ...verification, workspaceId: workspace.id, campaignIds })
    }
    return found
  })
}

/** The audit trail has an entry for each transaction that corrects cells. */
const rebuildRecorded: Count = (database, id, onProgress) => {
  const by = changedByCommand(id)
  return rebuildStatistics(database, id, onProgress, {
    record: (store, cells) => {
      const change = { kind: 'statistics', id, action: 'rebuild_statistics' } as const
      return recordChange(store, by, { ...change, after: { corrected_cells: cells } })
    },
  })
}

/** Shows the progress of a count on a terminal, and clears the line when the count ends or fails. */
async function countWithProgress(count: Count, database: Database, workspaceId: string): Promise<Verification> {
  const progress = terminalProgress()
  try {
    return await count(database, workspaceId, ({ users, facts }) => {
      progress.show(`${workspaceId}: ${counted(users, 'user')}, ${counted(facts, 'fact')} counted`)
    })
  } finally {
    progress.clear()
  }
}

function toBody(verified: Verified): object {
  return {
    workspace_id: verified.workspaceId,
    users: verified.users,
    facts: verified.facts,
    cells: verified.cells,
    users_over_cap: verified.usersOverCap,
    events_not_counted: verified.eventsNotCounted,
    differing_cells: verified.differingCells,
    differences: verified.differences.map((difference) => toDifferenceBody(difference, verified)),
  }
}

function toDifferenceBody({ cell, stored, counted }: CellDifference, { campaignIds }: Verified): object {
  return {
    campaign_id: campaignIds.get(cell.campaign) ?? null,
    generation: cell.generation,
    group: cell.group,
    metric: cell.metric,
    platform: cell.platform || 'all_platforms',
    locale: cell.locale || 'all_locales',
    variation: cell.variation || 'all_variations',
    day: toCalendarDate(cell.day),
    previous_day: cell.previousDay === NO_DAY ? null : toCalendarDate(cell.previousDay),
    stored,
    counted,
  }
}

function toText(verified: Verified): string {
  const { workspaceId, users, facts, cells, differingCells, differences, usersOverCap, eventsNotCounted } = verified
  const all = [counted(users, 'user'), counted(facts, 'fact'), counted(cells, 'cell')].join(', ')
  const lines = [`${workspaceId}: ${all}; ${counted(differingCells, 'cell differs', 'cells differ')}`]
  if (usersOverCap > 0) {
    const { reported, goalEvents } = FACT_CAPS
    const cap = `${reported} memberships, ${reported} message events or ${goalEvents} goal events in a campaign`
    const over = counted(usersOverCap, 'user is', 'users are')
    lines.push(`  ${over} over a cap of ${cap}; ${eventsNotCounted} of their facts are not counted`)
  }
  for (const difference of differences) lines.push(`  ${JSON.stringify(toDifferenceBody(difference, verified))}`)
  return `${lines.join('\n')}\n`
}
