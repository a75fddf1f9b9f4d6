// Computes a part of the campaign statistics from the stored facts with plain SQL, as a server without a table of statistics would.
import SqliteFile from 'better-sqlite3'
import { MESSAGE_KINDS } from '../src/core/campaigns/facts.ts'
import { DAY_MS, localToInstant } from '../src/core/time-zone.ts'
import { MONTH, TIMEZONE } from './population.ts'

const PAGE_CACHE_KIB = 64 * 1024

export interface KindCount {
  /** The number of the campaign. */
  readonly campaign: number
  /** Null for all platforms together. */
  readonly platform: string | null
  readonly kind: string
  readonly occurrences: number
  readonly users: number
}

/**
 * The occurrences and the distinct customers of each kind of message event in the month, for every campaign, by platform and in
 * total. Leaves out locales and variations (which need memberships), delivery funnel, failures, conversions, uplift, control
 * groups, and merged users.
 */
export function countDistinct(path: string): { readonly counts: readonly KindCount[]; readonly ms: number } {
  const file = new SqliteFile(path, { readonly: true })
  try {
    file.pragma(`cache_size = -${PAGE_CACHE_KIB}`)
    const bounds = [toInstant(MONTH.start), toInstant(MONTH.end) + DAY_MS]
    const startedAt = performance.now()
    const rows = file.prepare(QUESTION).all(...bounds, ...bounds) as (Omit<KindCount, 'kind'> & { kind: number })[]
    const ms = performance.now() - startedAt
    return { counts: rows.map((row) => ({ ...row, kind: MESSAGE_KINDS[row.kind] as string })), ms }
  } finally {
    file.close()
  }
}

const QUESTION = `
  with facts as (
    select campaign, platform, kind, customer, time from message_events
    union all
    select campaign, platform, kind, customer, time from message_events_staging
  )
  select campaign, platform, kind, count(*) as occurrences, count(distinct customer) as users
  from facts where time >= ? and time < ? group by campaign, platform, kind
  union all
  select campaign, null, kind, count(*), count(distinct customer)
  from facts where time >= ? and time < ? group by campaign, kind`

/** The start of a day. No day of the month has a change of daylight saving time. */
function toInstant(date: string): number {
  return localToInstant(TIMEZONE, Date.parse(`${date}T00:00:00Z`))
}
