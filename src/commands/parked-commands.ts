// `parked list|show|replay|drop`: log entries that could not be applied, and what an operator does about them.
import { AppError } from '../core/app-error.ts'
import { toIso } from '../core/time-value.ts'
import { findParkedEntry, listParkedEntries, type ParkedEntry } from '../store/parked-entries.ts'
import type { Command } from './command.ts'
import { withStore } from './with-store.ts'

/** Entries of one page of the list. */
const PAGE_ENTRIES = 100
const POSITION = /^\d{1,15}$/

const list: Command = {
  name: 'parked list',
  operands: [],
  options: { after: { value: 'POSITION', summary: 'Begins behind this one, for the next page.' } },
  summary: `Lists parked entries in the order of the log, ${PAGE_ENTRIES} at a time.`,
  async run({ config, option, print }) {
    const after = readPosition(option('after') ?? '0')
    // One more than a page shows whether there is another.
    const found = await withStore(config, (database) => listParkedEntries(database, after, PAGE_ENTRIES + 1))
    const parked = found.slice(0, PAGE_ENTRIES)
    const nextAfter = found.length > PAGE_ENTRIES ? (parked.at(-1)?.position ?? null) : null
    const lines = parked.map(({ position, workspaceId, kind, parkedAt, error }) => {
      return `${position}  ${workspaceId}  ${kind}  ${toIso(parkedAt)}  ${error}\n`
    })
    if (nextAfter !== null) lines.push(`More: tidings parked list --after ${nextAfter}\n`)
    print({ json: { parked: parked.map(toSummaryBody), next_after: nextAfter }, text: lines.join('') })
  },
}

const show: Command = {
  name: 'parked show',
  operands: ['POSITION'],
  options: {},
  summary: 'Shows all of a parked entry.',
  async run({ config, operands: [text = ''], print }) {
    const position = readPosition(text)
    const entry = await withStore(config, (database) => findParkedEntry(database, position))
    if (!entry) throw notParked(position)
    const body = { ...toSummaryBody(entry), context: JSON.parse(entry.context) as unknown, body: entry.body }
    const lines = Object.entries(body).map(([name, value]) => `${name}: ${toLine(value)}\n`)
    print({ json: body, text: lines.join('') })
  },
}

export const parkedCommands: readonly Command[] = [list, show]

function readPosition(text: string): number {
  if (POSITION.test(text)) return Number(text)
  const details = [{ field: 'POSITION', problem: 'must be a whole number' }]
  throw new AppError('invalid_request', `${JSON.stringify(text)} is not a position of the log.`, details)
}

function notParked(position: number): AppError {
  return new AppError('not_found', `No entry is parked at ${position}.`)
}

function toSummaryBody(entry: ParkedEntry) {
  return {
    position: entry.position,
    workspace_id: entry.workspaceId,
    kind: entry.kind,
    request_id: entry.requestId,
    received_at: toIso(entry.receivedAt),
    parked_at: toIso(entry.parkedAt),
    error: entry.error,
  }
}

function toLine(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
