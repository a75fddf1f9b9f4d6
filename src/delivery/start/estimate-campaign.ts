// Estimates what would happen if a campaign were started now: walks its audience as the freeze of a run does, and writes nothing.
import { setImmediate } from 'node:timers/promises'
import { placePeople, type Candidate } from '../run/place-people.ts'
import { requireDelivery, type CampaignKey } from '../../actions/delivery/require-delivery.ts'
import { invalidRequest } from '../../core/app-error.ts'
import { GROUPS, type Group } from '../../core/campaigns/facts.ts'
import { findCouponListsByLabel } from '../../store/coupons/coupon-lists.ts'
import { listMatches } from '../../store/segments/matches.ts'
import { findSender } from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'
import type { EmailVault } from '../../store/users/email-vault.ts'
import { EstimateTally, increase } from './estimate-tally.ts'
import { MissingValues } from './missing-values.ts'
import { findPins } from './pin-variations.ts'
import { resolveAudience } from './resolve-audience.ts'
import { UNKNOWN_SENDER } from './start-faults.ts'
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
  /** Variation → targets without a reason; locale likewise. */
  readonly variations: Readonly<Record<string, number>>
  readonly locales: Readonly<Record<string, number>>
  readonly checkedPeople: number
  /** Variable → people among the checked ones for whom it has no value. */
  readonly missingValues: Readonly<Record<string, number>>
  readonly coupons: readonly { readonly label: string; readonly needed: number; readonly available: number }[]
  /** At the rate of the sender. */
  readonly seconds: number
}

/**
 * Throws AppError `invalid_request` if a sender, segment or template is missing, `conflict` if the audience has more addresses than an
 * estimate compares, and the errors of `requireDelivery`.
 */
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
  const { variations, faults } = await findPins(store, stored)
  const { condition, ...audience } = await resolveAudience(store, workspace.id, settings.audience)
  const all = [...(sender ? [] : [UNKNOWN_SENDER]), ...faults, ...audience.faults]
  if (all.length > 0) throw invalidRequest(all)
  const rules = { workspace, delivery: settings, variations, seed, now }
  const templates = new TemplateReader(store, workspace.id)
  const values = new MissingValues(store, { workspace, emailVault, templates, max: CHECKED_PEOPLE_MAX })
  const tally = new EstimateTally()
  for (let after: number | undefined = 0; after !== undefined;) {
    const { matches, next } = await listMatches(store, { workspace, condition, now, after, max: USERS_PER_SLICE })
    const people = matches.flatMap(({ userId, customerId, emailKey, locale }): Candidate[] => {
      return customerId === null || emailKey === null ? [] : [{ userId, customerId, emailKey, locale }]
    })
    const places = await placePeople(store, rules, people)
    tally.withoutAddress += matches.length - people.length
    tally.add(people, places)
    await values.add(people, places)
    after = next
    await setImmediate()
  }
  const coupons = await couponsOf(store, tally, templates)
  return toEstimate(tally, { values, coupons, perSecond: sender?.limits.perSecond ?? 1 })
}

async function couponsOf(store: Store, { places }: EstimateTally, templates: TemplateReader) {
  const needed = new Map<string, number>()
  for (const { template, count } of places) {
    for (const label of (await templates.read(template)).coupons) increase(needed, label, count)
  }
  const lists = await findCouponListsByLabel(store, templates.workspaceId, [...needed.keys()])
  const available = new Map(lists.map((list) => [list.label, list.availableCoupons]))
  return [...needed].map(([label, count]) => ({ label, needed: count, available: available.get(label) ?? 0 }))
}

interface Finish extends Pick<Estimate, 'coupons'> {
  readonly values: MissingValues
  readonly perSecond: number
}

function toEstimate(
  { groups, removed, withoutAddress, places }: EstimateTally,
  { values, coupons, perSecond }: Finish,
): Estimate {
  const variations = new Map<string, number>()
  const locales = new Map<string, number>()
  for (const { variation, template, count } of places) {
    increase(variations, variation, count)
    if (template.locale !== null) increase(locales, template.locale, count)
  }
  const sendable = places.reduce((sum, { count }) => sum + count, 0)
  return {
    audience: GROUPS.reduce((sum, group) => sum + groups[group], 0),
    withoutAddress,
    groups,
    removed: Object.fromEntries(removed),
    sendable,
    variations: Object.fromEntries(variations),
    locales: Object.fromEntries(locales),
    checkedPeople: values.people,
    missingValues: Object.fromEntries(values.counts),
    coupons,
    seconds: Math.ceil(sendable / perSecond),
  }
}
