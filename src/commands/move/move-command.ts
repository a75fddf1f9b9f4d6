// `move`: an embedded store becomes the beginning of a cluster.
import { resolve } from 'node:path'
import { ConfigError, readConfig, type Config } from '../../config.ts'
import { AppError, type Fault } from '../../core/app-error.ts'
import { toIso } from '../../core/time-value.ts'
import { withoutPassword } from '../../store/postgres/without-password.ts'
import type { Command, CommandCall, CommandOutput } from '../command.ts'
import { explainDatabase } from '../explain-database.ts'
import { moveStore, type FinishedMove, type MoveOutcome } from './move-store.ts'
import { terminalProgress } from '../terminal-progress.ts'

/** Digits of a checksum that people are shown. */
const CHECKSUM_SHOWN = 16

export const moveCommand: Command = {
  name: 'move',
  operands: [],
  options: {
    to: {
      value: 'DATABASE_URL',
      isRequired: true,
      summary: 'An empty PostgreSQL database, as DATABASE_URL of the cluster will name it.',
    },
    nats: {
      value: 'NATS_URL',
      summary: 'The NATS servers of the cluster, where they keep its log; without them, PostgreSQL does.',
    },
  },
  summary: 'Takes the embedded store in DATA_DIR into a cluster, and compares everything at the end.',
  details: [
    'The server must be stopped; what it has not applied yet is applied first. An interrupted move goes on when it is run',
    'again, and until it is complete nobody can serve the database. DATA_DIR stays as it is: serve it no more. Ids, keys',
    'and Idempotency-Keys stay, and PII_KEY must; uploads of coupons that were cut off are taken back.',
    'Exit status 0 only when every row and all statistics were found equal.',
  ].join('\n'),
  async run({ config, option, print }) {
    if (config.databaseUrl !== undefined) {
      const details = [{ field: 'DATABASE_URL', problem: 'must not be set: it says that no store is embedded' }]
      throw new AppError('invalid_request', 'What is moved is the embedded store in DATA_DIR.', details)
    }
    const to = readTarget(option)
    try {
      const outcome = await moveStore({ from: config, to, progress: terminalProgress() })
      print(describe(outcome, config, to))
    } catch (error) {
      throw explainDatabase(error, { setting: '--to', url: to.databaseUrl })
    }
  },
}

/** Which option gives which setting of the cluster. */
const TARGET_OPTIONS = [
  { field: '--to', name: 'to', setting: 'DATABASE_URL' },
  { field: '--nats', name: 'nats', setting: 'NATS_URL' },
] as const

/** The settings of the cluster. An empty value is one that was forgotten, and must not count as not given. */
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
  throw new AppError('invalid_request', 'There is nothing to move to.', faults)
}

function toOptionFault(fault: Fault): Fault {
  const given = TARGET_OPTIONS.find(({ setting }) => setting === fault.field)
  return given ? { ...fault, field: given.field } : fault
}

function describe(outcome: MoveOutcome, from: Config, to: Config): CommandOutput {
  const places = { from: resolve(from.dataDir), to: withoutPassword(to.databaseUrl as string) }
  if (outcome.outcome !== 'moved before') {
    const isFailure = outcome.outcome === 'differs'
    return { json: { ...places, ...toBody(outcome) }, text: toText(outcome, places), isFailure }
  }
  const at = toIso(outcome.at)
  const text = `${places.from} was moved to ${places.to} before, at ${at}. Nothing was changed.\n`
  return { json: { ...places, outcome: 'moved before', completed_at: at }, text }
}

function toBody(move: FinishedMove): object {
  return {
    outcome: move.outcome,
    log_position: move.position,
    copied_rows: move.copiedRows,
    rows_per_second: rowsPerSecond(move),
    applied_entries: move.appliedEntries,
    uploads_taken_back: move.uploadsTakenBack,
    parked_entries: move.parkedEntries,
    needs_pii_key: move.needsPiiKey,
    tables: move.tables.map(({ table, source, target, isEqual }) => ({ table, equal: isEqual, source, target })),
    statistics: move.statistics.map(({ workspaceId, cells, differingCells, misrememberedUsers, isEqual }) => ({
      workspace_id: workspaceId,
      equal: isEqual,
      cells,
      differing_cells: differingCells,
      misremembered_users: misrememberedUsers,
    })),
  }
}

function toText(move: FinishedMove, places: { readonly from: string; readonly to: string }): string {
  const { tables, statistics, copiedRows, copiedMs, parkedEntries, uploadsTakenBack } = move
  const names = Math.max(...tables.map(({ table }) => table.length))
  const numbers = Math.max(...tables.map(({ source }) => String(source.rows).length))
  const lines = tables.map(({ table, source, target, isEqual }) => {
    const found = isEqual ? 'equal' : `DIFFERS: the target has ${target.rows} rows, ${shortened(target.checksum)}`
    const count = `${String(source.rows).padStart(numbers)} rows`
    return `${table.padEnd(names)}  ${count}  ${shortened(source.checksum)}  ${found}`
  })
  for (const { workspaceId, cells, differingCells, misrememberedUsers } of statistics) {
    const found = `${cells} cells; ${differingCells} cells and ${misrememberedUsers} users differ`
    lines.push(`statistics of ${workspaceId} counted anew: ${found}`)
  }
  lines.push(`${copiedRows} rows copied in ${(copiedMs / 1000).toFixed(1)} s, ${rowsPerSecond(move)} a second`)
  if (uploadsTakenBack > 0) lines.push(`${uploadsTakenBack} uploads of coupons were cut off, and are taken back.`)
  if (parkedEntries > 0) lines.push(`${parkedEntries} parked entries are parked in the target too.`)
  return [...lines, ...conclusion(move, places), ''].join('\n')
}

function conclusion(
  { outcome, position, needsPiiKey, tables }: FinishedMove,
  { from, to }: { readonly from: string; readonly to: string },
): string[] {
  if (outcome === 'moved') {
    return [
      `${from} is moved to ${to}. Positions of its log go on behind ${position}.`,
      ...(needsPiiKey ? ['Serve it with the same PII_KEY: some emails are encrypted.'] : []),
      `Serve ${from} no more: what it took in from now on would be nowhere else.`,
    ]
  }
  const isMiscounted = tables.every(({ isEqual }) => isEqual)
  return [
    'The move is not complete: run it again, which copies anew what differs.',
    ...(isMiscounted ? [`Its statistics were wrong before: run \`tidings statistics rebuild\` on ${from} first.`] : []),
  ]
}

function shortened(checksum: string): string {
  return checksum.slice(0, CHECKSUM_SHOWN).padEnd(CHECKSUM_SHOWN, '-')
}

function rowsPerSecond({ copiedRows, copiedMs }: FinishedMove): number {
  return copiedMs === 0 ? 0 : Math.round((copiedRows * 1000) / copiedMs)
}
