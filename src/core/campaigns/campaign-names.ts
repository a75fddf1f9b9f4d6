// The reasons and dimensions (platform, locale and variation) that reports name for a campaign. One response shows all of them, so
// their number is limited.
import { countedPlatform, toMessagePlatform, UNKNOWN_REASON } from './facts.ts'
import type { Member, MessageReport } from './report.ts'

/** The most combinations of dimensions in one campaign. */
export const DIMENSIONS_MAX = 1_000
/** The most reasons in one campaign, of removals and failures together. */
export const REASONS_MAX = 100
/** The most dimensions times reasons in one campaign: every reason may be counted for all dimensions and their aggregates. */
export const DIMENSION_REASONS_MAX = 25_000

export const NAME_KINDS = ['dimensions', 'reason'] as const
export type NameKind = (typeof NAME_KINDS)[number]

/**
 * The names of each kind. Dimensions are the JSON of a platform, a locale and a variation; the last two are null if there is none.
 */
export type CampaignNames = Readonly<Record<NameKind, ReadonlySet<string>>>

/** The names of each kind in a report, each with the index of the first item that has it. */
export type ReportedNames = Readonly<Record<NameKind, ReadonlyMap<string, number>>>

type Audience = readonly Pick<Member, 'platform' | 'locale' | 'variation' | 'removed'>[]
type Messages = readonly Pick<MessageReport, 'kind' | 'reason'>[]

/** The names in an audience. */
export function namesOfAudience(members: Audience): ReportedNames {
  const [dimensions, reasons] = [new Map<string, number>(), new Map<string, number>()]
  const seen = new SeenDimensions()
  for (let index = 0; index < members.length; index++) {
    const { platform, locale, variation, removed } = members[index] as Audience[number]
    if (seen.add(platform, locale, variation)) {
      const counted = countedPlatform(toMessagePlatform(platform))
      addIfAbsent(dimensions, JSON.stringify([counted, locale ?? null, variation ?? null]), index)
    }
    if (removed !== undefined) addReason(reasons, removed, index)
  }
  return { dimensions, reason: reasons }
}

/** The names in message events: only reasons of failures, because statistics ignore other reasons. */
export function namesOfMessages(events: Messages): ReportedNames {
  const reasons = new Map<string, number>()
  for (let index = 0; index < events.length; index++) {
    const { kind, reason } = events[index] as Messages[number]
    if (kind === 'failed' && reason !== undefined) addReason(reasons, reason, index)
  }
  return { dimensions: new Map(), reason: reasons }
}

/** Skips the reason of failures without a reason: every campaign has it. */
function addReason(reasons: Map<string, number>, reason: string, index: number): void {
  if (reason !== UNKNOWN_REASON) addIfAbsent(reasons, reason, index)
}

function addIfAbsent(firsts: Map<string, number>, name: string, index: number): void {
  if (!firsts.has(name)) firsts.set(name, index)
}

/** Platform → locale → variations as sent. A report has thousands of members, but few different dimensions. */
class SeenDimensions {
  readonly #platforms = new Map<string, Map<string | undefined, Set<string | undefined>>>()

  /** False if the same dimensions were added before. */
  add(platform: string, locale: string | undefined, variation: string | undefined): boolean {
    let locales = this.#platforms.get(platform)
    if (!locales) this.#platforms.set(platform, (locales = new Map()))
    let variations = locales.get(locale)
    if (!variations) locales.set(locale, (variations = new Set()))
    if (variations.has(variation)) return false
    variations.add(variation)
    return true
  }
}
