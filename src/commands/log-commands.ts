// `log check`, `log skip`: read the whole embedded log, and go on behind entries that a damaged disk has lost.
import { existsSync } from 'node:fs'
import type { Config } from '../app/config.ts'
import { AppError } from '../core/app-error.ts'
import { checkLogFile, type LogCheck } from '../log/sqlite/damaged-log.ts'
import { logPathOf } from '../log/open-log.ts'
import type { PositionRange } from '../log/sqlite/record-batches.ts'
import { findCursor, moveCursor, PIPELINE_CURSOR } from '../store/entries/cursors.ts'
import { UsageError, type Command } from './command.ts'
import { confirm, YES } from './confirm.ts'
import { withStore } from './with-store.ts'

const check: Command = {
  name: 'log check',
  operands: [],
  options: {},
  summary: 'Reads the whole embedded log, and names the positions that cannot be read. Exits 1 if there are any.',
  async run({ config, print }) {
    const { entries, damaged, cursor } = await readAll(config)
    const lines = damaged.map(
      (range) => `Damaged: ${describe(range)}, ${isApplied(range, cursor) ? 'applied' : 'not applied'}.\n`,
    )
    if (damaged.some((range) => !isApplied(range, cursor))) {
      lines.push('The pipeline stops there. Restore a backup, or go on without them: tidings log skip --damaged\n')
    } else if (damaged.length > 0) {
      lines.push('Nothing is lost. For an undamaged log, stop the server, back up, and restore into an empty folder.\n')
    }
    const json = { entries, cursor, damaged: damaged.map((range) => toBody(range, cursor)) }
    print({ json, text: `${entries} entries can be read.\n${lines.join('')}`, isFailure: damaged.length > 0 })
  },
}

const skip: Command = {
  name: 'log skip',
  operands: [],
  options: {
    damaged: { summary: 'Skips the damaged entries at which the pipeline has stopped. Required.' },
    ...YES,
  },
  summary: 'Lets the pipeline go on behind damaged entries, which are lost. A server may run meanwhile.',
  async run({ config, option, print }) {
    if (option('damaged') === undefined) throw new UsageError('Missing --damaged, which says what to skip.')
    const { damaged, cursor } = await readAll(config)
    const range = damaged.find((candidate) => !isApplied(candidate, cursor))
    if (!range) throw new AppError('not_found', 'No entry that is not applied is damaged.')
    if (range.after > cursor) {
      const message = `The entries from ${cursor + 1} to ${range.after} can be read and are not applied yet.`
      throw new AppError('conflict', `${message} Let the server apply them first.`)
    }
    const lost = { after: Math.max(cursor, range.after), through: range.through }
    await confirm({ option }, `${describe(lost)} will be lost.`)
    const isMoved = await withStore(config, (database) =>
      database.write((store) => moveCursor(store, PIPELINE_CURSOR, cursor, lost.through)),
    )
    if (!isMoved) throw new AppError('conflict', 'The pipeline has moved on meanwhile. Run the command again.')
    print({ json: { skipped: toBody(lost, cursor) }, text: `Skipped ${describe(lost)}. They are lost.\n` })
  },
}

export const logCommands: readonly Command[] = [check, skip]

async function readAll(config: Config): Promise<LogCheck & { readonly cursor: number }> {
  if (config.databaseUrl !== undefined) {
    throw new AppError('invalid_request', 'DATABASE_URL is set. Only the embedded log is checked by this command.')
  }
  const cursor = await withStore(config, (database) => findCursor(database, PIPELINE_CURSOR))
  const path = logPathOf(config)
  if (!existsSync(path)) throw new AppError('not_found', `The log ${path} does not exist.`)
  return { ...checkLogFile(path), cursor }
}

function isApplied({ through }: PositionRange, cursor: number): boolean {
  return through <= cursor
}

function describe({ after, through }: PositionRange): string {
  const count = through - after
  return count === 1 ? `1 entry at position ${through}` : `${count} entries at positions ${after + 1} to ${through}`
}

function toBody({ after, through }: PositionRange, cursor: number) {
  return { from: after + 1, to: through, entries: through - after, is_applied: through <= cursor }
}
