// The six campaigns of the demo that are over or go on by themselves: whom they address, and how people react.
import { DAY_MS, HOUR_MS } from '../../core/time-zone.ts'
import type { DemoPerson } from './people.ts'
import type { ShopLife } from './shopping.ts'

export interface PlannedVariation {
  readonly name: string
  readonly share: number
  /** The chances to open what was sent, to click what was opened, and to buy after a click. */
  readonly opens: number
  readonly clicks: number
  readonly buys: number
}

export interface MailingPlan {
  readonly name: string
  readonly createdBy: string
  readonly platforms: readonly string[]
  readonly goals: readonly object[]
  /** When the person is in an audience; `random` gives numbers from 0 to 1. */
  readonly audiences: (
    who: { person: DemoPerson; life: ShopLife; random: () => number },
    now: number,
  ) => readonly number[]
  readonly controlPercent: number
  readonly variations: readonly PlannedVariation[]
  /** Reasons for which people of the target group are removed, with the chance of each. */
  readonly removals: readonly (readonly [reason: string, chance: number])[]
  readonly failures: readonly (readonly [reason: string, chance: number])[]
  readonly unsubscribes: number
  readonly coupon?: string
}

const ORDER = { name: 'Order', event: 'Order Placed', window_hours: 72 }
const LARGE_ORDER = {
  name: 'Order over 100 €',
  event: 'Order Placed',
  where: [{ attribute: 'amount', operator: 'greater_than', value: 100 }],
  window_hours: 72,
}
const VIEW = { name: 'Product view', event: 'Product Viewed', window_hours: 36 }

/** The interest of people who come rarely, or never. */
const RARELY = 0.75

const SUPPRESSED = [
  ['user_removed_due_to_hard_bounce', 0.011],
  ['user_removed_due_to_opt_out', 0.03],
] as const
const USUAL_FAILURES = [
  ['hard_bounce', 0.009],
  ['soft_bounce', 0.006],
] as const

export const MAILING_PLANS: readonly MailingPlan[] = [
  {
    name: 'Welcome',
    createdBy: 'mara@juniper.example',
    platforms: ['EMAIL'],
    goals: [{ ...ORDER, name: 'First order' }, VIEW],
    audiences: ({ person }, now) => (person.signedUpAt > now - 60 * DAY_MS ? [person.signedUpAt + HOUR_MS / 2] : []),
    controlPercent: 10,
    variations: [
      { name: 'Short', share: 0.5, opens: 0.56, clicks: 0.3, buys: 0.24 },
      { name: 'With coupon', share: 0.5, opens: 0.58, clicks: 0.42, buys: 0.46 },
    ],
    removals: SUPPRESSED,
    failures: USUAL_FAILURES,
    unsubscribes: 0.004,
    coupon: 'WELCOME10',
  },
  {
    name: 'Mid-season sale',
    createdBy: 'tom@juniper.example',
    platforms: ['EMAIL'],
    goals: [ORDER, LARGE_ORDER],
    audiences: ({ person }, now) =>
      mayReceive(person, 'Offers') && isCustomer(person, now, 41) ? [morning(now, 41)] : [],
    controlPercent: 10,
    variations: [
      { name: '20 percent off', share: 0.5, opens: 0.36, clicks: 0.24, buys: 0.44 },
      { name: 'Free shipping', share: 0.5, opens: 0.31, clicks: 0.17, buys: 0.36 },
    ],
    removals: [...SUPPRESSED, ['user_removed_due_to_frequency_capping', 0.022]],
    failures: USUAL_FAILURES,
    unsubscribes: 0.006,
    coupon: 'SALE20',
  },
  {
    name: 'Magazine',
    createdBy: 'mara@juniper.example',
    platforms: ['EMAIL'],
    goals: [VIEW, ORDER],
    audiences: ({ person }, now) =>
      mayReceive(person, 'Magazine')
        ? [52, 38, 24, 10].filter((daysAgo) => isCustomer(person, now, daysAgo)).map((daysAgo) => morning(now, daysAgo))
        : [],
    controlPercent: 5,
    variations: [{ name: 'Magazine', share: 1, opens: 0.43, clicks: 0.11, buys: 0.008 }],
    removals: [...SUPPRESSED, ['user_removed_due_to_frequency_capping', 0.05]],
    failures: USUAL_FAILURES,
    unsubscribes: 0.003,
  },
  {
    name: 'Abandoned cart',
    createdBy: 'tom@juniper.example',
    platforms: ['EMAIL', 'IOS', 'ANDROID'],
    goals: [ORDER],
    audiences: ({ person, life }, now) =>
      person.consent === 'OPTED_OUT'
        ? []
        : life.abandonedAt
            .filter((at) => at > now - 45 * DAY_MS)
            .slice(0, 2)
            .map((at) => at + 4 * HOUR_MS),
    controlPercent: 15,
    variations: [
      { name: 'Reminder', share: 0.5, opens: 0.47, clicks: 0.31, buys: 0.29 },
      { name: 'Reminder with picture', share: 0.5, opens: 0.48, clicks: 0.37, buys: 0.31 },
    ],
    removals: [...SUPPRESSED, ['user_removed_due_to_frequency_capping', 0.09]],
    failures: [...USUAL_FAILURES, ['device_not_registered', 0.02]],
    unsubscribes: 0.002,
  },
  {
    name: 'We miss you',
    createdBy: 'ines@juniper.example',
    platforms: ['EMAIL'],
    goals: [ORDER],
    audiences: ({ person, random }, now) =>
      person.interest < RARELY && person.consent !== 'OPTED_OUT' && isCustomer(person, now, 200) && random() < 0.6
        ? [morning(now, 20)]
        : [],
    controlPercent: 10,
    variations: [{ name: '10 percent off', share: 1, opens: 0.24, clicks: 0.12, buys: 0.1 }],
    removals: [
      ['user_removed_due_to_hard_bounce', 0.035],
      ['user_removed_due_to_complaint', 0.004],
      ['user_removed_due_to_opt_out', 0.06],
      ['user_removed_due_to_duplicate', 0.012],
      ['user_removed_due_to_coupon_missing', 0.008],
    ],
    failures: [
      ['hard_bounce', 0.058],
      ['soft_bounce', 0.021],
      ['blocked', 0.013],
      ['gave_up', 0.009],
      ['message_refused', 0.002],
    ],
    unsubscribes: 0.019,
    coupon: 'COMEBACK',
  },
  {
    name: 'Loyalty programme',
    createdBy: 'ines@juniper.example',
    platforms: ['EMAIL'],
    goals: [ORDER],
    audiences: ({ person }, now) => (person.tier !== 'none' && isCustomer(person, now, 9) ? [morning(now, 9)] : []),
    controlPercent: 10,
    variations: [{ name: 'Invitation', share: 1, opens: 0.4, clicks: 0.2, buys: 0.05 }],
    removals: SUPPRESSED,
    failures: [
      ['blocked', 0.71],
      ['soft_bounce', 0.03],
      ['hard_bounce', 0.01],
    ],
    unsubscribes: 0.004,
  },
]

function mayReceive({ consent, categories }: DemoPerson, category: string): boolean {
  return (consent === 'OPTED_IN' || consent === 'DOUBLE_OPTED_IN') && categories[category] === true
}

function isCustomer({ signedUpAt }: DemoPerson, now: number, daysAgo: number): boolean {
  return signedUpAt < morning(now, daysAgo)
}

/** Eight o'clock UTC of a day. */
function morning(now: number, daysAgo: number): number {
  return Math.floor(now / DAY_MS) * DAY_MS - daysAgo * DAY_MS + 8 * HOUR_MS
}
