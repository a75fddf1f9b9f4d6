// List suppressions: returns a page, newest first, or the whole list as CSV. Pages neither overlap nor skip.
import { Type } from 'typebox'
import { toEmailKey } from '../../actions/email-protection.ts'
import type { Fault } from '../../core/app-error.ts'
import { toCsvLine } from '../../core/exports/csv-line.ts'
import { SUPPRESSION_REASONS, type Suppression, type SuppressionReason } from '../../core/delivery/suppression.ts'
import type { Workspace } from '../../core/workspace.ts'
import {
  findSuppressions,
  listSuppressionPage,
  listSuppressionsAfter,
  type SuppressionKey,
} from '../../store/senders/suppressions.ts'
import type { Store } from '../../store/store.ts'
import type { EmailVault } from '../../store/users/email-vault.ts'
import { CSV_TYPE, csvFaults, wantsCsv } from '../exports/csv.ts'
import { streamLines } from '../exports/line-stream.ts'
import { NoFields, Nullable, OneOf, Strict, Text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { SuppressedEmail, suppressionFaults, SuppressionOutput, toSuppressionBody } from './suppression-body.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 500
/** Suppressions that an export reads with one statement. */
const EXPORTED_AT_ONCE = 1_000
/** A cursor holds a whole address. */
const CURSOR_LENGTH_MAX = 2_048
const COLUMNS = ['email', 'reason', 'since', 'evidence'] as const

interface Query {
  readonly email?: string
  readonly reason?: SuppressionReason
  readonly limit?: number
  readonly before?: string
}

export const listSuppressions = defineOperation({
  name: 'list_suppressions',
  summary: 'List suppressions',
  description:
    'Returns the addresses that are not sent to, newest first. Send the `next_before` of a page as `before` to get the next ' +
    `page; it is null on the last one. With \`Accept: ${CSV_TYPE}\` the response is the whole list, in the order of the addresses, ` +
    'optionally only those with one reason.',
  group: 'Suppressions and feedback',
  method: 'GET',
  url: '/core-services/v1/suppressions',
  requires: 'suppressions.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: Strict({
    email: Type.Optional(SuppressedEmail),
    reason: Type.Optional(OneOf(SUPPRESSION_REASONS, 'Only suppressions with this reason.')),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT, description: 'Suppressions per page.' }),
    ),
    before: Type.Optional(Text(1, CURSOR_LENGTH_MAX, 'The `next_before` of a page.')),
  }),
  body: null,
  faults(request) {
    const { workspace, query } = request
    return [
      ...suppressionFaults(workspace, 'query.email', query.email),
      ...(query.before === undefined || parseCursor(query.before) ? [] : [UNKNOWN_BEFORE]),
      ...(wantsCsv(request) ? csvFaults(query, ['email', 'limit', 'before']) : []),
    ]
  },
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(SuppressionOutput),
    next_before: Nullable(Type.String({ description: 'Identifies the last suppression on this page.' })),
  }),
  otherOutput: { type: CSV_TYPE, example: `${COLUMNS.join(',')}\nanna@example.com,manual,2026-05-04T10:00:00.000Z,\n` },
  async handle(request, { database, emailVault, exportSlots: slots }) {
    const { workspace, query } = request
    if (!wantsCsv(request)) return listJson(database, { workspace, query, vault: emailVault })
    const lines = csvLines(database, { workspace, query, vault: emailVault })
    return streamLines({ slots, workspaceId: workspace.id, type: CSV_TYPE }, lines)
  },
})

interface Listing {
  readonly workspace: Workspace
  readonly query: Query
  readonly vault: EmailVault | undefined
}

async function listJson(store: Store, { workspace, query, vault }: Listing) {
  const { limit = LIMIT_DEFAULT } = query
  const found = await findPage(store, { workspace, query, vault }, limit + 1)
  const shown = found.slice(0, limit)
  const last = found.length > limit ? shown.at(-1) : undefined
  return {
    data: shown.map((suppression) => toSuppressionBody(workspace, suppression, vault)),
    next_before: last ? writeCursor(last) : null,
  }
}

async function findPage(store: Store, { workspace, query, vault }: Listing, max: number): Promise<Suppression[]> {
  const { email, reason } = query
  const before = query.before === undefined ? undefined : parseCursor(query.before)
  if (email === undefined) return listSuppressionPage(store, workspace.id, { reason, before, max })
  if (before) return []
  const found = [...(await findSuppressions(store, workspace.id, [toEmailKey(workspace, email, vault)])).values()]
  return found.filter((suppression) => reason === undefined || suppression.reason === reason)
}

async function* csvLines(store: Store, { workspace, query, vault }: Listing): AsyncGenerator<readonly string[]> {
  yield [toCsvLine(COLUMNS)]
  for (let after = ''; ;) {
    const found = await listSuppressionsAfter(store, workspace.id, { after, max: EXPORTED_AT_ONCE })
    const wanted = found.filter(({ reason }) => query.reason === undefined || query.reason === reason)
    yield wanted.map((suppression) => {
      const body = toSuppressionBody(workspace, suppression, vault)
      return toCsvLine(COLUMNS.map((column) => body[column] ?? null))
    })
    const last = found.at(-1)
    if (!last || found.length < EXPORTED_AT_ONCE) return
    after = last.emailKey
  }
}

const UNKNOWN_BEFORE: Fault = { field: 'query.before', problem: 'must be the next_before of a page' }

/** `PageCursor` holds only numbers; the rest of this key is an address. */
function writeCursor({ since, emailKey }: SuppressionKey): string {
  return `${since.toString(36)}-${Buffer.from(emailKey).toString('base64url')}`
}

const CURSOR = /^(?<since>[0-9a-z]{1,11})-(?<key>[A-Za-z0-9_-]+)$/

/** Undefined if the text is no cursor. */
function parseCursor(text: string): SuppressionKey | undefined {
  const { since, key } = CURSOR.exec(text)?.groups ?? {}
  if (since === undefined || key === undefined) return undefined
  const emailKey = Buffer.from(key, 'base64url').toString('utf8')
  const at = Number.parseInt(since, 36)
  return Number.isSafeInteger(at) && !emailKey.includes('\0') ? { since: at, emailKey } : undefined
}
