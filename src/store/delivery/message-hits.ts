// The table of hits: requests to the links and the picture of messages, as they came. Ten seconds later each is judged: a person, a
// machine, or the picture proxy of a mail service.
import { sql } from 'kysely'
import type { HitKind, LinkHit } from '../../core/links/link-entry.ts'
import { messageIdOfRun } from '../../core/delivery/delivery-entry.ts'
import type { HitVerdict, RawHit } from '../../core/links/judge-hits.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'

interface MessageHitRow {
  /** The position of its entry in the log × `EVENTS_PER_ENTRY_MAX` + its index there. */
  id: number
  run: number
  message: number
  /** `open` or `click`. */
  kind: string
  /** `run_links.number`; 0 for opens. */
  link: number
  at: number
  ip: string
  user_agent: string | null
  /** 1 if the request itself shows that no person made it: HEAD, or a prefetch. */
  is_automatic: number
  /** `person`, `machine` or `proxy`; null until it is judged. */
  verdict: string | null
  /** 1 once the log has its message event. */
  is_told: number
}

declare module '../tables.ts' {
  interface Tables {
    message_hits: MessageHitRow
  }
}

export async function createMessageHits({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('message_hits')
    .addColumn('id', integer, (column) => column.primaryKey())
    .addColumn('run', integer, (column) => column.notNull())
    .addColumn('message', integer, (column) => column.notNull())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('link', integer, (column) => column.notNull())
    .addColumn('at', integer, (column) => column.notNull())
    .addColumn('ip', text, (column) => column.notNull())
    .addColumn('user_agent', text)
    .addColumn('is_automatic', integer, (column) => column.notNull())
    .addColumn('verdict', text)
    .addColumn('is_told', integer, (column) => column.notNull())
    .execute()
  await query.schema
    .createIndex('message_hits_of_message')
    .on('message_hits')
    .columns(['run', 'message', 'at'])
    .execute()
  await query.schema
    .createIndex('message_hits_untold')
    .on('message_hits')
    .column('at')
    .where(sql.ref('is_told'), '=', sql.lit(0))
    .execute()
}

const COLUMNS = {
  id: 'integer',
  run: 'integer',
  message: 'integer',
  kind: 'text',
  link: 'integer',
  at: 'integer',
  ip: 'text',
  user_agent: 'text',
  is_automatic: 'integer',
  is_told: 'integer',
} as const

/** A hit as it came, and the number it gets. */
export interface NumberedHit extends LinkHit {
  readonly id: number
}

/**
 * Adds hits, not yet judged. Those of one message get ascending times, because facts of one message, kind and time are one fact. The
 * log keeps the hits of a message in one partition, so that no other pipeline adds some at the same time. Needs a transaction.
 */
export async function addMessageHits(store: Store, hits: readonly NumberedHit[]): Promise<void> {
  if (hits.length === 0) return
  const latest = await findLatestTimes(store, hits)
  const rows = hits.map((hit) => {
    const key = messageIdOfRun(hit.run, hit.message)
    const before = latest.get(key) ?? -Infinity
    const at = before >= hit.at && before <= hit.at + DELAYED_MS_MAX ? before + 1 : hit.at
    latest.set(key, Math.max(before, at))
    return { ...hit, at, is_automatic: Number(hit.is_automatic), is_told: 0 }
  })
  await insertRows(store, 'message_hits', { columns: COLUMNS, rows }).execute()
}

/** The furthest that a time is moved. A hit that is further ahead was dated by a wrong clock, or is one of very many. */
const DELAYED_MS_MAX = 1_000

/** Message id → the time of its latest hit among those that may be moved past. */
async function findLatestTimes(store: Store, hits: readonly NumberedHit[]): Promise<Map<string, number>> {
  const byMessage = Map.groupBy(hits, ({ run, message }) => messageIdOfRun(run, message))
  const periods = [...byMessage.values()].map((own) => {
    const { run, message } = own[0] as NumberedHit
    const times = own.map(({ at }) => at)
    return { run, message, since: Math.min(...times), until: Math.max(...times) + DELAYED_MS_MAX }
  })
  const rows = await hitsIn(store, periods)
    .select(['hit.run', 'hit.message', ({ fn }) => fn.max('hit.at').as('at')])
    .groupBy(['hit.run', 'hit.message'])
    .execute()
  return new Map(rows.map(({ run, message, at }) => [messageIdOfRun(run, message), at]))
}

/** A hit with what its judgement depends on. */
export interface StoredHit extends RawHit {
  readonly run: number
  readonly message: number
}

const JUDGED_COLUMNS = ['id', 'run', 'message', 'kind', 'link', 'at', 'ip', 'user_agent', 'is_automatic'] as const

/** At most `max` hits up to `until` that are not judged, the oldest first. */
export async function listUnjudgedHits(
  store: Store,
  { until, max }: { readonly until: number; readonly max: number },
): Promise<StoredHit[]> {
  const rows = await untoldHits(store)
    .select(JUDGED_COLUMNS)
    .where('verdict', 'is', null)
    .where('at', '<=', until)
    .orderBy('at')
    .limit(max)
    .execute()
  return rows.map(toStoredHit)
}

/** A message and a period, both ends inclusive. */
export interface MessagePeriod {
  readonly run: number
  readonly message: number
  readonly since: number
  readonly until: number
}

/** A click, as far as the judgement of others depends on it. */
export type StoredClick = Pick<MessageHitRow, 'run' | 'message' | 'link' | 'at'>

/** Of the clicks on one message, the first of each slot are listed: a machine that makes more shows itself by these. */
const CLICKS_PER_SLOT_MAX = 1_000
const SLOT_MS = 10_000

/**
 * The clicks on links of messages in these periods, one for each message; at most `CLICKS_PER_SLOT_MAX` of a message and slot. Which
 * they are does not depend on the period, so that every process judges by the same.
 */
export async function listClicks(store: Store, periods: readonly MessagePeriod[]): Promise<StoredClick[]> {
  if (periods.length === 0) return []
  const whole = periods.map((period) => ({ ...period, since: Math.floor(period.since / SLOT_MS) * SLOT_MS }))
  const ranked = hitsIn(store, whole)
    .select(['hit.run', 'hit.message', 'hit.link', 'hit.at'])
    .select(
      sql<number>`row_number() over (
        partition by ${sql.ref('hit.run')}, ${sql.ref('hit.message')}, ${sql.ref('hit.at')} / ${sql.lit(SLOT_MS)}
        order by ${sql.ref('hit.at')}, ${sql.ref('hit.id')})`.as('place'),
    )
    .where('hit.kind', '=', 'click')
  return store.query
    .selectFrom(ranked.as('click'))
    .select(['click.run', 'click.message', 'click.link', 'click.at'])
    .where('click.place', '<=', CLICKS_PER_SLOT_MAX)
    .execute()
}

function hitsIn(store: Store, periods: readonly MessagePeriod[]) {
  const columns = { run: 'integer', message: 'integer', since: 'integer', until: 'integer' } as const
  return store.query
    .selectFrom(store.rowsOf('period', columns, periods))
    .innerJoin('message_hits as hit', (join) =>
      join.onRef('hit.run', '=', 'period.run').onRef('hit.message', '=', 'period.message'),
    )
    .whereRef('hit.at', '>=', 'period.since')
    .whereRef('hit.at', '<=', 'period.until')
}

export interface JudgedHit {
  readonly id: number
  readonly verdict: HitVerdict
}

/** Stores verdicts. A hit that has one keeps it. */
export async function saveVerdicts(store: Store, judged: readonly JudgedHit[]): Promise<void> {
  if (judged.length === 0) return
  await store.query
    .updateTable('message_hits')
    .from(store.rowsOf('judged', { id: 'integer', verdict: 'text' }, judged))
    .set((set) => ({ verdict: set.ref('judged.verdict') }))
    .whereRef('message_hits.id', '=', 'judged.id')
    .where('message_hits.verdict', 'is', null)
    .execute()
}

/** A judged hit whose facts the log may lack. */
export interface UntoldHit extends JudgedHit {
  readonly run: number
  readonly message: number
  readonly kind: HitKind
  readonly at: number
}

/** At most `max` such hits, the oldest first. */
export async function listUntoldHits(store: Store, max: number): Promise<UntoldHit[]> {
  const rows = await untoldHits(store)
    .select(['id', 'run', 'message', 'kind', 'at', 'verdict'])
    .where('verdict', 'is not', null)
    .orderBy('at')
    .limit(max)
    .execute()
  return rows.map((row) => ({ ...row, kind: row.kind as HitKind, verdict: row.verdict as HitVerdict }))
}

export async function markHitsTold(store: Store, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await store.query
    .updateTable('message_hits')
    .set({ is_told: 1 })
    .where('id', 'in', (sub) => sub.selectFrom(wantedValues(store, 'id', 'integer', ids)).select('wanted.id'))
    .execute()
}

/** Forgets from where hits of messages came. */
export async function forgetHitOrigins(
  store: Store,
  messages: readonly { readonly run: number; readonly number: number }[],
): Promise<void> {
  if (messages.length === 0) return
  await store.query
    .updateTable('message_hits')
    .from(store.rowsOf('erased', { run: 'integer', number: 'integer' } as const, messages))
    .set({ ip: '', user_agent: null })
    .whereRef('message_hits.run', '=', 'erased.run')
    .whereRef('message_hits.message', '=', 'erased.number')
    .execute()
}

/** How many hits a transaction deletes. */
const FORGOTTEN_AT_ONCE = 1_000

/**
 * Deletes hits from before `before` that were told; true if there may be more. Ids ascend in the order of the log, so it looks only at
 * the oldest hits, and stops at the first that must stay.
 */
export async function forgetHits({ query }: Store, before: number): Promise<boolean> {
  const oldest = await query
    .selectFrom('message_hits')
    .select(['id', 'at', 'is_told'])
    .orderBy('id')
    .limit(FORGOTTEN_AT_ONCE)
    .execute()
  const stays = oldest.findIndex(({ at, is_told }) => at >= before || is_told === 0)
  const last = (stays < 0 ? oldest : oldest.slice(0, stays)).at(-1)
  if (!last) return false
  await query.deleteFrom('message_hits').where('id', '<=', last.id).execute()
  return stays < 0 && oldest.length === FORGOTTEN_AT_ONCE
}

/** Written so that both databases use the index of these hits. */
function untoldHits({ query }: Store) {
  return query.selectFrom('message_hits').where('is_told', '=', sql.lit(0))
}

type JudgedRow = Pick<MessageHitRow, (typeof JUDGED_COLUMNS)[number]>

function toStoredHit({ user_agent: userAgent, is_automatic, kind, ...row }: JudgedRow): StoredHit {
  return { ...row, kind: kind as HitKind, userAgent, isAutomatic: is_automatic === 1 }
}
