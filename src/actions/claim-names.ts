// Writes down the names in a report that are new to its campaign, and refuses a report with which the campaign would have too
// many. Exact, whoever else reports: each name of a campaign is stored once, before the report is in the log.
import { AppError, DETAILS_MAX, type Fault } from '../core/app-error.ts'
import {
  NAME_KINDS,
  PLACE_REASONS_MAX,
  PLACES_MAX,
  REASONS_MAX,
  type CampaignNames,
  type NameKind,
  type ReportedNames,
} from '../core/campaigns/campaign-names.ts'
import { addCampaignNames, listCampaignNames, lockCampaignNames } from '../store/campaigns/campaign-names.ts'
import type { Database, Store } from '../store/store.ts'
import type { NameCache } from './name-cache.ts'
import { inDigits } from '../core/in-digits.ts'

/** The names in a report, and the campaign that they are reported of. */
export interface Claim {
  /** The number of the campaign. */
  readonly campaign: number
  /** What the body calls its items, and the reason in them. */
  readonly list: string
  readonly reasonMember: string
  readonly names: ReportedNames
}

/** Throws AppError `conflict`, naming the first item with each new name, where a campaign would have too many names. */
export async function claimNames(
  { database, nameCache }: { readonly database: Database; readonly nameCache: NameCache },
  claim: Claim,
): Promise<void> {
  const { campaign, names } = claim
  if (isWithin(names, nameCache.find(campaign))) return
  // Read before writing, so that reports that are refused, or bring no new name, do not wait for their turn to write: names are
  // never removed.
  let stored = await listCampaignNames(database, campaign)
  refuseTooManyNames(stored, claim)
  if (!isWithin(names, stored)) stored = await database.write((store) => addNames(store, claim))
  nameCache.keep(campaign, stored)
}

/** Returns all names that the campaign has then. */
async function addNames(store: Store, claim: Claim): Promise<CampaignNames> {
  const { campaign, names } = claim
  await lockCampaignNames(store, campaign)
  const stored = await listCampaignNames(store, campaign)
  refuseTooManyNames(stored, claim)
  const fresh = (kind: NameKind) => new Set(freshNames(kind, stored, names))
  const added = { place: fresh('place'), reason: fresh('reason') }
  await addCampaignNames(store, new Map([[campaign, added]]))
  const all = (kind: NameKind) => new Set([...stored[kind], ...added[kind]])
  return { place: all('place'), reason: all('reason') }
}

function isWithin(names: ReportedNames, known: CampaignNames | undefined): boolean {
  return NAME_KINDS.every((kind) => freshNames(kind, known, names).length === 0)
}

/** The names of a kind that are not known. */
function freshNames(kind: NameKind, known: CampaignNames | undefined, names: ReportedNames): string[] {
  return [...names[kind].keys()].filter((name) => !known?.[kind].has(name))
}

/** For each kind: how many there may be, what they are called, and what is said of a new one. */
const KINDS = {
  place: {
    max: PLACES_MAX,
    called: 'combinations of platform, locale and variation',
    isNew: 'adds a combination of platform, locale and variation to the campaign',
  },
  reason: { max: REASONS_MAX, called: 'reasons for removals and failures', isNew: 'adds a reason to the campaign' },
} as const satisfies Record<NameKind, object>

function refuseTooManyNames(stored: CampaignNames, claim: Claim): void {
  const excesses: string[] = []
  const details: Fault[] = []
  for (const kind of NAME_KINDS) {
    const { max, called } = KINDS[kind]
    const [has, fresh] = [stored[kind].size, freshNames(kind, stored, claim.names)]
    if (fresh.length === 0 || has + fresh.length <= max) continue
    excesses.push(
      `more than ${inDigits(max)} ${called}: it has ${inDigits(has)}, and the report adds ${inDigits(fresh.length)}`,
    )
    details.push(...faultsOf(kind, fresh, claim))
  }
  if (excesses.length === 0) refuseTooManyTogether(stored, claim)
  else refuse(excesses.join('; and '), details)
}

/** Every reason may be counted at every place. */
function refuseTooManyTogether(stored: CampaignNames, claim: Claim): void {
  const fresh = { place: freshNames('place', stored, claim.names), reason: freshNames('reason', stored, claim.names) }
  const [places, reasons] = [stored.place.size + fresh.place.length, stored.reason.size + fresh.reason.length]
  if (places * reasons <= PLACE_REASONS_MAX) return
  const details = NAME_KINDS.flatMap((kind) => faultsOf(kind, fresh[kind], claim))
  if (details.length === 0) return
  const [has, all] = [inDigits(stored.place.size), inDigits(places)]
  const what = `${all} combinations of platform, locale and variation and ${inDigits(reasons)} reasons for removals and failures`
  const bound = `a product of more than ${inDigits(PLACE_REASONS_MAX)}`
  refuse(`${what}, ${bound}: it has ${has} combinations and ${inDigits(stored.reason.size)} reasons`, details)
}

function faultsOf(kind: NameKind, fresh: readonly string[], { list, reasonMember, names }: Claim): Fault[] {
  const member = kind === 'place' ? '' : `.${reasonMember}`
  return fresh.map((name) => ({ field: `${list}[${names[kind].get(name)}]${member}`, problem: KINDS[kind].isNew }))
}

function refuse(what: string, details: readonly Fault[]): never {
  throw new AppError('conflict', `The campaign would have ${what}.`, details.slice(0, DETAILS_MAX))
}
