// `import FILE`: sends a file of people to a running server, and waits until they are applied.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { readDataKey, type Config } from '../../app/config.ts'
import { AppError, invalidRequest, type Fault } from '../../core/app-error.ts'
import { codeOf } from '../../core/thrown.ts'
import { pause } from '../../runtime/pause.ts'
import { UsageError, type Command, type CommandCall, type CommandOutput } from '../command.ts'
import { SERVER_URL, SERVER_URL_FAULT, toServerUrl } from '../servers/server-url.ts'
import { terminalProgress, type Progress } from '../terminal-progress.ts'
import { findStatus, sendFile, type ImportServer, type ShownImport } from './send-file.ts'

const MEDIA_TYPES: Readonly<Record<string, string>> = { csv: 'text/csv', ndjson: 'application/x-ndjson' }
const EXTENSIONS: Readonly<Record<string, string>> = { '.csv': 'csv', '.ndjson': 'ndjson', '.jsonl': 'ndjson' }
/** How often to ask for the progress, and how long to wait while nothing is applied. */
const ASK_EVERY_MS = 500
const STANDSTILL_MS_MAX = 60_000
/** The refused rows that the text output names. */
const REFUSALS_SHOWN = 20

export const importCommand: Command = {
  name: 'import',
  operands: ['FILE'],
  options: {
    workspace: { value: 'ID', isRequired: true, summary: 'The workspace of the people.' },
    format: { value: 'csv|ndjson', summary: 'Default: by the ending of FILE (.csv, .ndjson, .jsonl).' },
    key: { value: 'KEY', summary: 'The Idempotency-Key. Default: a hash of FILE.' },
    ...SERVER_URL,
  },
  summary: 'Imports people with attributes and consent from a CSV or NDJSON file into a running server.',
  details: [
    'The environment variable DATA_KEY holds the API key of the tile data of the workspace.',
    'An interrupted import continues when you run the command again. The same file is imported once in 30 days:',
    'give another --key to import it again. The columns are described in the API reference at /docs.',
  ].join('\n'),
  async run({ config, operands: [path = ''], option, print }) {
    const server = readServer(config, option)
    const mediaType = readMediaType(path, option('format'))
    const bytes = await measure(path)
    const progress = terminalProgress()
    try {
      const idempotencyKey = option('key') ?? (await hashFile(path))
      const onSent = (sent: number) => progress.show(`sent ${toPercent(sent, bytes)}`)
      const received = await sendFile(server, { path, bytes, mediaType, idempotencyKey, onSent })
      const shown = await untilApplied(server, received, progress)
      progress.clear()
      print(describe(shown))
    } catch (error) {
      progress.clear()
      throw error
    }
  },
}

function readServer(config: Config, option: CommandCall['option']): ImportServer {
  const dataKey = readDataKey()
  const url = toServerUrl(config, option('url'))
  const faults: Fault[] = []
  if (!url) faults.push(SERVER_URL_FAULT)
  if (dataKey === undefined) faults.push({ field: 'DATA_KEY', problem: 'must be set: the API key of the tile data' })
  if (!url || dataKey === undefined || faults.length > 0) throw invalidRequest(faults)
  return { url, workspaceId: option('workspace') ?? '', apiKey: dataKey }
}

function readMediaType(path: string, format = EXTENSIONS[extname(path).toLowerCase()]): string {
  const mediaType = format === undefined ? undefined : MEDIA_TYPES[format]
  if (mediaType === undefined)
    throw new UsageError('The format of FILE is unknown. Give --format csv or --format ndjson.')
  return mediaType
}

/** The size of the file. Throws AppError if it cannot be read. */
async function measure(path: string): Promise<number> {
  try {
    const found = await stat(path)
    if (found.isFile()) return found.size
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    throw new AppError('not_found', `The file ${JSON.stringify(path)} does not exist.`)
  }
  throw invalidRequest([{ field: 'FILE', problem: 'must be a regular file' }])
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk)
  return `file ${hash.digest('hex')}`
}

/** Ends early if the pipeline stands still: every accepted row is durable, and will be applied. */
async function untilApplied(server: ImportServer, received: ShownImport, progress: Progress): Promise<ShownImport> {
  let shown = received
  let movedAt = performance.now()
  while (shown.status === 'processing' && performance.now() - movedAt < STANDSTILL_MS_MAX) {
    progress.show(`applied ${shown.applied} of ${shown.accepted} rows`)
    await pause(ASK_EVERY_MS)
    const next = await findStatus(server, shown.import_id)
    if (next.applied > shown.applied) movedAt = performance.now()
    shown = next
  }
  return shown
}

function describe(shown: ShownImport): CommandOutput {
  const { import_id: id, created_at: at, rows, accepted, refused, refusals, applied } = shown
  const lines = [
    `Import ${id}, begun at ${at}: ${rows} rows, ${accepted} accepted, ${refused} refused, ${applied} applied.`,
    ...refusals.slice(0, REFUSALS_SHOWN).map(({ line, problem }) => `line ${line}: ${problem}`),
  ]
  if (refused > REFUSALS_SHOWN) lines.push(`… and ${refused - REFUSALS_SHOWN} more; --json prints the first 1,000.`)
  if (shown.kept_opted_out > 0) lines.push(`${shown.kept_opted_out} rows contradicted an opt-out, which was kept.`)
  if (shown.incomplete > 0) lines.push(`Of ${shown.incomplete} rows an attribute or an address was not stored.`)
  if (shown.status === 'processing') lines.push('The other accepted rows are durable, and will be applied.')
  return { json: shown, text: `${lines.join('\n')}\n` }
}

function toPercent(part: number, whole: number): string {
  return `${Math.floor((100 * part) / Math.max(1, whole))} %`
}
