// Pauses, resumes and cancels campaigns, for operations and commands. A repeat changes nothing. What was begun on a connection ends:
// the processes that send look at the state before they claim more.
import type { Database } from '../../store/store.ts'
import { changeDeliveryState, pauseDelivery, resumeDelivery } from '../../store/delivery/deliveries.ts'
import { requireDelivery, type CampaignKey } from './require-delivery.ts'
import { shownStateOf, wrongState } from './shown-deliveries.ts'

/** What a person did, as `paused.reason` shows it. */
const PAUSED_BY_HAND = 'Somebody paused the campaign.'

/** Throws AppError `conflict` in every state but `running`, `waiting` and `paused`, and the errors of `requireDelivery`. */
export async function pauseByKey(database: Database, key: CampaignKey, now: number): Promise<void> {
  await database.write(async (store) => {
    const { campaign } = await requireDelivery(store, key)
    if (await pauseDelivery(store, campaign.number, { since: now, reason: PAUSED_BY_HAND })) return
    const { shown } = await requireDelivery(store, key)
    if (shownStateOf(shown) !== 'paused') throw wrongState(shown, 'Only a running campaign can be paused.')
  })
}

/** Also starts an overdue campaign. Throws AppError `conflict` in states without a pause, and the errors of `requireDelivery`. */
export async function resumeByKey(database: Database, key: CampaignKey): Promise<void> {
  await database.write(async (store) => {
    const { campaign } = await requireDelivery(store, key)
    if (await resumeDelivery(store, campaign.number)) return
    if (await changeDeliveryState(store, campaign.number, { to: 'running', from: ['overdue'] })) return
    const { shown } = await requireDelivery(store, key)
    if (shown.stored.state === 'running') return
    throw wrongState(shown, 'Only a paused or overdue campaign can be resumed.')
  })
}

/** Throws AppError `conflict` if the campaign is finished, and the errors of `requireDelivery`. */
export async function cancelByKey(database: Database, key: CampaignKey): Promise<void> {
  await database.write(async (store) => {
    const { campaign } = await requireDelivery(store, key)
    if (await changeDeliveryState(store, campaign.number, { to: 'cancelled' })) return
    const { shown } = await requireDelivery(store, key)
    if (shown.stored.state !== 'cancelled') throw wrongState(shown, 'It cannot be cancelled any more.')
  })
}
