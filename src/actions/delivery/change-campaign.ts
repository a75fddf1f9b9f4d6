// Pauses, resumes and cancels campaigns, for operations and commands. A repeat changes nothing. What was begun on a connection ends:
// the processes that send look at the state before they claim more.
import type { ChangeContext } from '../../core/accounts/audit.ts'
import type { ShownState } from '../../core/delivery/delivery-changes.ts'
import type { Database, Store } from '../../store/store.ts'
import { changeDeliveryState, pauseDelivery, resumeDelivery } from '../../store/delivery/deliveries.ts'
import { recordChange } from '../audit/record-change.ts'
import { requireDelivery, type CampaignKey, type DeliveredCampaign } from './require-delivery.ts'
import { shownStateOf, wrongState } from './shown-deliveries.ts'

/** What a person did, as `paused.reason` shows it. */
const PAUSED_BY_HAND = 'Somebody paused the campaign.'

/** Throws AppError `conflict` in every state but `running`, `waiting` and `paused`, and the errors of `requireDelivery`. */
export async function pauseByKey(database: Database, key: CampaignKey, by: ChangeContext): Promise<void> {
  await database.write(async (store) => {
    const before = await requireDelivery(store, key)
    if (await pauseDelivery(store, before.campaign.number, { since: by.now, reason: PAUSED_BY_HAND })) {
      return recordState(store, by, { action: 'pause_campaign', before, state: 'paused' })
    }
    const { shown } = await requireDelivery(store, key)
    if (shownStateOf(shown) !== 'paused') throw wrongState(shown, 'Only a running campaign can be paused.')
  })
}

/** Also starts an overdue campaign. Throws AppError `conflict` in states without a pause, and the errors of `requireDelivery`. */
export async function resumeByKey(database: Database, key: CampaignKey, by: ChangeContext): Promise<void> {
  await database.write(async (store) => {
    const before = await requireDelivery(store, key)
    const { number } = before.campaign
    const isResumed =
      (await resumeDelivery(store, number)) ||
      (await changeDeliveryState(store, number, { to: 'running', from: ['overdue'] }))
    if (isResumed) return recordState(store, by, { action: 'resume_campaign', before, state: 'running' })
    const { shown } = await requireDelivery(store, key)
    if (shown.stored.state === 'running') return
    throw wrongState(shown, 'Only a paused or overdue campaign can be resumed.')
  })
}

/** Throws AppError `conflict` if the campaign is finished, and the errors of `requireDelivery`. */
export async function cancelByKey(database: Database, key: CampaignKey, by: ChangeContext): Promise<void> {
  await database.write(async (store) => {
    const before = await requireDelivery(store, key)
    if (await changeDeliveryState(store, before.campaign.number, { to: 'cancelled' })) {
      return recordState(store, by, { action: 'cancel_campaign', before, state: 'cancelled' })
    }
    const { shown } = await requireDelivery(store, key)
    if (shown.stored.state !== 'cancelled') throw wrongState(shown, 'It cannot be cancelled any more.')
  })
}

interface StateChange {
  readonly action: string
  readonly before: DeliveredCampaign
  readonly state: ShownState
}

async function recordState(store: Store, by: ChangeContext, { action, before, state }: StateChange): Promise<void> {
  const { id, name } = before.campaign
  const bodies = { before: { state: shownStateOf(before.shown) }, after: { state } }
  await recordChange(store, by, { kind: 'campaign', id, name, action, ...bodies })
}
