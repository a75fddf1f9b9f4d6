// How far the runs of a campaign are, for responses and commands. A campaign has at most one.
import { MESSAGE_STATES, OPEN_STATES, type MessageState } from '../../core/delivery/message-state.ts'
import { measureRate } from '../../store/delivery/lists/listed-messages.ts'
import { findLastDue } from '../../store/delivery/message-claims.ts'
import { countStates } from '../../store/delivery/messages.ts'
import { findRunOf, type Run } from '../../store/delivery/runs.ts'
import { findSenderByNumber } from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'
import type { DeliveredCampaign } from './require-delivery.ts'
import { shownStateOf } from './shown-deliveries.ts'

/** The time over which the rate is measured. */
const RATE_MS = 60_000

/** A run on the wire counts from 1 within its campaign. */
export const RUN_ON_WIRE = 1

export interface RunProgress {
  readonly run: Run
  readonly states: { readonly [state in MessageState]: number }
  /** The sum of `states`. */
  readonly audience: number
  /** Messages in a second, over the last minute; 0 unless the campaign sends. */
  readonly rate: number
  /**
   * When everybody was sent to, at this rate or, before there is one, at the sender's, and not before the last deferred message is due;
   * null unless the campaign sends.
   */
  readonly eta: number | null
}

/** Undefined before the campaign has a run. */
export async function findRunProgress(
  store: Store,
  { campaign, shown }: DeliveredCampaign,
  now: number,
): Promise<RunProgress | undefined> {
  const run = await findRunOf(store, campaign.number)
  if (!run) return undefined
  // One statement, so that the states add up to the audience while messages change.
  const counts = await countStates(store, run.number)
  const count = (state: MessageState) => counts.get(state) ?? 0
  const states = Object.fromEntries(MESSAGE_STATES.map((state) => [state, count(state)])) as RunProgress['states']
  const audience = MESSAGE_STATES.reduce((sum, state) => sum + count(state), 0)
  const open = OPEN_STATES.reduce((sum, state) => sum + count(state), 0)
  const isSending = shownStateOf(shown) === 'running'
  const since = Math.max(run.startedAt, now - RATE_MS)
  const rate = isSending ? await measureRate(store, run.number, { since, now }) : 0
  const atRate = async () => now + (open / (rate || (await findLimit(store, run.sender)))) * 1000
  const eta = isSending ? Math.max(await atRate(), (await findLastDue(store, run.number)) ?? 0) : null
  return { run, states, audience, rate, eta: eta === null ? null : Math.round(eta) }
}

/** The messages that a sender may send in a second. */
async function findLimit(store: Store, sender: number): Promise<number> {
  return (await findSenderByNumber(store, sender))?.limits.perSecond ?? 1
}
