// `move`: copies an embedded store into the PostgreSQL, and optionally the NATS, of a cluster.
import { resolve } from 'node:path'
import { ConfigError, readConfig, type Config } from '../../app/config.ts'
import { AppError, type Fault } from '../../core/app-error.ts'
import { counted } from '../../core/phrases/counted.ts'
import { toIso } from '../../core/time-value.ts'
import { withoutPassword } from '../../store/postgres/without-password.ts'
import type { Command, CommandCall, CommandOutput } from '../command.ts'
import { explainDatabaseError } from '../explain-database.ts'
import { moveStore, type FinishedMove, type MoveOutcome } from './move-store.ts'
import { terminalProgress } from '../terminal-progress.ts'

/** The digits of a checksum in the text output. */
const CHECKSUM_SHOWN = 16

export const moveCommand: Command = {
  name: 'move',
  operands: [],
  options: {
    to: {
      value: 'DATABASE_URL',
      isRequired: true,
      summary: 'An empty PostgreSQL database: the DATABASE_URL of the cluster.',
    },
    nats: {
      value: 'NATS_URL',
      summary: 'The NATS servers that keep the log of the cluster. Default: the log is in PostgreSQL.',
    },
  },
  summary: 'Moves the embedded store in DATA_DIR into a cluster, and compares all data at the end.',
  details: [
    'Stop the server first. If a move is interrupted, run it again to continue;',
    'until it completes, no server can use the database. DATA_DIR keeps all its data; the move only migrates its tables,',
    'applies its log and rolls back interrupted coupon uploads. Do not start the old server again.',
    'Ids, API keys and Idempotency-Keys stay the same. Keep PII_KEY and SECRET_KEY; without the latter, set it to the text in',
    'DATA_DIR/secret.key.',
    'The exit status is 0 only if all rows and all statistics are equal.',
  ].join('\n'),
  async run({ config, option, print }) {
    if (config.databaseUrl !== undefined) {
      const details = [
        { field: 'DATABASE_URL', problem: 'must not be set, because it means that the store is not embedded' },
      ]
      throw new AppError('invalid_request', 'Only the embedded store in DATA_DIR can be moved.', details)
    }
    const to = readTarget(option)
    try {
      const outcome = await moveStore({ from: config, to, progress: terminalProgress() })
      print(describe(outcome, config, to))
    } catch (error) {
      throw explainDatabaseError(error, { setting: '--to', url: to.databaseUrl })
    }
  },
}

/** The options of the target, and the settings of the cluster that they give. */
const TARGET_OPTIONS = [
  { field: '--to', name: 'to', setting: 'DATABASE_URL' },
  { field: '--nats', name: 'nats', setting: 'NATS_URL' },
] as const

/** The settings of the cluster. An empty option is a mistake, and must not count as not given. */
function readTarget(option: CommandCall['option']): Config {
  const faults: Fault[] = TARGET_OPTIONS.filter(({ name }) => option(name)?.trim() === '').map(({ field }) => {
    return { field, problem: 'must not be empty' }
  })
  try {
    const to = readConfig(Object.fromEntries(TARGET_OPTIONS.map(({ name, setting }) => [setting, option(name)])))
    if (faults.length === 0) return to
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const blank = new Set(faults.map(({ field }) => field))
    faults.push(...error.faults.map(toOptionFault).filter(({ field }) => !blank.has(field)))
  }
  throw new AppError('invalid_request', 'The target of the move is invalid.', faults)
}

function toOptionFault(fault: Fault): Fault {
  const given = TARGET_OPTIONS.find(({ setting }) => setting === fault.field)
  return given ? { ...fault, field: given.field } : fault
}

