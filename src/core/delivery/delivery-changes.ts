// The changes of a delivery's state that are allowed: the table of `DeliveryState`, as data. Also the states that responses show.
import { DELIVERY_STATES, type DeliveryState, type Halt } from './delivery.ts'

/** To → from. */
const STATES_BEFORE: { readonly [state in DeliveryState]: readonly DeliveryState[] } = {
  draft: [],
  scheduled: ['draft'],
  running: ['draft', 'scheduled', 'overdue', 'finished'],
  overdue: ['scheduled'],
  finished: ['running'],
  cancelled: ['draft', 'scheduled', 'running', 'overdue'],
}

/** The states from which a delivery may change to this one. */
export function statesBefore(state: DeliveryState): readonly DeliveryState[] {
  return STATES_BEFORE[state]
}

/** The states of a delivery that may still send: what it uses must not be deleted. */
export const UNFINISHED_STATES = [
  'draft',
  'scheduled',
  'running',
  'overdue',
] as const satisfies readonly DeliveryState[]

/** The same without drafts, which may still be changed or deleted. */
export const STARTED_STATES = ['scheduled', 'running', 'overdue'] as const satisfies readonly DeliveryState[]

export type ShownState = DeliveryState | 'paused' | 'waiting'

/** The states of campaigns. `none`: Tidings does not send the campaign, it only counts. */
export const CAMPAIGN_STATES = [...DELIVERY_STATES, 'paused', 'waiting', 'none'] as const
export type CampaignState = (typeof CAMPAIGN_STATES)[number]

/** The state in responses. Somebody's pause is shown before the wait for the server, because it lasts longer. */
export function toShownState(state: DeliveryState, paused: Halt | null, waiting: Halt | null): ShownState {
  if (state !== 'running') return state
  if (paused) return 'paused'
  return waiting ? 'waiting' : 'running'
}
