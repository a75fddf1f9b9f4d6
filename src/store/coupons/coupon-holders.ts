// Queries over held coupons, messages, runs and campaigns: who has a code ("Coupons").
import { campaignsOf } from '../campaigns/campaigns.ts'
import { ERASED_USER, messageRows } from '../delivery/messages.ts'
import { runRows } from '../delivery/runs.ts'
import type { Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import { findHeldOfList, type HeldCoupon } from './held-coupons.ts'

/** The most messages of one user that are searched for codes, the newest. */
const PERSON_MESSAGES_MAX = 10_000

/** A held code, with the person and the campaign. */
export interface CouponHolder extends HeldCoupon {
  /** The customer id that the person had first; null once the person was erased. */
  readonly customerId: string | null
  readonly campaignId: string | null
}

/** Adds the persons and campaigns to held codes, of any number of runs. */
export async function findCouponHolders(
  store: Store,
  workspaceId: string,
  held: readonly HeldCoupon[],
): Promise<CouponHolder[]> {
  if (held.length === 0) return []
  const customers = await findCustomers(store, held)
  const campaigns = await findCampaignIds(store, workspaceId, [...new Set(held.map(({ run }) => run))])
  return held.map((coupon) => ({
    ...coupon,
    customerId: customers.get(keyOf(coupon)) ?? null,
    campaignId: campaigns.get(coupon.run) ?? null,
  }))
}

/** The codes of a list that messages to a person have, given all ids of the user. */
export async function findHeldByUser(
  store: Store,
  listNumber: number,
  userIds: readonly number[],
): Promise<HeldCoupon[]> {
  const messages: { run: number; message: number }[] = []
  for (const userId of userIds) {
    const own = messageRows(store).where('message.user_id', '=', userId)
    const newest = own.orderBy('message.run', 'desc').orderBy('message.number', 'desc').limit(PERSON_MESSAGES_MAX)
    messages.push(...(await newest.select(['message.run', 'message.number as message']).execute()))
  }
  return findHeldOfList(store, listNumber, messages)
}

/** Erased persons are left out. */
async function findCustomers(store: Store, held: readonly HeldCoupon[]): Promise<Map<string, string>> {
  const keys = held.map(({ run, message }) => ({ run, message }))
  const rows = await messageRows(store)
    .innerJoin(store.rowsOf('wanted', { run: 'integer', message: 'integer' } as const, keys), (join) =>
      join.onRef('message.run', '=', 'wanted.run').onRef('message.number', '=', 'wanted.message'),
    )
    .select(['wanted.run', 'wanted.message', 'message.customer_id'])
    .where('message.user_id', '!=', ERASED_USER)
    .execute()
  return new Map(rows.map(({ customer_id, ...key }) => [keyOf(key), customer_id]))
}

/** The number of a run → the id of its campaign. */
async function findCampaignIds(
  store: Store,
  workspaceId: string,
  runs: readonly number[],
): Promise<Map<number, string>> {
  const wanted = wantedValues(store, 'run', 'integer', runs)
  const numbers = await runRows(store)
    .innerJoin(wanted, 'wanted.run', 'run.number')
    .select(['run.number', 'run.campaign'])
    .execute()
  const campaigns = wantedValues(
    store,
    'number',
    'integer',
    numbers.map(({ campaign }) => campaign),
  )
  const rows = await campaignsOf(store, workspaceId)
    .where('campaigns.number', 'in', store.query.selectFrom(campaigns).select('wanted.number'))
    .select(['campaigns.number', 'campaigns.id'])
    .execute()
  const ids = new Map(rows.map(({ number, id }) => [number, id]))
  return new Map(
    numbers.flatMap(({ number, campaign }) => {
      const id = ids.get(campaign)
      return id === undefined ? [] : [[number, id] as const]
    }),
  )
}

function keyOf({ run, message }: Pick<HeldCoupon, 'run' | 'message'>): string {
  return `${run}-${message}`
}
