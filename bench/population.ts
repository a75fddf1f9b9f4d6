// Generates the people of the statistics bench, with their facts in its campaigns over a month. Each person depends only on its
// number, so every run has the same people, and a larger store only has more of them.
import type { Group, Membership, MessageEvent, MessageKind } from '../src/core/campaigns/facts.ts'
import type { Goal } from '../src/core/campaigns/goal.ts'
import { DAY_MS } from '../src/core/time-zone.ts'

export const TIMEZONE = 'Europe/Berlin'
/** 31 days, the longest range of one answer. */
export const MONTH = { start: '2026-05-01', end: '2026-05-31' } as const
export const CAMPAIGNS = 10

const MINUTE_MS = 60 * 1000
const HOUR_MS = 60 * MINUTE_MS
const MONTH_START = Date.parse(`${MONTH.start}T00:00:00+02:00`)
const MONTH_END = Date.parse(`${MONTH.end}T23:59:59+02:00`)

export const GOALS: readonly Goal[] = [
  { name: 'order', event: 'Order Placed', where: [], windowHours: 36 },
  {
    name: 'large order',
    event: 'Order Placed',
    where: [{ attribute: 'amount', operator: 'greater_than', value: 150 }],
    windowHours: 72,
  },
]

const PLATFORMS = ['ANDROID', 'IOS'] as const
const LOCALES = ['de', 'en', 'fr'] as const
const VARIATIONS = ['A', 'B'] as const
const FAILURES = ['device_not_registered', 'quota_exceeded', null] as const

/** Probabilities; one message leads to about 3.5 events. */
const CHANCES = {
  inCampaign: 0.3,
  inAudience: 0.4,
  secondPlatform: 0.08,
  campaignControl: 0.05,
  globalControl: 0.02,
  removed: 0.03,
  failed: 0.04,
  delivered: 0.95,
  shown: 0.4,
  shownAgain: 0.3,
  clicked: 0.25,
  orderAfterShown: 0.05,
  orderAfterClick: 0.2,
  orderAnyway: 0.1,
} as const

export interface MadePerson {
  readonly customerId: string
  readonly memberships: readonly Membership[]
  readonly messages: readonly MessageEvent[]
  readonly orders: readonly MadeEvent[]
}

/** A tracked event. */
export interface MadeEvent {
  readonly action: string
  readonly time: number
  readonly attributes: Readonly<Record<string, unknown>>
}

/** The audience days of a campaign: two or three. Campaigns begin two and a half days after each other. */
function audienceDays(campaign: number): readonly number[] {
  const first = Math.floor((campaign - 1) * 2.5)
  return campaign % 2 === 0 ? [first, first + 2] : [first, first + 1, first + 3]
}

/** The person with this number; its facts have the customer number `customer`. Campaigns have the numbers 1 to `CAMPAIGNS`. */
export function makePerson(index: number, customer: number): MadePerson {
  const maker = new PersonMaker(index, customer)
  for (let campaign = 1; campaign <= CAMPAIGNS; campaign++) maker.addCampaign(campaign)
  maker.addOrderAnyway()
  return maker
}

/** Customer ids sort in the order of the people. */
export function customerIdOf(index: number): string {
  return `customer-${String(index).padStart(8, '0')}`
}

class PersonMaker implements MadePerson {
  readonly customerId: string
  readonly memberships: Membership[] = []
  readonly messages: MessageEvent[] = []
  readonly orders: MadeEvent[] = []
  readonly #customer: number
  readonly #random: () => number
  readonly #locale: string
  readonly #platforms: readonly string[]
  readonly #device: string

  constructor(index: number, customer: number) {
    this.customerId = customerIdOf(index)
    this.#device = `device-${String(index).padStart(8, '0')}`
    this.#customer = customer
    this.#random = randomFrom(index)
    this.#locale = this.#pick(LOCALES)
    const platform = this.#pick(PLATFORMS)
    this.#platforms = this.#happens(CHANCES.secondPlatform) ? PLATFORMS : [platform]
  }

