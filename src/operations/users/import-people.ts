// Import people: creates or updates many users from a stream of CSV or NDJSON, with their attributes and consent.
import { importRows, REFUSALS_KEPT_MAX } from '../../actions/imports/import-rows.ts'
import { readRows, ROW_BYTES_MAX } from '../../actions/imports/read-rows.ts'
import { inDigits } from '../../core/in-digits.ts'
import { COLUMNS_MAX } from '../../core/users/person-columns.ts'
import { findWorkspace } from '../../store/workspaces/workspaces.ts'
import { NoFields, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { ImportOutput, toImportBody } from './import-body.ts'

const IMPORT_BYTES_MAX = 1024 ** 3
const CSV = 'text/csv'
const NDJSON = 'application/x-ndjson'

export const importPeople = defineOperation({
  name: 'import_people',
  summary: 'Import people',
  description:
    'Creates or updates the user of each row, as Track User does, and sets email preferences, from a file of up to 1 GiB that is ' +
    'sent as a stream. Responds when every accepted row is durable; the rows are applied soon after.\n\n' +
    'CSV (RFC 4180, UTF-8, commas) begins with a header. Columns are `customer_id`, configured identifiers, `opt_in_status`, ' +
    '`categories.NAME` (true or false), and attributes. Cells are stored as text, and an empty cell counts as not sent. ' +
    'NDJSON has one object in each line: `customer_id`, `user_identifiers`, `attributes`, `opt_in_status`, `categories`. ' +
    'Attributes keep their JSON types, and null clears one. Lines of the export of users can be imported.\n\n' +
    `A row with a fault is refused, and the others are accepted; the response names the first ${inDigits(REFUSALS_KEPT_MAX)}. A ` +
    'wrong header or broken CSV ends the import with 400, which says how many rows were imported before. A row has at most ' +
    `${inDigits(ROW_BYTES_MAX)} bytes, and a header ${inDigits(COLUMNS_MAX)} columns.\n\n` +
    'If the connection breaks, send the same file with the same `Idempotency-Key`: the import continues, and no row is ' +
    'applied twice. Without a key, each request is a new import. A request may take 15 minutes and pause for one. An import ' +
    'can be continued for 23 hours, and its status read for 30 days.\n\n' +
    'An import never opts anybody in who opted out, and never replaces a choice that was made after it was received. Every ' +
    'change of preferences is stored as a proof of consent.',
  group: 'Events and users',
  method: 'POST',
  url: '/v1/customer/:Workspace_ID/import',
  requires: 'users.write',
  takesAppKey: false,
  takesIdempotencyKey: true,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: NoFields,
  body: null,
  upload: {
    bytesMax: IMPORT_BYTES_MAX,
    examples: {
      [CSV]: 'customer_id,email,plan,opt_in_status\ncustomer-1,anna@example.com,premium,OPTED_IN\n',
      [NDJSON]: '{"customer_id":"customer-1","attributes":{"age":42},"categories":{"Newsletter":true}}\n',
    },
  },
  successStatus: 200,
  output: ImportOutput,
  handle({ workspace: cached, upload, uploadType, requestId, callerAddress, header }, parts) {
    return parts.importSlots.run(cached.id, async () => {
      // The cached settings may lack a category or identifier that was added just now.
      const workspace = (await findWorkspace(parts.database, cached.id))?.workspace ?? cached
      const rows = readRows(uploadType === CSV ? 'csv' : 'ndjson', upload as AsyncIterable<Uint8Array>, workspace)
      const source = { workspace, key: header('idempotency-key'), requestId, callerAddress }
      return toImportBody(await importRows(source, rows, parts), parts.clock())
    })
  },
})
