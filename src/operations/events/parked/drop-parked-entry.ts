// Drop parked entry: discards an accepted request that could not be applied.
import { dropParked } from '../../../actions/parked-entries.ts'
import { NoFields } from '../../fields.ts'
import { defineOperation } from '../../operation.ts'
import { ParkedPath, positionFaults } from './parked-body.ts'

export const dropParkedEntry = defineOperation({
  name: 'drop_parked',
  summary: 'Drop parked entry',
  description: 'Discards a parked entry for good. The status of its request says that an operator dropped it.',
  group: 'Events and users',
  method: 'DELETE',
  url: '/v1/event/:Workspace_ID/parked/:position',
  requires: 'parked.write',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: ParkedPath,
  query: NoFields,
  body: null,
  faults: positionFaults,
  refusals: ['not_found'],
  successStatus: 204,
  output: null,
  async handle(request, { database }) {
    const { workspace, path } = request
    const change = { position: Number(path.position), workspaceId: workspace.id, by: request }
    await database.write((store) => dropParked(store, change))
  },
})
