// One person as a campaign would treat them now: their group, their template, and whether they would be sent to.
import { shownAttributes } from '../../actions/email-protection.ts'
import { placePeople, type Placed } from '../run/place-people.ts'
import { AppError, invalidRequest } from '../../core/app-error.ts'
import { chooseTemplate, type PinnedTemplate } from '../../core/delivery/audience/pinned-variation.ts'
import { holdsFor } from '../../core/segments/holds-for.ts'
import { EMAIL } from '../../core/users/user-attributes.ts'
import { CUSTOMER_ID } from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findPerson } from '../../store/segments/find-person.ts'
import { prepareRule } from '../../store/segments/matches.ts'
import type { Store } from '../../store/store.ts'
import type { EmailVault } from '../../store/users/email-vault.ts'
import { findUser, type User } from '../../store/users/users.ts'
import type { Placement } from '../content/render-preview.ts'
import { resolveAudience } from '../start/resolve-audience.ts'
import type { PreviewedCampaign } from './previewed-campaign.ts'

export interface PersonSearch {
  readonly workspace: Workspace
  readonly customerId: string
  /** The name of a variation; undefined: the person's own. */
  readonly variation: string | undefined
  readonly now: number
  readonly emailVault: EmailVault | undefined
}

export interface PlacedPerson {
  /** The customer id that the person had first. */
  readonly customerId: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly locale: string | null
  /** Empty if the person has none. */
  readonly address: string
  readonly template: PinnedTemplate
  readonly placement: Placement
}

/**
 * Throws AppError `not_found` if there is no such user, `invalid_request` for an unknown variation or segment, and `conflict` if the
 * person has too many facts to examine them for one request. Duplicates of addresses are not looked for: that takes the whole audience.
 */
export async function findPlacedPerson(
  store: Store,
  previewed: PreviewedCampaign,
  search: PersonSearch,
): Promise<PlacedPerson> {
  const { workspace, customerId: value, variation, emailVault } = search
  const user = await findUser(store, workspace.id, { name: CUSTOMER_ID, value })
  if (!user) throw new AppError('not_found', 'The workspace has no such user.')
  const attributes = shownAttributes(workspace, user, emailVault)
  const [email, locale] = [attributes[EMAIL], attributes['locale']].map((text) =>
    typeof text === 'string' ? text : null,
  )
  const customerId = user.customerId ?? value
  const place = await findPlace(store, previewed, { user, search, locale: locale ?? null })
  const named = previewed.variations.find(({ name }) => name === variation)
  if (variation !== undefined && !named) {
    throw invalidRequest([{ field: 'variation', problem: 'is not the name of a variation of the campaign' }])
  }
  const template = named ? chooseTemplate(named, locale ?? null) : place.template
  const isIn = await isInAudience(store, previewed, { user, search })
  const placement = toPlacement({ isIn, hasAddress: user.emailKey !== null, place })
  return { customerId, attributes, locale: locale ?? null, address: email?.trim() ?? '', template, placement }
}

interface Found {
  readonly user: User
  readonly search: PersonSearch
}

async function findPlace(
  store: Store,
  { delivery, variations }: PreviewedCampaign,
  { user, search, locale }: Found & { readonly locale: string | null },
): Promise<Placed> {
  const { workspace, customerId, now } = search
  const rules = { workspace, delivery: delivery.settings, variations, seed: delivery.seed, now }
  const candidate = {
    userId: user.id,
    customerId: user.customerId ?? customerId,
    emailKey: user.emailKey ?? '',
    locale,
  }
  const [place] = await placePeople(store, rules, [candidate])
  return place as Placed
}

async function isInAudience(store: Store, { delivery }: PreviewedCampaign, { user, search }: Found): Promise<boolean> {
  const { workspace, now } = search
  const { condition, faults } = await resolveAudience(store, workspace.id, delivery.settings.audience)
  if (faults.length > 0) throw invalidRequest([...faults])
  const rule = await prepareRule(store, { workspace, condition, now })
  return holdsFor(rule, await findPerson(store, user, rule))
}

/** In the order of the freeze. */
function toPlacement({
  isIn,
  hasAddress,
  place: { group, removed },
}: {
  readonly isIn: boolean
  readonly hasAddress: boolean
  readonly place: Placed
}): Placement {
  if (!isIn) return { wouldSend: false, reason: 'not_in_audience' }
  if (!hasAddress) return { wouldSend: false, reason: 'user_removed_due_to_missing_address' }
  if (group !== 'target') return { wouldSend: false, reason: group }
  return removed === undefined ? { wouldSend: true } : { wouldSend: false, reason: removed }
}
