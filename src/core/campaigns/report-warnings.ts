// Warnings about platforms, and about fields that a report sends in vain. A report has thousands of items, so it is first reduced
// to a few remarks.
import type { Warning } from '../app-error.ts'
import { inDigits } from '../in-digits.ts'
import { countedPlatform, toMessagePlatform } from './facts.ts'
import type { Platform } from '../platform.ts'

/** The first of several items, and how many there are. */
interface Mentions {
  readonly first: number
  count: number
}

/** What warnings depend on in the items of a report. */
export interface ReportRemarks {
  /** By platform as sent. */
  readonly platforms: ReadonlyMap<string, Mentions>
  /** Message events with a reason that neither failed nor bounced. */
  readonly ignoredReasons: Mentions | undefined
}

/** An item of either kind of report. */
interface RemarkedItem {
  readonly platform: string
  readonly kind?: string
  readonly reason?: string
}

export function remarksOn(items: readonly RemarkedItem[]): ReportRemarks {
  const platforms = new Map<string, Mentions>()
  let ignoredReasons: Mentions | undefined
  for (let index = 0; index < items.length; index++) {
    const { platform, kind, reason } = items[index] as RemarkedItem
    const mentions = platforms.get(platform)
    if (mentions) mentions.count++
    else platforms.set(platform, { first: index, count: 1 })
    if (reason === undefined || kind === 'failed' || kind === 'bounce') continue
    ignoredReasons ??= { first: index, count: 0 }
    ignoredReasons.count++
  }
  return { platforms, ignoredReasons }
}

/** The warnings about a report whose items are in the member `list`, for a campaign with the platforms `declared`. */
export function reportWarnings(
  { platforms, ignoredReasons }: ReportRemarks,
  list: string,
  declared: readonly string[],
): Warning[] {
  const warnings: Warning[] = []
  for (const [sent, mentions] of platforms) {
    if (declared.includes(toMessagePlatform(sent))) continue
    const problem = `is not a platform of the campaign (${declared.join(', ')}): ${howCounted(sent, mentions)}`
    warnings.push({ kind: 'undeclared_platform', field: `${list}[${mentions.first}].platform`, problem })
  }
  if (ignoredReasons) {
    const { first, count } = ignoredReasons
    const what = count === 1 ? '' : `; so are ${inDigits(count - 1)} more`
    const problem = `is ignored, because only failed and bounce events have a reason${what}`
    warnings.push({ kind: 'ignored_field', field: `${list}[${first}].reason`, problem })
  }
  return warnings
}

/** Warns of platforms of a campaign that look like a misspelt one: their reports would be counted as UNKNOWN. */
export function platformWarnings(platforms: readonly string[]): Warning[] {
  return platforms.flatMap((sent, index) => {
    const meant = meantPlatform(sent)
    if (meant === undefined) return []
    const problem = `is not a known platform, so its reports are counted as UNKNOWN; did you mean ${meant}?`
    return [{ kind: 'undeclared_platform' as const, field: `platforms[${index}]`, problem }]
  })
}

function howCounted(sent: string, { count }: Mentions): string {
  const counted = countedPlatform(toMessagePlatform(sent))
  const meant = meantPlatform(sent)
  const items = count === 1 ? '1 item' : `${inDigits(count)} items`
  const question = meant === undefined ? '' : `; did you mean ${meant}?`
  return `${items} with "${sent}" ${count === 1 ? 'is' : 'are'} counted as ${counted}${question}`
}

/** The known platform with the same letters as an unknown one, such as EMAIL for `E-Mail`; undefined if there is none. */
function meantPlatform(sent: string): Platform | undefined {
  if (countedPlatform(toMessagePlatform(sent)) !== 'UNKNOWN') return undefined
  const counted = countedPlatform(toMessagePlatform(sent.replaceAll(/[^a-z]/gi, '')))
  return counted === 'UNKNOWN' ? undefined : counted
}
