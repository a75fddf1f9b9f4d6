// `parked list|show|replay|drop`: shows parked entries, and applies or discards them.
import { dropParked, requireParked } from '../actions/parked-entries.ts'
import { AppError } from '../core/app-error.ts'
import { toIso } from '../core/time-value.ts'
import { replayParked } from '../pipeline/replay-parked.ts'
import { listParkedEntries, type ParkedEntry } from '../store/entries/parked-entries.ts'
import { commandChanger } from './audit/changed-by-command.ts'
import type { Command } from './command.ts'
import { confirm, YES } from './confirm.ts'
import { withStore } from './with-store.ts'

/** The entries of one page of the list. */
const PAGE_ENTRIES = 100
const POSITION = /^\d{1,15}$/

const list: Command = {
  name: 'parked list',
  operands: [],
  options: { after: { value: 'POSITION', summary: 'Lists entries after this one.' } },
  summary: `Lists parked entries in log order, ${PAGE_ENTRIES} at a time.`,
  async run({ config, option, print }) {
    const after = readPosition(option('after') ?? '0')
    // One more than a page tells whether there is another page.
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
  summary: 'Shows a parked entry in full.',
  async run({ config, operands: [text = ''], print }) {
    const position = readPosition(text)
    const entry = await withStore(config, (database) => requireParked(database, { position }))
    const body = { ...toSummaryBody(entry), context: JSON.parse(entry.context) as unknown, body: entry.body }
    const lines = Object.entries(body).map(([name, value]) => `${name}: ${toLine(value)}\n`)
    print({ json: body, text: lines.join('') })
  },
}

const replay: Command = {
  name: 'parked replay',
  operands: ['POSITION'],
  options: {},
  summary: 'Applies a parked entry, after you have fixed the cause.',
  async run({ config, operands: [text = ''], print }) {
    const position = readPosition(text)
    const change = { position, by: commandChanger() }
    const replayed = await withStore(config, (database) => replayParked(database, change))
    if (replayed.outcome === 'not_applied') {
      throw new AppError('conflict', `The entry at ${position} cannot be applied: ${replayed.reason}.`)
    }
    print({ json: { position, outcome: 'applied' }, text: `The entry at ${position} was applied.\n` })
  },
}

const drop: Command = {
  name: 'parked drop',
  operands: ['POSITION'],
  options: YES,
  summary: 'Discards a parked entry permanently.',
  details: 'Asks before it discards the entry.',
  async run(call) {
    const { config, operands, print } = call
    const position = readPosition(operands[0] ?? '')
    await confirm(call, `The accepted request at ${position} is discarded permanently.`)
    const change = { position, by: commandChanger() }
    await withStore(config, (database) => database.write((store) => dropParked(store, change)))
    print({ json: { position, outcome: 'dropped' }, text: `The entry at ${position} was dropped.\n` })
  },
}

export const parkedCommands: readonly Command[] = [list, show, replay, drop]

function readPosition(text: string): number {
  if (POSITION.test(text)) return Number(text)
  const details = [{ field: 'POSITION', problem: 'must be a whole number' }]
  throw new AppError('invalid_request', `${JSON.stringify(text)} is not a log position.`, details)
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
