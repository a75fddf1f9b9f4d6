// The table of soft bounces: the runs in which an address bounced softly. Five in a row suppress the address.
import { SOFT_BOUNCE_DAYS, SOFT_BOUNCES_IN_A_ROW, type Suppression } from '../../core/delivery/suppression.ts'
import { messageRows } from '../delivery/messages.ts'
import { runRows } from '../delivery/runs.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import { addSuppressions } from './suppressions.ts'

interface SoftBounceRow {
  workspace_id: string
  email_key: string
  /** `runs.number`. */
  run: number
  at: number
}

declare module '../tables.ts' {
  interface Tables {
    soft_bounces: SoftBounceRow
  }
}

export async function createSoftBounces({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('soft_bounces')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('email_key', text, (column) => column.notNull())
    .addColumn('run', integer, (column) => column.notNull())
    .addColumn('at', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('soft_bounces_key', ['workspace_id', 'email_key', 'run'])
    .modifyEnd(clustered)
    .execute()
}

/** A soft bounce of an address in a run, with what a suppression of the address would show. */
export interface SoftBounce extends Pick<Suppression, 'emailKey' | 'email' | 'evidence'> {
  readonly run: number
  readonly at: number
}

const WINDOW_MS = SOFT_BOUNCE_DAYS * 24 * 60 * 60 * 1000

/**
 * Records soft bounces of a workspace, each once, and suppresses the addresses that bounced softly in each of the last five runs in
 * which they were sent to, all within 90 days. Returns the email keys of those that were not suppressed before. Needs a transaction.
 */
export async function recordSoftBounces(
  store: Store,
  workspaceId: string,
  bounces: readonly SoftBounce[],
): Promise<string[]> {
  if (bounces.length === 0) return []
  await addSoftBounces(store, workspaceId, bounces)
  const newest = new Map(bounces.toSorted((one, other) => one.at - other.at).map((bounce) => [bounce.emailKey, bounce]))
  const rows = await findSoftBounces(store, workspaceId, [...newest.keys()])
  const streaks = [...newest.values()].flatMap((bounce) => {
    const runs = (rows.get(bounce.emailKey) ?? []).filter(({ at }) => at > bounce.at - WINDOW_MS).map(({ run }) => run)
    const since = runs.toSorted((one, other) => other - one)[SOFT_BOUNCES_IN_A_ROW - 1]
    return since === undefined ? [] : [{ bounce, since, runs: new Set(runs) }]
  })
  const broken = await findBroken(store, workspaceId, streaks)
  const unbroken = streaks.filter(({ bounce }) => !broken.has(bounce.emailKey))
  return addSuppressions(
    store,
    unbroken.map(({ bounce: { emailKey, email, at, evidence } }) => {
      return { workspaceId, emailKey, email, reason: 'soft_bounce', since: at, evidence }
    }),
  )
}

const COLUMNS = { workspace_id: 'text', email_key: 'text', run: 'integer', at: 'integer' } as const

async function addSoftBounces(store: Store, workspaceId: string, bounces: readonly SoftBounce[]): Promise<void> {
  const rows = bounces.map(({ emailKey, run, at }) => ({ workspace_id: workspaceId, email_key: emailKey, run, at }))
  await insertRows(store, 'soft_bounces', { columns: COLUMNS, rows, orderBy: ['workspace_id', 'email_key', 'run'] })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** The soft bounces of addresses, by email key. */
async function findSoftBounces(
  store: Store,
  workspaceId: string,
  emailKeys: readonly string[],
): Promise<Map<string, Pick<SoftBounceRow, 'run' | 'at'>[]>> {
  const wanted = store.query.selectFrom(wantedValues(store, 'email_key', 'text', emailKeys)).select('wanted.email_key')
  const rows = await store.query
    .selectFrom('soft_bounces')
    .select(['email_key', 'run', 'at'])
    .where('workspace_id', '=', workspaceId)
    .where('email_key', 'in', wanted)
    .execute()
  return Map.groupBy(rows, (row) => row.email_key)
}

/** The last runs in which an address bounced softly. */
interface Streak {
  readonly bounce: SoftBounce
  /** The first of the last five. */
  readonly since: number
  readonly runs: ReadonlySet<number>
}

/** The email keys of those that were sent to in between without a soft bounce. */
async function findBroken(store: Store, workspaceId: string, streaks: readonly Streak[]): Promise<Set<string>> {
  if (streaks.length === 0) return new Set()
  const runs = runRows(store).select('run.number').where('run.workspace_id', '=', workspaceId)
  const addresses = streaks.map(({ bounce, since }) => ({ email_key: bounce.emailKey, since }))
  const sent = await messageRows(store)
    .innerJoin(store.rowsOf('streak', { email_key: 'text', since: 'integer' }, addresses), (join) =>
      join.onRef('message.email_key', '=', 'streak.email_key').onRef('message.run', '>=', 'streak.since'),
    )
    .select(['message.run', 'message.email_key'])
    .where('message.run', 'in', runs.where('run.number', '>=', Math.min(...streaks.map(({ since }) => since))))
    .where('message.state', 'in', ['sent', 'failed', 'in_doubt'])
    .where('message.first_tried_at', 'is not', null)
    .execute()
  const known = new Map(streaks.map(({ bounce, runs }) => [bounce.emailKey, runs]))
  return new Set(sent.filter(({ email_key: key, run }) => !known.get(key)?.has(run)).map((row) => row.email_key))
}

/** Forgets the soft bounces of an address, so that five more must follow before it is suppressed again. */
export async function removeSoftBounces({ query }: Store, workspaceId: string, emailKey: string): Promise<void> {
  await query
    .deleteFrom('soft_bounces')
    .where('workspace_id', '=', workspaceId)
    .where('email_key', '=', emailKey)
    .execute()
}