function describe(outcome: MoveOutcome, from: Config, to: Config): CommandOutput {
  const locations = { from: resolve(from.dataDir), to: withoutPassword(to.databaseUrl as string) }
  if (outcome.outcome !== 'already_moved') {
    const isFailure = outcome.outcome === 'differs'
    return { json: { ...locations, ...toBody(outcome) }, text: toText(outcome, locations), isFailure }
  }
  const at = toIso(outcome.at)
  const text = `${locations.from} was already moved to ${locations.to} at ${at}. Nothing was changed.\n`
  return { json: { ...locations, outcome: 'already_moved', completed_at: at }, text }
}

function toBody(move: FinishedMove): object {
  return {
    outcome: move.outcome,
    log_position: move.position,
    copied_rows: move.copiedRows,
    rows_per_second: rowsPerSecond(move),
    applied_entries: move.appliedEntries,
    uploads_rolled_back: move.uploadsRolledBack,
    parked_entries: move.parkedEntries,
    needs_pii_key: move.needsPiiKey,
    tables: move.tables.map(({ table, source, target, isEqual }) => ({ table, equal: isEqual, source, target })),
    statistics: move.statistics.map(({ workspaceId, cells, differingCells, isEqual }) => ({
      workspace_id: workspaceId,
      equal: isEqual,
      cells,
      differing_cells: differingCells,
    })),
  }
}

function toText(move: FinishedMove, locations: { readonly from: string; readonly to: string }): string {
  const { tables, statistics, copiedRows, copiedMs, parkedEntries, uploadsRolledBack } = move
  const names = Math.max(...tables.map(({ table }) => table.length))
  const numbers = Math.max(...tables.map(({ source }) => String(source.rows).length))
  const lines = tables.map(({ table, source, target, isEqual }) => {
    const found = isEqual
      ? 'equal'
      : `DIFFERS: the target has ${counted(target.rows, 'row')}, ${shortened(target.checksum)}`
    const count = `${String(source.rows).padStart(numbers)} ${source.rows === 1 ? 'row ' : 'rows'}`
    return `${table.padEnd(names)}  ${count}  ${shortened(source.checksum)}  ${found}`
  })
  for (const { workspaceId, cells, differingCells } of statistics) {
    const found = `${counted(cells, 'cell')}; ${counted(differingCells, 'cell differs', 'cells differ')}`
    lines.push(`statistics of ${workspaceId} recounted: ${found}`)
  }
  lines.push(
    `${counted(copiedRows, 'row')} copied in ${(copiedMs / 1000).toFixed(1)} s, ${rowsPerSecond(move)} per second`,
  )
  if (uploadsRolledBack > 0) {
    const uploads = counted(uploadsRolledBack, 'interrupted coupon upload was', 'interrupted coupon uploads were')
    lines.push(`${uploads} rolled back.`)
  }
  if (parkedEntries > 0) {
    const entries = counted(parkedEntries, 'parked entry is', 'parked entries are')
    lines.push(`${entries} also parked in the target.`)
  }
  return [...lines, ...conclusion(move, locations), ''].join('\n')
}

function conclusion(
  { outcome, position, needsPiiKey, tables }: FinishedMove,
  { from, to }: { readonly from: string; readonly to: string },
): string[] {
  if (outcome === 'moved') {
    return [
      `${from} was moved to ${to}. The positions of its log continue after ${position}.`,
      ...(needsPiiKey ? ['Start the cluster with the same PII_KEY: some emails are encrypted.'] : []),
      `Do not start the old server on ${from} again. Anything it accepts now will not be in the new store.`,
    ]
  }
  const areRowsEqual = tables.every(({ isEqual }) => isEqual)
  if (!areRowsEqual) return ['The move is incomplete. Run it again to copy what differs.']
  return [
    'The move is incomplete, because the statistics were wrong before it.',
    `Run \`tidings statistics rebuild\` on ${from}, then run the move again.`,
  ]
}

function shortened(checksum: string): string {
  return checksum.slice(0, CHECKSUM_SHOWN).padEnd(CHECKSUM_SHOWN, '-')
}

function rowsPerSecond({ copiedRows, copiedMs }: FinishedMove): number {
  return copiedMs === 0 ? 0 : Math.round((copiedRows * 1000) / copiedMs)
}
