// List erasures: the receipts of erased persons with a customer id, with the proofs of consent that are kept.
import { Type } from 'typebox'
import { toIso } from '../../core/time-value.ts'
import { findErasures, type Erasure } from '../../store/users/erasures.ts'
import { CustomerId, IsoTime, Strict, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { OptInOutput, toOptInBody } from './opt-in-body.ts'

/** A person who is erased comes back as a new user and may be erased again, but hardly ever this often. */
const ERASURES_MAX = 20

export const listErasures = defineOperation({
  name: 'list_erasures',
  summary: 'List erasures',
  description:
    'Returns the receipts of erased persons with this customer id, newest first, each with the proofs of consent that are kept as ' +
    `evidence. Only who knows the customer id finds them: Tidings stores a hash of it. At most ${ERASURES_MAX}.`,
  group: 'Events and users',
  method: 'GET',
  url: '/v1/customer/:Workspace_ID/erasures',
  requires: 'users.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({ customer_id: CustomerId }),
  body: null,
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        erasure_id: Type.String(),
        erased_at: IsoTime,
        by: Type.String({ description: '`key:` and the tile of the API key.' }),
        status: Type.String({ description: '`complete`, or `deleting_events`.' }),
        events: Type.Integer({ description: 'How many events are deleted so far.' }),
        proofs: Type.Array(
          Type.Object({
            at: IsoTime,
            by: Type.String(),
            before: Type.Object(OptInOutput),
            after: Type.Object(OptInOutput),
          }),
        ),
      }),
    ),
  }),
  async handle({ workspace, query }, { database }) {
    const found = { workspaceId: workspace.id, customerId: query.customer_id }
    return { data: (await findErasures(database, found, ERASURES_MAX)).map(toItem) }
  },
})

function toItem({ id, erasedAt, erasedBy, proofs, events, isComplete }: Erasure) {
  return {
    erasure_id: id,
    erased_at: toIso(erasedAt),
    by: erasedBy,
    status: isComplete ? 'complete' : 'deleting_events',
    events,
    proofs: proofs.map(({ at, by, before, after }) => {
      return { at: toIso(at), by, before: toOptInBody(before), after: toOptInBody(after) }
    }),
  }
}
