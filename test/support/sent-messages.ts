// Runs and messages as the engine leaves them, for tests of what happens to messages afterwards.
import type { Store } from '../../src/store/store.ts'

export interface SentMessage {
  readonly run: number
  readonly number: number
  readonly customerId: string
  readonly emailKey: string
  readonly userId?: number
  readonly state?: string
  /** Undefined: never tried. */
  readonly sentAt: number | undefined
}

/** Adds a run of a campaign that is over. */
export async function addRun(
  { query }: Store,
  run: { readonly number: number; readonly campaign: number; readonly workspaceId: string; readonly at: number },
): Promise<void> {
  const { number, campaign, workspaceId, at } = run
  const times = { evaluated_at: at, started_at: at, finished_at: at }
  const counts = { frozen_through: 0, told_through: 0, without_address: 0, is_capped: 0, last_user: 0 }
  const row = {
    number,
    campaign,
    workspace_id: workspaceId,
    sender: 1,
    phase: 'finished',
    content: '{"linksBefore":[]}',
    condition: '{}',
  }
  await query
    .insertInto('runs')
    .values({ ...row, ...times, ...counts })
    .execute()
}

export async function addMessage({ query }: Store, message: SentMessage): Promise<void> {
  const { run, number, customerId, emailKey, userId = 1, state = 'sent', sentAt } = message
  const identity = { run, number, user_id: userId, customer_id: customerId, email_key: emailKey }
  const group = { audience_group: 'target', variation: 'A', locale: null, state, reason: null, targets: null }
  const triedAt = sentAt ?? null
  const times = { next_at: 0, claimed_at: triedAt, first_tried_at: triedAt, attempted_at: null, sent_at: triedAt }
  await query
    .insertInto('messages')
    .values({ ...identity, ...group, ...times, claim: 1 })
    .execute()
}
