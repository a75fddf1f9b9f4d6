// What became of a request: accepted and still waiting, processed, or parked with the reason.
import { Type } from 'typebox'
import { AppError } from '../../core/app-error.ts'
import { countEvents } from '../../log/count-events.ts'
import { listPipelineCursors } from '../../store/entries/cursors.ts'
import { findReceipt } from '../../store/entries/request-receipts.ts'
import { NoFields, OneOf, Strict, Text, WorkspacePath } from '../fields.ts'
import { defineOperation, type Parts } from '../operation.ts'

const REQUEST_ID_LENGTH_MAX = 64

interface Fate {
  readonly request_id: string
  readonly status: 'accepted' | 'processed' | 'parked'
  readonly events: number
  readonly duplicates: number
  readonly error?: string
}

export const findRequest = defineOperation({
  name: 'find_request',
  summary: 'What became of a request',
  description:
    'Says of a request that was answered with success what became of it: `accepted` is durable and waits, `processed` ' +
    'shows in every answer, `parked` could not be applied and waits for an operator. `events` counts those sent, ' +
    '`duplicates` those of them that were known before: events by their `event_id`, what was reported of a campaign by ' +
    'what makes a repeat of it, also where the repeat wins. Answers for seven days.',
  group: 'Events and users',
  method: 'GET',
  url: '/v1/event/:Workspace_ID/requests/:request_id',
  tile: 'either',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: Strict({
    ...WorkspacePath.properties,
    request_id: Text(1, REQUEST_ID_LENGTH_MAX, 'The `request_id` of the answer.'),
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
    error: Type.Optional(Type.String({ description: 'Why it is parked, or what of it was not kept.' })),
  }),
  async handle({ path, workspace }, parts): Promise<Fate> {
    const request: Request = { workspaceId: workspace.id, requestId: path.request_id }
    const look = async () => (await fromLog(request, parts)) ?? (await fromReceipt(request, parts))
    const lookInTurn = () => {
      return parts.queue.run(`requests ${workspace.id}`, look, workspace.limits.management_per_minute)
    }
    // What was in neither may have gone from the log to the receipts between the two, so these are asked once more.
    const fate = (await fromReceipt(request, parts)) ?? (await lookInTurn())
    if (!fate) throw new AppError('not_found', 'There is no such request, or it is older than seven days.')
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
  const { status, events, duplicates, error } = receipt
  return { request_id: requestId, status, events, duplicates, ...(error !== null && { error }) }
}

/** Looks among what is not applied yet: to find an entry by its id may take a look at all that were received with it. */
async function fromLog({ workspaceId, requestId }: Request, { database, logReader }: Parts): Promise<Fate | undefined> {
  const first = await logReader.firstAfter(await listPipelineCursors(database, logReader.partitions))
  const entry = first && (await logReader.findByRequestId(requestId, first))
  if (entry?.workspaceId !== workspaceId) return undefined
  return { request_id: requestId, status: 'accepted', events: countEvents(entry), duplicates: 0 }
}
