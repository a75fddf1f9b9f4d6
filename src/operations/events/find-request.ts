// Get request status: tells whether a request is accepted, processed, or parked with the reason.
import { Type } from 'typebox'
import { AppError, type Fault } from '../../core/app-error.ts'
import { countEvents } from '../../log/count-events.ts'
import { listPipelineCursors } from '../../store/entries/cursors.ts'
import { findReceipt } from '../../store/entries/request-receipts.ts'
import { NoFields, OneOf, Strict, Text, WorkspacePath } from '../fields.ts'
import { defineOperation, type Parts } from '../operation.ts'
import { WarningsOutput } from '../warnings.ts'

const REQUEST_ID_LENGTH_MAX = 64

interface Fate {
  readonly request_id: string
  readonly status: 'accepted' | 'processed' | 'parked'
  readonly events: number
  readonly duplicates: number
  readonly not_counted: number
  readonly created_customers?: number
  readonly error?: string
  readonly warnings?: readonly Fault[]
}

export const findRequest = defineOperation({
  name: 'find_request',
  summary: 'Get request status',
  description:
    'Returns the status of an accepted request for seven days. `accepted`: durable, not yet processed. `processed`: ' +
    'visible in every response. `parked`: could not be applied and needs an operator or, if `error` says so, was ' +
    'dropped by one. `events` counts the events sent, `duplicates` those that were already known: events with the same `event_id`, and reported audience members and ' +
    'message events that repeat an earlier one, even if the repeat wins. `not_counted` counts those that campaign ' +
    'statistics leave out because they count at most 10,000 events of one user in one campaign. `warnings` names what may be ' +
    'a mistake and was found only after the request was accepted, such as a report of unknown customers.',
  group: 'Events and users',
  method: 'GET',
  url: '/v1/event/:Workspace_ID/requests/:request_id',
  requires: 'requests.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: Strict({
    ...WorkspacePath.properties,
    request_id: Text(1, REQUEST_ID_LENGTH_MAX, 'The `request_id` of the response.'),
  }),
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    request_id: Type.String(),
    status: OneOf(['accepted', 'processed', 'parked']),
    events: Type.Integer(),
    duplicates: Type.Integer(),
    not_counted: Type.Integer({
      description: 'Events over the cap of what is counted of one user in one campaign; 0 if none.',
    }),
    created_customers: Type.Optional(
      Type.Integer({
        description: 'Customer ids in a report for which users were created; absent if none.',
      }),
    ),
    error: Type.Optional(Type.String({ description: 'Why the request is parked, or which parts were not stored.' })),
    warnings: WarningsOutput,
  }),
  async handle({ path, workspace }, parts): Promise<Fate> {
    const request: Request = { workspaceId: workspace.id, requestId: path.request_id }
    const look = async () => (await fromLog(request, parts)) ?? (await fromReceipt(request, parts))
    const lookInTurn = () => {
      return parts.queue.run(`requests ${workspace.id}`, look, workspace.limits.management_per_minute)
    }
    // A request in neither may have moved from the log to the receipts between the two reads, so the receipts are read again.
    const fate = (await fromReceipt(request, parts)) ?? (await lookInTurn())
    if (!fate)
      throw new AppError('not_found', 'The workspace has no request with this id, or it is older than seven days.')
    return fate
  },
})

interface Request {
  readonly workspaceId: string
  readonly requestId: string
}

async function fromReceipt({ workspaceId, requestId }: Request, { database }: Parts): Promise<Fate | undefined> {
  const receipt = await findReceipt(database, workspaceId, requestId)
  if (!receipt) return undefined
  const { status, events, duplicates, notCounted, createdCustomers, error, warnings } = receipt
  return {
    request_id: requestId,
    status,
    events,
    duplicates,
    not_counted: notCounted,
    ...(createdCustomers !== undefined && { created_customers: createdCustomers }),
    ...(error !== null && { error }),
    ...(warnings && { warnings }),
  }
}

/** Searches the entries that are not applied yet. May read all entries that were received at about the same time. */
async function fromLog({ workspaceId, requestId }: Request, { database, logReader }: Parts): Promise<Fate | undefined> {
  const first = await logReader.firstAfter(await listPipelineCursors(database, logReader.partitions))
  const entry = first && (await logReader.findByRequestId(requestId, first))
  if (entry?.workspaceId !== workspaceId) return undefined
  return { request_id: requestId, status: 'accepted', events: countEvents(entry), duplicates: 0, not_counted: 0 }
}
