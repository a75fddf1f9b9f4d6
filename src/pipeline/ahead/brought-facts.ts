// What a batch brings that nobody knew, as far as what was read to count it tells: it need not be looked up again to be stored.
import { isTouch } from '../../core/statistics/campaign-past.ts'
import {
  membershipIdentity,
  messageIdentity,
  type CustomerCampaign,
  type Membership,
  type MessageEvent,
} from '../../core/campaigns/facts.ts'
import { weekOf, type CampaignInstant } from '../../store/campaigns/campaign-weeks.ts'
import type { StoredChange } from '../contributions/alike-changes.ts'
import type { OutlinedChange, OutlinedFact } from '../contributions/shapes.ts'

export class BroughtFacts {
  #areAllNew = true
  readonly #inNewWeeks: CampaignInstant[] = []

  /** Notes what the batch brings for one user, of whose campaigns in it all that is stored was read. */
  note({ facts, stored }: StoredChange): void {
    if (!this.#areAllNew) return
    this.#areAllNew = areNew(facts.memberships, stored.memberships, isSameMembership)
    this.#areAllNew &&= areNew(facts.messages, stored.messages, isSameMessage)
    const known = [...instantsOf(stored)]
    for (const instant of instantsOf(facts))
      if (!known.some((one) => isSameWeek(one, instant))) this.#inNewWeeks.push(instant)
  }

  /** The same for facts of one customer id, of which it is known that they are new. */
  noteNew(customer: number, change: OutlinedChange): void {
    const { facts, storedCount } = change
    for (let index = storedCount; index < facts.length; index++) {
      const { trait, instant } = facts[index] as OutlinedFact
      if (trait.isActive && !isKnownWeek(change, trait.campaign, instant))
        this.#inNewWeeks.push({ customer, campaign: trait.campaign, instant })
    }
  }

  /**
   * When campaigns had to do with customers in weeks in which they had not before, by the facts of the batch. Undefined where one
   * of these facts is known already, or reported twice.
   */
  get newWeeks(): readonly CampaignInstant[] | undefined {
    return this.#areAllNew ? this.#inNewWeeks : undefined
  }
}

function areNew<Fact>(
  fresh: readonly Fact[],
  stored: readonly Fact[],
  isSame: (one: Fact, other: Fact) => boolean,
): boolean {
  for (let index = 0; index < fresh.length; index++) {
    const fact = fresh[index] as Fact
    for (const other of stored) if (isSame(other, fact)) return false
    for (let before = 0; before < index; before++) if (isSame(fresh[before] as Fact, fact)) return false
  }
  return true
}

/** Most facts differ in their instants. */
function isSameMembership(one: Membership, other: Membership): boolean {
  return one.evaluatedAt === other.evaluatedAt && membershipIdentity(one) === membershipIdentity(other)
}

function isSameMessage(one: MessageEvent, other: MessageEvent): boolean {
  return one.time === other.time && messageIdentity(one) === messageIdentity(other)
}

interface Facts {
  readonly memberships: readonly Membership[]
  readonly messages: readonly MessageEvent[]
}

/** When campaigns had to do with customers, by their facts; the tables of facts note the same. */
function* instantsOf({ memberships, messages }: Facts): Generator<CampaignInstant> {
  for (const { customer, campaign, evaluatedAt: instant } of memberships) yield { customer, campaign, instant }
  for (const { customer, campaign, kind, time: instant } of messages)
    if (isTouch(kind)) yield { customer, campaign, instant }
}

function isSameWeek(one: CampaignInstant, other: CampaignInstant): boolean {
  return isSamePair(one, other) && weekOf(one.instant) === weekOf(other.instant)
}

function isSamePair(one: CustomerCampaign, other: CustomerCampaign): boolean {
  return one.customer === other.customer && one.campaign === other.campaign
}

/** Whether the campaign had to do with the customer in the week of an instant, by what was there before. */
function isKnownWeek({ facts, storedCount }: OutlinedChange, campaign: number, instant: number): boolean {
  for (let index = 0; index < storedCount; index++) {
    const { trait, instant: own } = facts[index] as OutlinedFact
    if (trait.isActive && trait.campaign === campaign && weekOf(own) === weekOf(instant)) return true
  }
  return false
}
