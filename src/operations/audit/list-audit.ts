// List audit trail: returns a page of who changed what, newest first, or everything that matches as CSV.
import { Type, type Static } from 'typebox'
import { toSuppressionSubject } from '../../actions/audit/suppression-subject.ts'
import { toEmailKey } from '../../actions/email-protection.ts'
import { AUDIT_KINDS, type AuditEntry } from '../../core/accounts/audit.ts'
import type { Fault } from '../../core/app-error.ts'
import { toCsvLine } from '../../core/exports/csv-line.ts'
import { isEmail } from '../../core/users/email-address.ts'
import type { Workspace } from '../../core/workspace.ts'
import { listAuditEntries, type AuditCursor, type AuditFilters } from '../../store/accounts/audit-entries.ts'
import type { Store } from '../../store/store.ts'
import type { EmailVault } from '../../store/users/email-vault.ts'
import { CSV_TYPE, csvFaults, wantsCsv } from '../exports/csv.ts'
import { streamLines } from '../exports/line-stream.ts'
import { TIME_RANGE_FIELDS, timeRangeFaults, toTimeRange } from '../exports/time-range.ts'
import { Nullable, OneOf, Strict, Text, WorkspacePath } from '../fields.ts'
import { JsonText } from '../json-text.ts'
import { defineOperation } from '../operation.ts'
import { BEFORE_LENGTH_MAX } from '../page-cursor.ts'
import { PAGE_SIZE_LIMIT, readPage } from '../read-page.ts'
import { EXPORT_SLOTS } from '../slots.ts'
import { AUDIT_CURSOR, AuditOutput, toAuditBody } from './audit-body.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 500
const FILTER_LENGTH_MAX = 512
/** Entries that an export reads with one statement. An entry may have 100 KiB. */
const EXPORTED_AT_ONCE = 100
const COLUMNS = [
  'number',
  'at',
  'who',
  'address',
  'action',
  'kind',
  'subject_id',
  'subject_name',
  'changes',
  'further_changes',
  'request_id',
] as const

/** What narrows the list. */
const AuditFilterFields = Strict({
  kind: Type.Optional(OneOf(AUDIT_KINDS, 'Only changes of this kind.')),
  who: Type.Optional(
    Text(1, FILTER_LENGTH_MAX, 'Only changes by `key:data`, `person:ada@example.com`, `command:root` …'),
  ),
  action: Type.Optional(Text(1, FILTER_LENGTH_MAX, 'Only changes by the operation with this name.')),
  subject: Type.Optional(
    Text(1, FILTER_LENGTH_MAX, 'Only changes of what has this `subject_id`. An email address finds its suppressions.'),
  ),
  ...TIME_RANGE_FIELDS,
})
type FilterQuery = Static<typeof AuditFilterFields>

export const listAudit = defineOperation({
  name: 'list_audit',
  summary: 'List audit trail',
  description:
    'Returns who changed what, newest first: every change by a person, key or command, with the fields that differ. Entries never ' +
    'change, and are deleted after thirteen months. Send the `next_before` of a page as `before` to get the next page; it is ' +
    `null on the last one. A page ends early if it would exceed ${PAGE_SIZE_LIMIT} as JSON. With \`Accept: ${CSV_TYPE}\` the ` +
    'response is everything that matches, with `changes` as JSON. If the server fails or stops, it cuts the connection. ' +
    `A workspace has at most ${EXPORT_SLOTS.slotsPerWorkspaceMax} exports at once; beyond that the response is 503. ` +
    'What is ingested (events, users, reports, preferences, feedback) is no change: it has receipts and proofs of its own.',
  group: 'Workspace',
  method: 'GET',
  url: '/v1/workspaces/:Workspace_ID/audit',
  requires: 'audit.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({
    ...AuditFilterFields.properties,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT, description: 'Entries per page.' }),
    ),
    before: Type.Optional(Text(1, BEFORE_LENGTH_MAX, 'The `next_before` of a page.')),
  }),
  body: null,
  faults(request) {
    const { workspace, query } = request
    return [
      ...timeRangeFaults(query, workspace),
      ...auditCursorFaults('query.before', query.before),
      ...(wantsCsv(request) ? csvFaults(query, ['limit', 'before']) : []),
    ]
  },
  successStatus: 200,
  output: Type.Object({ data: Type.Array(AuditOutput), next_before: Nullable(Type.String()) }),
  otherOutput: {
    type: CSV_TYPE,
    example:
      `${COLUMNS.join(',')}\n7,2026-05-04T10:00:00.000Z,key:reports,192.0.2.7,update_segment,segment,` +
      '0198c0de-7a61-7bb1-9d0e-5f2a4c8b1e37,Customers,"[{""field"":""name"",""before"":""Buyers"",""after"":""Customers""}]",' +
      '0,019a3b5c-7d2e-7f10-8a4b-5c6d7e8f9a0b\n',
  },
  async handle(request, { database, emailVault, exportSlots: slots }) {
    const { workspace, query } = request
    const filters = toAuditFilters(query, { workspace, emailVault })
    if (!wantsCsv(request)) return readAuditPage(database, workspace.id, { ...query, filters })
    return streamLines({ slots, workspaceId: workspace.id, type: CSV_TYPE }, csvLines(database, workspace.id, filters))
  },
})

export function auditCursorFaults(field: string, before: string | undefined): Fault[] {
  if (before === undefined || AUDIT_CURSOR.parse(before)) return []
  return [{ field, problem: 'must be the next_before of a page' }]
}

/** The query has no faults. */
export function toAuditFilters(
  { kind, who, action, subject, from, to }: FilterQuery,
  { workspace, emailVault }: { readonly workspace: Workspace; readonly emailVault: EmailVault | undefined },
): AuditFilters {
  const isAddress = subject !== undefined && isEmail(subject)
  const subjectId = isAddress ? toSuppressionSubject(workspace, toEmailKey(workspace, subject, emailVault)) : subject
  return { kind, who, action, subjectId, ...toTimeRange({ from, to }, workspace) }
}

async function readAuditPage(
  store: Store,
  workspaceId: string,
  page: { readonly filters: AuditFilters; readonly limit?: number; readonly before?: string },
): Promise<JsonText> {
  const { filters, limit = LIMIT_DEFAULT } = page
  const { items, last } = await readPage<AuditCursor, AuditEntry>({
    before: page.before === undefined ? undefined : AUDIT_CURSOR.parse(page.before),
    limit,
    read: (portion) => listAuditEntries(store, workspaceId, { filters, ...portion }),
    write: (entry) => JSON.stringify(toAuditBody(entry)),
  })
  return JsonText.objectBeginningWith('data', items, { next_before: last ? AUDIT_CURSOR.write(last) : null })
}

async function* csvLines(store: Store, workspaceId: string, filters: AuditFilters): AsyncGenerator<readonly string[]> {
  yield [toCsvLine(COLUMNS)]
  for (let before: AuditCursor | undefined; ;) {
    const entries = await listAuditEntries(store, workspaceId, { filters, before, max: EXPORTED_AT_ONCE })
    yield entries.map(toLine)
    if (entries.length < EXPORTED_AT_ONCE) return
    before = entries.at(-1)
  }
}

function toLine(entry: AuditEntry): string {
  const body = { ...toAuditBody(entry), changes: JSON.stringify(entry.changes) }
  return toCsvLine(COLUMNS.map((column) => body[column]))
}
