// What the people of the demo do in the shop: visits that look at products, fill a cart and sometimes order.
import { DAY_MS, HOUR_MS } from '../../core/time-zone.ts'
import type { Dice } from './dice.ts'
import type { DemoPerson } from './people.ts'

/** A tracked event, before it is sent. */
export interface ShopEvent {
  readonly action: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly at: number
}

/** What somebody did, and the carts that they left. */
export interface ShopLife {
  readonly events: ShopEvent[]
  readonly abandonedAt: readonly number[]
}

interface Product {
  readonly product: string
  readonly category: string
  readonly price: number
}

const PRODUCTS: readonly Product[] = Object.entries({
  Kitchen: {
    'Stoneware mug': 14.9,
    'Cast iron pot': 89,
    'Oak chopping board': 34.5,
    'Linen tea towels': 19.9,
    'Pour-over kettle': 59,
    'Salad bowl': 39,
  },
  Bedroom: { 'Linen bed set': 149, 'Down pillow': 49, 'Wool blanket': 119, 'Cotton throw': 44.9, 'Bedside lamp': 64 },
  Living: {
    'Reading lamp': 129,
    'Beeswax candle': 12.5,
    'Wool rug': 249,
    'Terracotta vase': 29.9,
    'Picture frame': 22,
    'Floor cushion': 54,
  },
  Garden: { 'Watering can': 36, 'Garden shears': 27.5, 'Herb planter': 24.9, 'Folding chair': 79, Lantern: 32 },
}).flatMap(([category, products]) => Object.entries(products).map(([product, price]) => ({ product, category, price })))

/** Visits of somebody of usual interest in the whole time. */
const VISITS_PER_DAY = 0.038
const FIRST_VISIT_CHANCE = 0.8

/** All events of a person from `from` to `until`, without those that campaigns cause. */
export function liveOn(person: DemoPerson, dice: Dice, { from, until }: { from: number; until: number }): ShopLife {
  const events: ShopEvent[] = []
  const abandonedAt: number[] = []
  const start = Math.max(from, person.signedUpAt)
  if (person.signedUpAt >= from) {
    events.push({
      action: 'Signed Up',
      attributes: { channel: dice.pick(['search', 'social', 'friend', 'shop']) },
      at: start,
    })
    if (dice.isLucky(FIRST_VISIT_CHANCE)) visit(dice, start + dice.soon(10 * HOUR_MS), { events, abandonedAt })
  }
  const meanGap = DAY_MS / (VISITS_PER_DAY * person.interest)
  for (let at = start + dice.soon(meanGap); at < until; at += dice.soon(meanGap)) {
    visit(dice, atDaytime(dice, at), { events, abandonedAt })
  }
  return { events: events.filter((event) => event.at < until), abandonedAt: abandonedAt.filter((at) => at < until) }
}

function visit(dice: Dice, at: number, { events, abandonedAt }: { events: ShopEvent[]; abandonedAt: number[] }): void {
  let time = at
  let last = dice.pick(PRODUCTS)
  if (dice.isLucky(0.2)) events.push({ action: 'Searched', attributes: { text: last.product.toLowerCase() }, at: time })
  for (let views = dice.whole(1, 3); views > 0; views--) {
    time += dice.whole(8_000, 90_000)
    last = dice.pick(PRODUCTS)
    events.push({ action: 'Product Viewed', attributes: { ...last }, at: time })
  }
  if (!dice.isLucky(0.34)) return
  time += dice.whole(5_000, 60_000)
  events.push({ action: 'Added to Cart', attributes: { ...last, quantity: 1 }, at: time })
  if (dice.isLucky(0.42)) events.push(order(dice, time + dice.whole(60_000, 600_000)))
  else {
    abandonedAt.push(time)
    if (dice.isLucky(0.06)) events.push(order(dice, time + dice.whole(5, 40) * HOUR_MS))
  }
}

/** Somebody buys. */
export function order(dice: Dice, at: number, coupon?: string): ShopEvent {
  const items =
    dice.draw([
      [2, 0.25],
      [3, 0.12],
    ] as const) ?? 1
  const bought = Array.from({ length: items }, () => dice.pick(PRODUCTS))
  const amount = Math.round(bought.reduce((sum, { price }) => sum + price, 0) * 100) / 100
  const attributes = {
    order_id: `O-${dice.whole(100_000, 999_999)}-${dice.whole(100, 999)}`,
    amount,
    currency: 'EUR',
    items,
  }
  const category = bought[0]?.category
  return {
    action: 'Order Placed',
    attributes: { ...attributes, category, ...(coupon !== undefined && { coupon }) },
    at,
  }
}

/** Moves most visits of the night into the day. */
function atDaytime(dice: Dice, at: number): number {
  const hour = Math.floor(at / HOUR_MS) % 24
  return hour < 6 && dice.isLucky(0.85) ? at + dice.whole(6, 14) * HOUR_MS : at
}