  addCampaign(campaign: number): void {
    if (!this.#happens(CHANCES.inCampaign)) return
    const group = this.#pickGroup()
    const variation = this.#pick(VARIATIONS)
    for (const day of audienceDays(campaign)) {
      if (!this.#happens(CHANCES.inAudience)) continue
      const evaluatedAt = MONTH_START + day * DAY_MS + 8 * HOUR_MS + this.#upTo(2 * HOUR_MS)
      const removed = this.#happens(CHANCES.removed) ? 'user_removed_due_to_frequency_capping' : null
      for (const platform of this.#platforms) {
        const { memberships } = this
        const customer = this.#customer
        memberships.push({ campaign, customer, platform, evaluatedAt, group, variation, locale: this.#locale, removed })
        if (group === 'target' && removed === null) this.#addMessage(campaign, platform, evaluatedAt)
      }
    }
  }

  addOrderAnyway(): void {
    if (this.#happens(CHANCES.orderAnyway)) this.#addOrder(MONTH_START + this.#upTo(MONTH_END - MONTH_START))
  }

  /** The events of one message. Impressions become rarer with each day after it was sent. */
  #addMessage(campaign: number, platform: string, evaluatedAt: number): void {
    const messageId = `${campaign}-${Math.floor(evaluatedAt / 1000).toString(36)}-${platform}`
    const add = (kind: MessageKind, time: number, reason: string | null = null) => {
      const event = {
        campaign,
        customer: this.#customer,
        platform,
        device: this.#device,
        kind,
        time,
        messageId,
        reason,
      }
      if (time <= MONTH_END) this.messages.push(event)
    }
    const sentAt = evaluatedAt + this.#upTo(HOUR_MS)
    add('attempted', sentAt)
    if (this.#happens(CHANCES.failed)) return add('failed', sentAt + 500, this.#pick(FAILURES))
    add('sent', sentAt + 1_000)
    if (this.#happens(CHANCES.delivered)) add('delivered', sentAt + 1_000 + this.#upTo(MINUTE_MS))
    for (let chance: number = CHANCES.shown; this.#happens(chance); chance = CHANCES.shownAgain) {
      const shownAt = sentAt + MINUTE_MS + this.#decayingDay() * DAY_MS + this.#upTo(10 * HOUR_MS)
      add('impression', shownAt)
      if (this.#happens(CHANCES.orderAfterShown)) this.#addOrder(shownAt + this.#upTo(30 * HOUR_MS))
      if (!this.#happens(CHANCES.clicked)) continue
      const clickedAt = shownAt + this.#upTo(20 * MINUTE_MS)
      add('click', clickedAt)
      if (this.#happens(CHANCES.orderAfterClick)) this.#addOrder(clickedAt + this.#upTo(2 * HOUR_MS))
    }
  }

  #addOrder(time: number): void {
    if (time > MONTH_END) return
    const attributes = { amount: 10 + this.#upTo(240), currency: 'EUR', product: `product-${this.#upTo(1_000)}` }
    this.orders.push({ action: 'Order Placed', time, attributes })
  }

  /** Each day is half as likely as the day before. */
  #decayingDay(): number {
    let day = 0
    while (day < 5 && this.#happens(0.5)) day++
    return day
  }

  #pickGroup(): Group {
    const drawn = this.#random()
    if (drawn < CHANCES.campaignControl) return 'campaign_control'
    return drawn < CHANCES.campaignControl + CHANCES.globalControl ? 'global_control' : 'target'
  }

  #happens(chance: number): boolean {
    return this.#random() < chance
  }

  #upTo(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  #pick<Choice>(choices: readonly Choice[]): Choice {
    return choices[this.#upTo(choices.length)] as Choice
  }
}

/** Random numbers from 0 to 1 that depend only on the seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
