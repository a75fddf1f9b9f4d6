// What conditions can name: segments, campaigns, categories, attributes and events of the workspace.
import type { SegmentCondition } from '../../../../src/core/segments/condition.ts'
import { listLeaves } from '../../../../src/core/segments/condition.ts'
import { useQuery, type ShownQuery } from '../../../data/queries.ts'
import { useWorkspace } from '../../../data/session.ts'
import type { Names } from './sentence.ts'

/** How many of the newest are offered in a menu. */
const OFFERED = 100
const USERS_LOOKED_AT = 50
const EVENT_NAMES_OFFERED = 1_000
/** Attributes that the server itself knows. */
const KNOWN_ATTRIBUTES = ['email', 'mobile', 'locale', 'timezone', 'first_name', 'last_name']

interface Named {
  readonly id: string
  readonly name: string
}

export function useSegmentChoices(): readonly Named[] {
  const list = useQuery({
    key: ['segments', 'choices'],
    ask: (client, signal) => client.get('/core-services/v1/segments', { query: { limit: OFFERED }, signal }),
    topics: ['audit'],
  })
  return (answerOf(list)?.data ?? []).map(({ segment_id: id, name }) => ({ id, name }))
}

export function useCampaignChoices(): readonly Named[] {
  const list = useQuery({
    key: ['campaigns', 'choices'],
    ask: (client, signal) => client.get('/core-services/v1/campaigns', { query: { limit: OFFERED }, signal }),
    topics: ['audit'],
  })
  return (answerOf(list)?.data ?? []).map(({ campaign_id: id, name }) => ({ id, name }))
}

export function useCategoryChoices(): readonly string[] {
  const list = useQuery({
    key: ['categories', 'choices'],
    ask: (client, signal) => client.get('/v1/workspaces/:Workspace_ID/categories', { signal }),
    topics: ['audit'],
  })
  return (answerOf(list)?.data ?? []).map(({ name }) => name)
}

/** The attributes of the newest people. */
export function useAttributeNames(): readonly string[] {
  const { may } = useWorkspace()
  const list = useQuery({
    key: ['attributes', 'names'],
    ask: (client, signal) =>
      client.get('/v1/customer/:Workspace_ID/users', { query: { limit: USERS_LOOKED_AT }, signal }),
    isWanted: may('users.read'),
  })
  const found = (answerOf(list)?.data ?? []).flatMap(({ attributes }) => Object.keys(attributes))
  return [...new Set([...found, ...KNOWN_ATTRIBUTES])].toSorted()
}

/** The names of the events of the workspace. */
export function useEventNames(): readonly string[] {
  const { may } = useWorkspace()
  const list = useQuery({
    key: ['events', 'names'],
    ask: (client, signal) =>
      client.get('/v1/event/:Workspace_ID/names', { query: { limit: EVENT_NAMES_OFFERED }, signal }),
    isWanted: may('events.names'),
  })
  return (answerOf(list)?.data ?? []).map(({ action }) => action)
}

/** The names of the segments and campaigns that conditions name. */
export function useNames(conditions: readonly SegmentCondition[]): Names {
  const leaves = conditions.flatMap((condition) => listLeaves(condition, '')).map(({ leaf }) => leaf)
  const segments = idsOf(leaves.map((leaf) => ('segment' in leaf ? leaf.segment : '')))
  const campaigns = idsOf(leaves.map((leaf) => ('campaign' in leaf ? leaf.campaign : '')))
  const names = useQuery({
    key: ['names', segments, campaigns],
    isWanted: segments.length + campaigns.length > 0,
    async ask(client, signal) {
      const found = await Promise.all([
        ...segments.map(async (segment_id) => {
          const path = { segment_id }
          const one = await client.get('/core-services/v1/segments/:segment_id', { path, signal }).catch(() => {})
          return [segment_id, one?.name ?? segment_id] as const
        }),
        ...campaigns.map(async (campaign_id) => {
          const path = { campaign_id }
          const one = await client.get('/core-services/v1/campaigns/:campaign_id', { path, signal }).catch(() => {})
          return [campaign_id, one?.name ?? campaign_id] as const
        }),
      ])
      return new Map(found)
    },
  })
  return answerOf(names) ?? NO_NAMES
}

const NO_NAMES: Names = new Map()

function idsOf(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== '').toSorted()
}

export function answerOf<Answer>(query: ShownQuery<Answer>): Answer | undefined {
  return query.state === 'filled' || query.state === 'empty' ? query.answer : undefined
}
