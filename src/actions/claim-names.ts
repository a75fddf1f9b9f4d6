// Claims the names in a report (dimensions and reasons) for its campaign: stores new ones, and refuses a report that would give the
// campaign too many. The limit is exact across processes, because each name is stored before the report is appended to the log.
import { AppError, DETAILS_MAX, type Fault } from '../core/app-error.ts'
import {
  NAME_KINDS,
  DIMENSION_REASONS_MAX,
  DIMENSIONS_MAX,
  REASONS_MAX,
  type CampaignNames,
  type NameKind,
  type ReportedNames,
} from '../core/campaigns/campaign-names.ts'
import { addCampaignNames, listCampaignNames, lockCampaignNames } from '../store/campaigns/campaign-names.ts'
import type { Database, Store } from '../store/store.ts'
import type { NameCache } from './name-cache.ts'
import { inDigits } from '../core/in-digits.ts'

/** A campaign, and the names in a report of it. */
export interface Claim {
  /** The number of the campaign. */
  readonly campaign: number
  /** The member of the body that holds the items, and the member of an item that holds its reason. */
  readonly list: string
  readonly reasonMember: string
  readonly names: ReportedNames
}

/** Throws AppError `conflict` if the campaign would have too many names. It names the first item with each new name. */
export async function claimNames(
  { database, nameCache }: { readonly database: Database; readonly nameCache: NameCache },
  claim: Claim,
): Promise<void> {
  const { campaign, names } = claim
  if (isWithin(names, nameCache.find(campaign))) return
  // Reads first, so that only reports with new names wait for the writer lock. Names are never removed, so a refusal here is right.
  let stored = await listCampaignNames(database, campaign)
  refuseTooManyNames(stored, claim)
  if (!isWithin(names, stored)) stored = await database.write((store) => addNames(store, claim))
  nameCache.set(campaign, stored)
}

/** Returns all names of the campaign. Needs a transaction. */
async function addNames(store: Store, claim: Claim): Promise<CampaignNames> {
  const { campaign, names } = claim
  await lockCampaignNames(store, campaign)
  const stored = await listCampaignNames(store, campaign)
  refuseTooManyNames(stored, claim)
  const fresh = (kind: NameKind) => new Set(freshNames(kind, stored, names))
  const added = { dimensions: fresh('dimensions'), reason: fresh('reason') }
  await addCampaignNames(store, new Map([[campaign, added]]))
  const all = (kind: NameKind) => new Set([...stored[kind], ...added[kind]])
  return { dimensions: all('dimensions'), reason: all('reason') }
}

function isWithin(names: ReportedNames, existing: CampaignNames | undefined): boolean {
  return NAME_KINDS.every((kind) => freshNames(kind, existing, names).length === 0)
}

/** The reported names of a kind that are not among `existing`. */
function freshNames(kind: NameKind, existing: CampaignNames | undefined, names: ReportedNames): string[] {
  return [...names[kind].keys()].filter((name) => !existing?.[kind].has(name))
}

/** For each kind: the limit, its name in messages, and the problem of a new name. */
const KINDS = {
  dimensions: {
    max: DIMENSIONS_MAX,
    label: 'combinations of platform, locale and variation',
    problem: 'adds a combination of platform, locale and variation to the campaign',
  },
  reason: { max: REASONS_MAX, label: 'reasons for removals and failures', problem: 'adds a reason to the campaign' },
} as const satisfies Record<NameKind, object>

function refuseTooManyNames(stored: CampaignNames, claim: Claim): void {
  const excesses: string[] = []
  const details: Fault[] = []
  for (const kind of NAME_KINDS) {
    const { max, label } = KINDS[kind]
    const [has, fresh] = [stored[kind].size, freshNames(kind, stored, claim.names)]
    if (fresh.length === 0 || has + fresh.length <= max) continue
    excesses.push(
      `more than ${inDigits(max)} ${label}: it has ${inDigits(has)}, and the report adds ${inDigits(fresh.length)}`,
    )
    details.push(...faultsOf(kind, fresh, claim))
  }
  if (excesses.length === 0) refuseTooManyTogether(stored, claim)
  else refuse(excesses.join('; and '), details)
}

/** Limits the product, because every reason may be counted for every combination of dimensions. */
function refuseTooManyTogether(stored: CampaignNames, claim: Claim): void {
  const fresh = {
    dimensions: freshNames('dimensions', stored, claim.names),
    reason: freshNames('reason', stored, claim.names),
  }
  const [dimensions, reasons] = [
    stored.dimensions.size + fresh.dimensions.length,
    stored.reason.size + fresh.reason.length,
  ]
  if (dimensions * reasons <= DIMENSION_REASONS_MAX) return
  const details = NAME_KINDS.flatMap((kind) => faultsOf(kind, fresh[kind], claim))
  if (details.length === 0) return
  const total = `${inDigits(dimensions)} ${KINDS.dimensions.label} and ${inDigits(reasons)} ${KINDS.reason.label}`
  refuse(`${total}; their product may be at most ${inDigits(DIMENSION_REASONS_MAX)}`, details)
}

function faultsOf(kind: NameKind, fresh: readonly string[], { list, reasonMember, names }: Claim): Fault[] {
  const member = kind === 'dimensions' ? '' : `.${reasonMember}`
  return fresh.map((name) => ({ field: `${list}[${names[kind].get(name)}]${member}`, problem: KINDS[kind].problem }))
}

function refuse(excess: string, details: readonly Fault[]): never {
  throw new AppError(
    'conflict',
    `The campaign would have ${excess}. Reuse existing names.`,
    details.slice(0, DETAILS_MAX),
  )
}
