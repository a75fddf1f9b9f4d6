// Estimates what would happen if a campaign were started now: walks its audience as the freeze of a run does, and writes nothing.
import { setImmediate } from 'node:timers/promises'
import { placePeople, type Candidate, type Placed } from '../../actions/delivery/place-people.ts'
import { requireDelivery, type CampaignKey } from '../../actions/delivery/require-delivery.ts'
import { invalidRequest } from '../../core/app-error.ts'
import { GROUPS, type Group } from '../../core/campaigns/facts.ts'
import type { PinnedTemplate } from '../../core/delivery/audience/pinned-variation.ts'
import { findCouponListsByLabel } from '../../store/coupons/coupon-lists.ts'
import type { StoredDelivery } from '../../store/delivery/deliveries.ts'
import { listMatches } from '../../store/segments/matches.ts'
import { resolveCondition } from '../../store/segments/resolve-condition.ts'
import { findSender } from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'
import type { EmailVault } from '../../store/users/email-vault.ts'
import { audienceCondition } from '../run/freeze-run.ts'
import { MissingValues } from './missing-values.ts'
import { pinVariations } from './pin-variations.ts'
import { TemplateReader } from './template-reader.ts'
import type { StartSurroundings } from './start-plan.ts'

/** Users that are looked at between two turns of other requests. */
const USERS_PER_SLICE = 2_000
/** People of whom missing values are counted. */
const CHECKED_PEOPLE_MAX = 1_000

export interface Estimate {
  readonly audience: number
  readonly withoutAddress: number
  readonly groups: Readonly<Record<Group, number>>
  /** Reason → targets. */
  readonly removed: Readonly<Record<string, number>>
  /** Targets without a reason. */
  readonly sendable: number
  /** Variation → targets without a reason, duplicates included; locale likewise. */
  readonly variations: Readonly<Record<string, number>>
  readonly locales: Readonly<Record<string, number>>
  readonly checkedPeople: number
  /** Variable → people among the checked ones for whom it has no value. */
  readonly missingValues: Readonly<Record<string, number>>
  readonly coupons: readonly { readonly label: string; readonly needed: number; readonly available: number }[]
  /** At the rate of the sender. */
  readonly seconds: number
}

/** Throws AppError `invalid_request` if a sender, segment or template is missing, and the errors of `requireDelivery`. */
export async function estimateByKey(
  store: Store,
  key: CampaignKey,
  {
    workspace,
    now,
    emailVault,
  }: Pick<StartSurroundings, 'workspace' | 'now'> & { readonly emailVault: EmailVault | undefined },
): Promise<Estimate> {
  const { stored } = (await requireDelivery(store, key)).shown
  const { settings, seed } = stored
  const sender = await findSender(store, workspace.id, settings.senderId)
  const { variations, faults } = await pinOf(store, stored)
  const field = 'delivery.audience'
  const audience = await resolveCondition(store, workspace.id, audienceCondition(settings.audience), { field })
  const missing = sender ? [] : [{ field: 'delivery.sender_id', problem: 'is not the id of a sender in the workspace' }]
  if (missing.length + faults.length + audience.faults.length > 0)
    throw invalidRequest([...missing, ...faults, ...audience.faults])
  const rules = { workspace, delivery: settings, variations, seed, now }
  const templates = new TemplateReader(store, workspace.id)
  const values = new MissingValues(store, { workspace, emailVault, templates, max: CHECKED_PEOPLE_MAX })
  const tally = new Tally()
  for (let after: number | undefined = 0; after !== undefined;) {
    const search = { workspace, condition: audience.condition, now, after, max: USERS_PER_SLICE }
    const { matches, next } = await listMatches(store, search)
    const people = matches.flatMap(({ userId, customerId, emailKey, locale }): Candidate[] => {
      return customerId === null || emailKey === null ? [] : [{ userId, customerId, emailKey, locale }]
    })
    const places = await placePeople(store, rules, people)
    tally.add(people, places, matches.length - people.length)
    await values.add(people, places)
    after = next
    await setImmediate()
  }
  return tally.toEstimate({
    values,
    perSecond: sender?.limits.perSecond ?? 1,
    coupons: await couponsOf(store, tally, templates),
  })
}

async function pinOf(store: Store, { pinned, workspaceId, settings }: StoredDelivery) {
  return pinned ? { variations: pinned, faults: [] } : pinVariations(store, workspaceId, settings)
}

async function couponsOf(store: Store, tally: Tally, templates: TemplateReader): Promise<Estimate['coupons']> {
  const needed = new Map<string, number>()
  for (const { template, count } of tally.templates.values()) {
    for (const label of (await templates.read(template)).coupons) needed.set(label, (needed.get(label) ?? 0) + count)
  }
  const lists = await findCouponListsByLabel(store, templates.workspaceId, [...needed.keys()])
  const available = new Map(lists.map((list) => [list.label, list.availableCoupons]))
  return [...needed].map(([label, count]) => ({ label, needed: count, available: available.get(label) ?? 0 }))
}

/** Counts places. Holds a number for each address, to count duplicates: 1,000,000 addresses take some 100 MB. */
class Tally {
  readonly templates = new Map<string, { readonly template: PinnedTemplate; count: number }>()
  readonly #groups = new Map<string, number>()
  readonly #removed = new Map<string, number>()
  readonly #variations = new Map<string, number>()
  readonly #locales = new Map<string, number>()
  /** Address → whether a person of a control group has it. */
  readonly #addresses = new Map<string, boolean>()
  #withoutAddress = 0
  #targets = 0

  add(people: readonly Candidate[], places: readonly Placed[], withoutAddress: number): void {
    this.#withoutAddress += withoutAddress
    for (const [index, place] of places.entries()) {
      const { emailKey } = people[index] as Candidate
      increase(this.#groups, place.group)
      if (place.removed !== undefined) increase(this.#removed, place.removed)
      else if (place.group === 'target') this.#addTarget(place, emailKey)
      else this.#addresses.set(emailKey, true)
    }
  }

  #addTarget({ variation, template }: Placed, emailKey: string): void {
    this.#targets++
    increase(this.#variations, variation ?? '')
    if (template.locale !== null) increase(this.#locales, template.locale)
    const key = JSON.stringify([template.externalTemplateId, template.version])
    const counted = this.templates.get(key)
    if (counted) counted.count++
    else this.templates.set(key, { template, count: 1 })
    if (!this.#addresses.has(emailKey)) this.#addresses.set(emailKey, false)
  }

  toEstimate({ values, perSecond, coupons }: Finish): Estimate {
    const sendable = [...this.#addresses.values()].filter((isControl) => !isControl).length
    const duplicates = this.#targets - sendable
    if (duplicates > 0) this.#removed.set('user_removed_due_to_duplicate', duplicates)
    const groups = Object.fromEntries(
      GROUPS.map((group) => [group, this.#groups.get(group) ?? 0]),
    ) as Estimate['groups']
    return {
      audience: GROUPS.reduce((sum, group) => sum + groups[group], 0),
      withoutAddress: this.#withoutAddress,
      groups,
      removed: Object.fromEntries(this.#removed),
      sendable,
      variations: Object.fromEntries(this.#variations),
      locales: Object.fromEntries(this.#locales),
      checkedPeople: values.people,
      missingValues: Object.fromEntries(values.counts),
      coupons,
      seconds: Math.ceil(sendable / perSecond),
    }
  }
}

interface Finish {
  readonly values: MissingValues
  readonly perSecond: number
  readonly coupons: Estimate['coupons']
}

function increase(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}
