// Finds the messages that feedback is about: to whom they were sent, for which campaign, and when.
import type { Store } from '../store.ts'
import { ERASED_USER, messageRows } from './messages.ts'
import { runRows } from './runs.ts'

/** `runs.number` and `messages.number`. */
export interface MessageNumbers {
  readonly run: number
  readonly message: number
}

export interface SentMessage extends MessageNumbers {
  /** `campaigns.number`. */
  readonly campaign: number
  readonly customerId: string
  readonly emailKey: string
  /** When it was sent or, while that is not known, first tried; null if it never was. */
  readonly at: number | null
}

/** Those of the messages that the workspace has. Messages of erased persons are left out. */
export async function findSentMessages(
  store: Store,
  workspaceId: string,
  wanted: readonly MessageNumbers[],
): Promise<SentMessage[]> {
  if (wanted.length === 0) return []
  const runs = runRows(store).select(['run.number', 'run.campaign']).where('run.workspace_id', '=', workspaceId)
  const rows = await messageRows(store)
    .innerJoin(store.rowsOf('wanted', { run: 'integer', message: 'integer' }, wanted), (join) =>
      join.onRef('message.run', '=', 'wanted.run').onRef('message.number', '=', 'wanted.message'),
    )
    .innerJoin(runs.as('run'), 'run.number', 'message.run')
    .select(['message.run', 'message.number', 'message.customer_id', 'message.email_key', 'run.campaign'])
    .select(['message.sent_at', 'message.first_tried_at'])
    .where('message.user_id', '!=', ERASED_USER)
    .execute()
  return rows.map((row) => ({
    run: row.run,
    message: row.number,
    campaign: row.campaign,
    customerId: row.customer_id,
    emailKey: row.email_key,
    at: row.sent_at ?? row.first_tried_at,
  }))
}
