// Replay parked entry: applies an accepted request that could not be applied before.
import { AppError } from '../../../core/app-error.ts'
import { NoFields } from '../../fields.ts'
import { defineOperation } from '../../operation.ts'
import { ParkedPath, positionFaults } from './parked-body.ts'

export const replayParkedEntry = defineOperation({
  name: 'replay_parked',
  summary: 'Replay parked entry',
  description:
    'Applies a parked entry, after its cause has been removed. If it still cannot be applied, the response is 409 with the ' +
    'reason, and the entry stays parked. It is applied once: a repeat gets 404.',
  group: 'Events and users',
  method: 'POST',
  url: '/v1/event/:Workspace_ID/parked/:position/replay',
  requires: 'parked.write',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: ParkedPath,
  query: NoFields,
  body: null,
  faults: positionFaults,
  refusals: ['not_found', 'conflict'],
  successStatus: 204,
  output: null,
  async handle(request, { replayParked }) {
    const { workspace, path } = request
    const change = { position: Number(path.position), workspaceId: workspace.id, by: request }
    const replayed = await replayParked(change)
    if (replayed.outcome === 'applied') return
    throw new AppError('conflict', `The entry cannot be applied: ${replayed.reason}.`)
  },
})
