// Puts the weeks in which campaigns had to do with customers in place of two indexes of the facts by their times, which told the
// same with a row for each fact.
import { createCampaignWeeks, fillCampaignWeeks } from './campaign-weeks.ts'
import { forgetTimesOfMemberships, selectWeeksOfMemberships } from './memberships.ts'
import { forgetTimesOfTouches, selectWeeksOfTouches } from './message-events.ts'
import type { SqlTypes, Store } from '../store.ts'

/** To be called by the migration. */
export async function noteCampaignWeeks(store: Store, types: SqlTypes): Promise<void> {
  await forgetTimesOfMemberships(store)
  await forgetTimesOfTouches(store)
  await createCampaignWeeks(store, types)
  await fillCampaignWeeks(store, selectWeeksOfMemberships(store))
  await fillCampaignWeeks(store, selectWeeksOfTouches(store))
}
