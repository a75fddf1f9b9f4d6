// List runs: how far the sending of a campaign is. A campaign that was not started has none.
import { Type } from 'typebox'
import { requireDelivery } from '../../actions/delivery/require-delivery.ts'
import { findRunProgress, RUN_ON_WIRE, type RunProgress } from '../../actions/delivery/run-progress.ts'
import { shownStateOf, type ShownDelivery } from '../../actions/delivery/shown-deliveries.ts'
import { MESSAGE_STATES } from '../../core/delivery/message-state.ts'
import { toIso } from '../../core/time-value.ts'
import { CampaignPath } from '../campaigns/campaign-body.ts'
import { HaltOutput, ShownStateOutput, toHaltBody } from '../campaigns/delivery-body.ts'
import { IsoTime, NoFields, Nullable } from '../fields.ts'
import { defineOperation } from '../operation.ts'

const RATE_DECIMALS = 2

export const listRuns = defineOperation({
  name: 'list_runs',
  summary: 'List runs',
  description:
    'Returns the runs of a campaign: one, or none before it has begun. `states` add up to `audience`, always. `rate` is the ' +
    'messages in a second over the last minute, and `eta` when everybody will have been sent to.',
  group: 'Campaigns',
  method: 'GET',
  url: '/core-services/v1/campaigns/:campaign_id/runs',
  requires: 'campaigns.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: null,
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        run: Type.Integer({ description: 'Counts from 1 within the campaign.' }),
        state: ShownStateOutput,
        evaluated_at: IsoTime,
        started_at: IsoTime,
        finished_at: Nullable(IsoTime),
        audience: Type.Integer(),
        without_address: Type.Integer({
          description: 'People of the segments without an address; not in the audience.',
        }),
        states: Type.Object(Object.fromEntries(MESSAGE_STATES.map((state) => [state, Type.Integer()]))),
        rate: Type.Number(),
        eta: Nullable(IsoTime),
        waiting: Type.Optional(HaltOutput),
        paused: Type.Optional(HaltOutput),
      }),
    ),
  }),
  // Counting a million messages blocks other readers of SQLite for a while, so each workspace counts one run at a time.
  handle({ workspace, path, now }, { database, queue }) {
    const work = async () => {
      const key = { workspaceId: workspace.id, campaignId: path.campaign_id }
      const delivered = await requireDelivery(database, key)
      const progress = await findRunProgress(database, delivered, now)
      return { data: progress ? [toRunBody(progress, delivered.shown)] : [] }
    }
    return queue.run(`runs ${workspace.id}`, work, workspace.limits.management_per_minute)
  },
})

function toRunBody({ run, states, audience, rate, eta }: RunProgress, shown: ShownDelivery) {
  const { waiting, stored } = shown
  return {
    run: RUN_ON_WIRE,
    state: shownStateOf(shown),
    evaluated_at: toIso(run.evaluatedAt),
    started_at: toIso(run.startedAt),
    finished_at: run.finishedAt === null ? null : toIso(run.finishedAt),
    audience,
    without_address: run.withoutAddress,
    states,
    rate: Number(rate.toFixed(RATE_DECIMALS)),
    eta: eta === null ? null : toIso(eta),
    ...(waiting && { waiting: toHaltBody(waiting) }),
    ...(stored.paused && { paused: toHaltBody(stored.paused) }),
  }
}
