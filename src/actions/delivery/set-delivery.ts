// Gives a campaign a delivery, or replaces the settings of a draft ("A campaign with delivery").
import { randomBytes } from 'node:crypto'
import { AppError } from '../../core/app-error.ts'
import type { Delivery } from '../../core/delivery/delivery.ts'
import type { StoredCampaign } from '../../store/campaigns/campaigns.ts'
import { addDelivery, saveDeliverySettings } from '../../store/delivery/deliveries.ts'
import type { Store } from '../../store/store.ts'
import { findShownDelivery, wrongState } from './shown-deliveries.ts'

const SEED_BYTES = 16

/**
 * Sets the delivery of a campaign that has none or is a draft. The caller holds `lockCampaigns`. Throws AppError `conflict`, which
 * names the state, if the campaign was started, or if somebody else sent and reported it.
 */
export async function setDelivery(
  store: Store,
  { number: campaign, workspaceId, isReported }: StoredCampaign,
  settings: Delivery,
): Promise<void> {
  const shown = await findShownDelivery(store, campaign)
  if (!shown) {
    if (isReported) throw reportedElsewhere()
    await addDelivery(store, { campaign, workspaceId, settings, seed: randomBytes(SEED_BYTES).toString('hex') })
    return
  }
  if (await saveDeliverySettings(store, { campaign, workspaceId, settings })) return
  throw wrongState(shown, 'Its delivery can be changed only while it is a draft.')
}

function reportedElsewhere(): AppError {
  const message = 'Reports were sent for this campaign, so Tidings cannot send it. Create another campaign.'
  return new AppError('conflict', message, [{ field: 'delivery', problem: 'cannot be added after reports' }])
}
