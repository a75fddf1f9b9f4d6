// Reads pages of messages: of a run, or of one person in all runs. Every page follows an index, because a run may have millions.
import { sql } from 'kysely'
import type { Group } from '../../../core/campaigns/facts.ts'
import { FAILURE_REASONS, REMOVAL_REASONS, type MessageState } from '../../../core/delivery/message-state.ts'
import { campaignsOf } from '../../campaigns/campaigns.ts'
import type { Store } from '../../store.ts'
import { runRows } from '../runs.ts'
import {
  attemptRows,
  messageRows,
  toRunMessage,
  type MessageKey,
  type StoredAttempt,
  type RunMessage,
} from '../messages.ts'

/** The key of the last message of a page. */
export interface MessageCursor extends MessageKey {
  /** Orders the messages of one state. */
  readonly nextAt: number
}

/** Which messages of a run to list. */
export interface MessageFilter {
  readonly state?: MessageState | undefined
  readonly reason?: string | undefined
  readonly group?: Group | undefined
  readonly userId?: number | undefined
}

export interface MessagesPage {
  readonly before: MessageCursor | undefined
  readonly max: number
}

/** The messages of a run, the newest first; those of one state with the latest `nextAt` first. */
export async function listMessagesOf(
  store: Store,
  run: number,
  { state, reason, group, userId }: MessageFilter,
  { before, max }: MessagesPage,
): Promise<RunMessage[]> {
  if (reason !== undefined && state !== undefined && stateOf(reason) !== state) return []
  let messages = messageRows(store).selectAll('message').where('message.run', '=', run).limit(max)
  if (userId !== undefined) messages = messages.where('message.user_id', '=', userId)
  if (reason !== undefined) messages = messages.where('message.reason', '=', reason)
  if (group !== undefined) messages = messages.where('message.audience_group', '=', group)
  const isByState = state !== undefined && reason === undefined && userId === undefined
  if (state !== undefined) messages = messages.where('message.state', '=', state)
  if (isByState) {
    if (before)
      messages = messages.where(sql<boolean>`(message.next_at, message.number) < (${before.nextAt}, ${before.number})`)
    messages = messages.orderBy('message.next_at', 'desc')
  } else if (before) {
    messages = messages.where('message.number', '<', before.number)
  }
  return (await messages.orderBy('message.number', 'desc').execute()).map(toRunMessage)
}

/** A reason belongs to one state. */
function stateOf(reason: string): MessageState | undefined {
  if (REMOVAL_REASONS.some((removal) => removal === reason)) return 'removed'
  return FAILURE_REASONS.some((failure) => failure === reason) ? 'failed' : undefined
}

/** The messages of a person in all runs, those of newer runs first. */
export async function listMessagesOfUser(
  store: Store,
  userId: number,
  { before, max }: MessagesPage,
): Promise<RunMessage[]> {
  const messages = messageRows(store).selectAll('message').where('message.user_id', '=', userId)
  const older = before
    ? messages.where(sql<boolean>`(message.run, message.number) < (${before.run}, ${before.number})`)
    : messages
  const rows = await older.orderBy('message.run', 'desc').orderBy('message.number', 'desc').limit(max).execute()
  return rows.map(toRunMessage)
}

/** The attempts of messages, in the order of their times. A message has some thirty at most: it is given up after 72 hours. */
export async function listAttempts(store: Store, messages: readonly MessageKey[]): Promise<StoredAttempt[]> {
  if (messages.length === 0) return []
  const columns = { run: 'integer', number: 'integer' } as const
  const wanted = store.rowsOf(
    'wanted',
    columns,
    messages.map(({ run, number }) => ({ run, number })),
  )
  const rows = await attemptRows(store)
    .innerJoin(wanted, (join) =>
      join.onRef('wanted.run', '=', 'attempt.run').onRef('wanted.number', '=', 'attempt.message'),
    )
    .selectAll('attempt')
    .orderBy('attempt.at')
    .execute()
  return rows.map(({ enhanced_code: enhancedCode, text, host, ...attempt }) => {
    return { ...attempt, enhancedCode, text: text ?? '', host: host ?? '' }
  })
}

/** The campaign of a run, and when the audience of the run was decided. */
export interface RunCampaign {
  readonly id: string
  readonly number: number
  readonly origin: { readonly name: string; readonly evaluatedAt: number }
}

/** Run → its campaign. */
export async function findCampaignsOfRuns(
  store: Store,
  workspaceId: string,
  runs: ReadonlySet<number>,
): Promise<Map<number, RunCampaign>> {
  if (runs.size === 0) return new Map()
  const rows = await campaignsOf(store, workspaceId)
    .innerJoin(
      runRows(store)
        .select(['run.number as run', 'run.campaign', 'run.evaluated_at'])
        .where('run.number', 'in', [...runs])
        .as('sent'),
      'sent.campaign',
      'campaigns.number',
    )
    .select(['sent.run', 'sent.evaluated_at', 'campaigns.id', 'campaigns.number', 'campaigns.name'])
    .execute()
  return new Map(
    rows.map(({ run, id, number, name, evaluated_at: evaluatedAt }) => {
      return [run, { id, number, origin: { name, evaluatedAt } }]
    }),
  )
}

/** The most messages of each kind that `measureRate` looks at. */
const SAMPLE_MAX = 1_000

/**
 * How many messages of a run were sent in a second, since an instant. Looks at the last ones in the order in which they were claimed,
 * those of first tries and those of later ones; if there are too many, the rate is that of these.
 */
export async function measureRate(
  store: Store,
  run: number,
  { since, now }: { readonly since: number; readonly now: number },
): Promise<number> {
  let perSecond = 0
  for (const operator of ['=', '>'] as const) {
    const rows = await messageRows(store)
      .select('message.sent_at')
      .where('message.run', '=', run)
      .where('message.state', '=', 'sent')
      .where('message.next_at', operator, 0)
      .orderBy('message.next_at', 'desc')
      .orderBy('message.number', 'desc')
      .limit(SAMPLE_MAX)
      .execute()
    const times = rows.map(({ sent_at: at }) => at ?? 0).filter((at) => at > since)
    const from = times.length < SAMPLE_MAX ? since : Math.min(...times)
    perSecond += (times.length * 1000) / Math.max(now - from, 1)
  }
  return perSecond
}
