// List campaigns: returns a page, newest first. Pages neither overlap nor skip.
import { Type } from 'typebox'
import { findShownDeliveries } from '../../actions/delivery/shown-deliveries.ts'
import { invalidRequest, type Fault } from '../../core/app-error.ts'
import { NAME_LENGTH_MAX } from '../../core/attributes.ts'
import { CAMPAIGN_STATES, type CampaignState } from '../../core/delivery/delivery-changes.ts'
import type { Workspace } from '../../core/workspace.ts'
import { listCampaignsOf } from '../../store/campaign-lists/campaign-pages.ts'
import { findCampaign } from '../../store/campaigns/campaigns.ts'
import { findGoalBackfill } from '../../store/campaigns/goal-backfills.ts'
import type { Store } from '../../store/store.ts'
import { CAMPAIGN_ID_LENGTH_MAX, CampaignOutput, toCampaignBody } from './campaign-body.ts'
import { toDeliveryMembers } from './delivery-body.ts'
import { NoFields, Nullable, OneOf, Strict, Text } from '../fields.ts'
import { defineOperation, type Partially } from '../operation.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 100
/** The values of `archived`. */
const ARCHIVED = { false: false, true: true, all: 'all' } as const
const UNKNOWN_BEFORE: Fault = { field: 'query.before', problem: 'is not the id of a campaign in the workspace' }

export const listCampaigns = defineOperation({
  name: 'list_campaigns',
  summary: 'List campaigns',
  description:
    'Returns the campaigns of the workspace, newest first, without archived ones unless `archived` asks for them; with `search`, ' +
    'those whose names contain the text, and with `state`, those in one of the states. Send the `next_before` of a page as ' +
    '`before` to get the next page. It is null on the last page. If its campaign has been deleted meanwhile, the response ' +
    'is 400: start again from the first page.',
  group: 'Campaigns',
  method: 'GET',
  url: '/core-services/v1/campaigns',
  requires: 'campaigns.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: Strict({
    archived: Type.Optional(
      OneOf(['false', 'true', 'all'], 'Whether to return archived campaigns: none (the default), only these, or all.'),
    ),
    search: Type.Optional(
      Text(1, NAME_LENGTH_MAX, 'A part of the name. The case of ASCII letters makes no difference.'),
    ),
    state: Type.Optional(
      Type.Unsafe<string | readonly string[]>({
        type: ['string', 'array'],
        items: { type: 'string' },
        description:
          `States, separated by commas, or the parameter repeated: ${CAMPAIGN_STATES.join(', ')}. As Get campaign shows ` +
          'them; `none`: Tidings does not send the campaign.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMIT_MAX,
        default: LIMIT_DEFAULT,
        description: 'Campaigns per page.',
      }),
    ),
    before: Type.Optional(
      Text(
        1,
        CAMPAIGN_ID_LENGTH_MAX,
        'The `next_before` of a page, or a `campaign_id`. Returns campaigns created before it.',
      ),
    ),
  }),
  body: null,
  faults: ({ query }) => stateFaults(query.state),
  async storedFaults({ workspace, query: { before } }, store) {
    return before === undefined || (await findCampaign(store, workspace.id, before)) ? [] : [UNKNOWN_BEFORE]
  },
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(CampaignOutput),
    next_before: Nullable(Type.String({ description: 'Id of the last campaign on this page.' })),
  }),
  // A page with large goals takes megabytes of memory, so each workspace gets one page at a time.
  handle({ workspace, query }, { database, queue }) {
    const work = async () => {
      const { limit = LIMIT_DEFAULT, archived = 'false', search, state } = query
      const before = await findBefore(database, workspace, query.before)
      // One more than requested shows whether another page follows.
      const states = state === undefined ? undefined : toStates(state).filter(isState)
      const page = { archived: ARCHIVED[archived], search, states, before, max: limit + 1 }
      const campaigns = await listCampaignsOf(database, workspace.id, page)
      const backfill = await findGoalBackfill(database, workspace.id)
      const listed = campaigns.slice(0, limit)
      const deliveries = await findShownDeliveries(
        database,
        listed.map(({ number }) => number),
      )
      const data = listed.map((campaign) => {
        const delivery = toDeliveryMembers(deliveries.get(campaign.number), workspace.timezone)
        return toCampaignBody(campaign, backfill, delivery)
      })
      return { data, next_before: campaigns.length > limit ? (data.at(-1)?.campaign_id ?? null) : null }
    }
    return queue.run(`campaigns ${workspace.id}`, work, workspace.limits.management_per_minute)
  },
})

function toStates(sent: string | readonly string[]): string[] {
  return [sent].flat().flatMap((text) => text.split(','))
}

function isState(text: string): text is CampaignState {
  return CAMPAIGN_STATES.some((state) => state === text)
}

function stateFaults(sent: Partially<string | readonly string[]> | undefined): Fault[] {
  const texts = [sent ?? []].flat().filter((text) => text !== undefined)
  if (toStates(texts).every(isState)) return []
  return [{ field: 'query.state', problem: `must be one or more of ${CAMPAIGN_STATES.join(', ')}` }]
}

/** The number of the campaign before which the page begins. Throws AppError `invalid_request` if it does not exist. */
async function findBefore(store: Store, workspace: Workspace, id: string | undefined): Promise<number | undefined> {
  if (id === undefined) return undefined
  const campaign = await findCampaign(store, workspace.id, id)
  if (campaign) return campaign.number
  throw invalidRequest([UNKNOWN_BEFORE])
}
