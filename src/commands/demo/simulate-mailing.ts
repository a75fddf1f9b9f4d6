// Plays a campaign of the demo: who is in its audience, what becomes of each message, and who buys because of it. What the campaign
// achieves is nowhere written down: the statistics find it in these facts, as they do in real ones.
import { DAY_MS, HOUR_MS } from '../../core/time-zone.ts'
import type { Dice } from './dice.ts'
import type { MailingPlan, PlannedVariation } from './mailing-plans.ts'
import type { DemoPerson } from './people.ts'
import { order, type ShopLife } from './shopping.ts'

/** What the operations Report an audience and Report message events take. */
export interface MailingFacts {
  readonly members: object[]
  readonly events: object[]
}

export interface Addressed {
  readonly person: DemoPerson
  /** Orders that the campaign causes are added to its events. */
  readonly life: ShopLife
}

interface Sending extends Addressed {
  readonly plan: MailingPlan
  readonly dice: Dice
  readonly facts: MailingFacts
  /** Nothing happens later. */
  readonly now: number
}

/** How much of the chance to react every person has; the rest depends on their interest. */
const REACTION_OF_EVERYBODY = 0.6
const MACHINES = 0.03

export function simulateMailing(
  plan: MailingPlan,
  people: readonly Addressed[],
  { dice, now }: { readonly dice: Dice; readonly now: number },
): MailingFacts {
  const facts: MailingFacts = { members: [], events: [] }
  for (const addressed of people) {
    const audiences = plan
      .audiences({ ...addressed, random: () => dice.roll() }, now)
      .filter((at) => at < now - HOUR_MS)
    if (audiences.length === 0 || addressed.person.email === null) continue
    const isControl = dice.isLucky(plan.controlPercent / 100)
    const variation = dice.choose(plan.variations.map((planned) => [planned, planned.share] as const))
    const group = addressed.person.isGlobalControl ? 'global_control' : isControl ? 'campaign_control' : 'target'
    for (const evaluatedAt of audiences) {
      address({ ...addressed, plan, dice, facts, now }, { evaluatedAt, group, variation })
    }
  }
  return facts
}

function address(
  sending: Sending,
  { evaluatedAt, group, variation }: { evaluatedAt: number; group: string; variation: PlannedVariation },
): void {
  const { plan, person, dice, facts } = sending
  const removed = group === 'target' ? dice.draw(plan.removals) : undefined
  const platform = platformOf(plan, person)
  facts.members.push({
    customer_id: person.customerId,
    ...(group !== 'target' && { group }),
    variation: variation.name,
    locale: person.locale,
    platform,
    evaluated_at: evaluatedAt,
    ...(removed !== undefined && { removed }),
  })
  if (group === 'target' && removed === undefined)
    send(sending, { at: evaluatedAt + dice.whole(20_000, 900_000), platform, variation })
}

function send(
  sending: Sending,
  { at, platform, variation }: { at: number; platform: string; variation: PlannedVariation },
): void {
  const { plan, person, life, dice, now } = sending
  const messageId = `${person.customerId}-${at}`
  const tell = (kind: string, time: number, more: object = {}) => {
    if (time < now)
      sending.facts.events.push({
        customer_id: person.customerId,
        platform,
        kind,
        time,
        message_id: messageId,
        ...more,
      })
    return time < now
  }
  tell('attempted', at)
  const failure = dice.draw(plan.failures)
  if (failure !== undefined && (platform === 'EMAIL') === (failure !== 'device_not_registered')) {
    tell('failed', at + 900, { reason: failure })
    return
  }
  tell('sent', at + 900)
  if (dice.isLucky(0.004))
    return void tell('bounce', at + dice.soon(HOUR_MS), { reason: dice.pick(['hard_bounce', 'soft_bounce']) })
  if (dice.isLucky(MACHINES)) tell('machine_impression', at + 4_000)
  const openedAt = at + 60_000 + dice.soon(7 * HOUR_MS)
  if (!dice.isLucky(withInterest(variation.opens, person)) || !tell('impression', openedAt)) return
  if (dice.isLucky(plan.unsubscribes)) return void tell('unsubscribe', openedAt + 30_000)
  if (dice.isLucky(0.0006)) return void tell('complaint', openedAt + DAY_MS / 2)
  if (dice.isLucky(0.2)) tell('impression', openedAt + dice.soon(20 * HOUR_MS))
  const clickedAt = openedAt + dice.whole(5_000, 120_000)
  if (!dice.isLucky(withInterest(variation.clicks, person)) || !tell('click', clickedAt)) return
  const boughtAt = clickedAt + 240_000 + dice.soon(3 * HOUR_MS)
  if (dice.isLucky(variation.buys) && boughtAt < now) life.events.push(order(dice, boughtAt, plan.coupon))
}

function withInterest(chance: number, { interest }: DemoPerson): number {
  return chance * (REACTION_OF_EVERYBODY + (1 - REACTION_OF_EVERYBODY) * Math.min(interest, 2))
}

function platformOf({ platforms }: MailingPlan, { platform, categories }: DemoPerson): string {
  return platforms.includes(platform) && categories['Offers'] !== true ? platform : 'EMAIL'
}
