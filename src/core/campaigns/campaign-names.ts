// The names that reports give to the numbers of a campaign: reasons, and places (a platform, a locale and a variation of an
// audience). All of them are shown with the campaign, so only a limited number fits.
import { countedPlatform, toMessagePlatform, UNKNOWN_REASON } from './facts.ts'
import type { Member, MessageReport } from './report.ts'

/** Different places of a campaign. */
export const PLACES_MAX = 1_000
/** Different reasons of a campaign, those of removals and failures together. */
export const REASONS_MAX = 100
/** Places times reasons of a campaign: every reason may be counted at every place, and at its aggregates. */
export const PLACE_REASONS_MAX = 25_000

export const NAME_KINDS = ['place', 'reason'] as const
export type NameKind = (typeof NAME_KINDS)[number]

/**
 * The names of each kind, each once. A place is the JSON of its platform, locale and variation, the last two null where there is
 * none.
 */
export type CampaignNames = Readonly<Record<NameKind, ReadonlySet<string>>>

/** The names of each kind in a report, with the index of the first item that has the name. */
export type ReportedNames = Readonly<Record<NameKind, ReadonlyMap<string, number>>>

type Audience = readonly Pick<Member, 'platform' | 'locale' | 'variation' | 'removed'>[]
type Messages = readonly Pick<MessageReport, 'kind' | 'reason'>[]

/** The names in an audience. */
export function namesOfAudience(members: Audience): ReportedNames {
  const [places, reasons] = [new Map<string, number>(), new Map<string, number>()]
  const seen = new SeenPlaces()
  for (let index = 0; index < members.length; index++) {
    const { platform, locale, variation, removed } = members[index] as Audience[number]
    if (seen.add(platform, locale, variation)) {
      const counted = countedPlatform(toMessagePlatform(platform))
      addFirst(places, JSON.stringify([counted, locale ?? null, variation ?? null]), index)
    }
    if (removed !== undefined) addReason(reasons, removed, index)
  }
  return { place: places, reason: reasons }
}

/** The names in message events: only the reasons of failures, because those of other kinds are counted nowhere. */
export function namesOfMessages(events: Messages): ReportedNames {
  const reasons = new Map<string, number>()
  for (let index = 0; index < events.length; index++) {
    const { kind, reason } = events[index] as Messages[number]
    if (kind === 'failed' && reason !== undefined) addReason(reasons, reason, index)
  }
  return { place: new Map(), reason: reasons }
}

/** Leaves out the reason by which failures without one are counted: every campaign has it. */
function addReason(reasons: Map<string, number>, reason: string, index: number): void {
  if (reason !== UNKNOWN_REASON) addFirst(reasons, reason, index)
}

function addFirst(firsts: Map<string, number>, name: string, index: number): void {
  if (!firsts.has(name)) firsts.set(name, index)
}

/** Platform → locale → variations, as they were sent: a report has thousands of members and few places. */
class SeenPlaces {
  readonly #platforms = new Map<string, Map<string | undefined, Set<string | undefined>>>()

  /** False if the same place was added before. */
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
