// Get parked entry: returns an accepted request that could not be applied, as it was received.
import { Type } from 'typebox'
import { requireParked } from '../../../actions/parked-entries.ts'
import type { EntryContext } from '../../../log/event-log.ts'
import { NoFields, Nullable } from '../../fields.ts'
import { defineOperation } from '../../operation.ts'
import { ParkedFields, ParkedPath, positionFaults, toParkedBody } from './parked-body.ts'

export const getParked = defineOperation({
  name: 'get_parked',
  summary: 'Get parked entry',
  description: 'Returns a parked entry with its content.',
  group: 'Events and users',
  method: 'GET',
  url: '/v1/event/:Workspace_ID/parked/:position',
  requires: 'parked.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: ParkedPath,
  query: NoFields,
  body: null,
  faults: positionFaults,
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    ...ParkedFields,
    ip: Nullable(Type.String({ description: 'The address of the user, from X-Forwarded-For.' })),
    body: Type.String({ description: 'The body of the request as text, as it was received.' }),
  }),
  async handle({ workspace, path }, { database }) {
    const parked = await requireParked(database, { position: Number(path.position), workspaceId: workspace.id })
    const { ip } = JSON.parse(parked.context) as EntryContext
    return { ...toParkedBody(parked), ip: ip ?? null, body: parked.body }
  },
})
