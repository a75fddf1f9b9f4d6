// What a person decides about messages in doubt: to send them again, or to give them up ("in-doubt").
import { v7 as newRequestId } from 'uuid'
import type { ChangeContext } from '../../core/accounts/audit.ts'
import { AppError } from '../../core/app-error.ts'
import { deliveryPartitionKey, type DeliveryBody } from '../../core/delivery/delivery-entry.ts'
import type { LogWriter } from '../../log/event-log.ts'
import type { StoredCampaign } from '../../store/campaigns/campaigns.ts'
import { changeDeliveryState, lockDelivery, type StoredDelivery } from '../../store/delivery/deliveries.ts'
import { listDoubtful, queueDoubtful, type DoubtfulSearch } from '../../store/delivery/doubtful-messages.ts'
import type { RunMessage } from '../../store/delivery/messages.ts'
import { beginPhase, findRun, type Run } from '../../store/delivery/runs.ts'
import { findSenderByNumber, keepSenders } from '../../store/senders/senders.ts'
import type { Database, Store } from '../../store/store.ts'
import { findTemplates, lockTemplates } from '../../store/templates/templates.ts'
import { recordChange } from '../audit/record-change.ts'
import { findShownDelivery, wrongState } from './shown-deliveries.ts'

/** Messages that are changed at once: another writer waits for it. */
const DOUBTFUL_PER_STEP = 1_000

/** Which messages in doubt somebody decides about. */
export interface DoubtDecision extends Pick<DoubtfulSearch, 'numbers'> {
  readonly campaign: Pick<StoredCampaign, 'id' | 'name'>
  readonly by: ChangeContext
}

/**
 * Queues the messages of a run in doubt again, each portion in one transaction in which the campaign runs again. A repeat changes
 * nothing. Throws AppError `conflict` if the campaign was cancelled, or its sender or one of its templates was deleted.
 */
export async function sendAgain(database: Database, run: Run, decision: DoubtDecision): Promise<void> {
  const { numbers } = decision
  for (let queued = DOUBTFUL_PER_STEP; queued === DOUBTFUL_PER_STEP;) {
    queued = await database.write(async (store) => {
      // In this order, as the start of a campaign does: nobody deletes what it uses before it is running.
      await lockTemplates(store, run.workspaceId)
      await keepSenders(store)
      // Before the messages, as the end of a run does.
      await lockDelivery(store, run.campaign)
      const shown = await findShownDelivery(store, run.campaign)
      if (shown?.stored.state === 'cancelled') throw wrongState(shown, 'Its messages cannot be sent again.')
      const count = await queueDoubtful(store, run.number, { numbers, max: DOUBTFUL_PER_STEP })
      if (count === 0) return 0
      if (shown) await refuseDeleted(store, run, shown.stored)
      await changeDeliveryState(store, run.campaign, { to: 'running', from: ['finished'] })
      if ((await findRun(store, run.number))?.phase === 'finished') await beginPhase(store, run.number, 'sending')
      await recordDecision(store, decision, { in_doubt: 'send_again', messages: count })
      return count
    })
    await database.yieldToWriters()
  }
}

/** Throws AppError `conflict` if something was deleted without which the messages cannot be sent. */
async function refuseDeleted(store: Store, run: Run, { pinned }: StoredDelivery): Promise<void> {
  const templates = (pinned ?? []).flatMap(({ template, members }) => [template, ...members])
  const ids = [...new Set(templates.map(({ externalTemplateId }) => externalTemplateId))]
  const hasTemplates = (await findTemplates(store, run.workspaceId, ids)).length === ids.length
  if (hasTemplates && (await findSenderByNumber(store, run.sender))) return
  const deleted = hasTemplates ? 'The sender of the campaign' : 'A template of the campaign'
  throw new AppError('conflict', `${deleted} was deleted, so the messages can only be given up.`)
}

/** Each portion has an entry. */
function recordDecision(store: Store, { campaign, by }: DoubtDecision, after: object): Promise<void> {
  const { id, name } = campaign
  return recordChange(store, by, { kind: 'campaign', id, name, action: 'decide_in_doubt', after })
}

interface GivenUpSources {
  readonly database: Database
  readonly log: Pick<LogWriter, 'append'>
  /** Milliseconds since the epoch; see `core/receipt-clock.ts`. */
  readonly receiptClock: () => number
  /** Waits until the pipeline has applied everything in the log. */
  readonly untilApplied: () => Promise<void>
}

/**
 * Tells the log that messages in doubt have failed, and waits until the tables say so. A repeat changes nothing. Throws AppError
 * `unavailable` if the pipeline takes too long.
 */
export async function giveUp(
  { database, log, receiptClock, untilApplied }: GivenUpSources,
  run: Run,
  decision: DoubtDecision,
): Promise<void> {
  for (let found = DOUBTFUL_PER_STEP; found === DOUBTFUL_PER_STEP;) {
    // The log cannot take part in a transaction: a crash behind this one leaves a decision that a repeat carries out.
    const doubtful = await database.write(async (store) => {
      const listed = await listDoubtful(store, run.number, { numbers: decision.numbers, max: DOUBTFUL_PER_STEP })
      if (listed.length > 0) await recordDecision(store, decision, { in_doubt: 'give_up', messages: listed.length })
      return listed
    })
    found = doubtful.length
    if (found === 0) return
    await log.append({ ...toEntry(run, doubtful, decision.by.now), receivedAt: receiptClock() })
    await untilApplied()
  }
}

function toEntry({ number, campaign, workspaceId, evaluatedAt }: Run, messages: readonly RunMessage[], now: number) {
  const events = messages.map(({ number: message, customerId }) => {
    return { message, customer_id: customerId, at: now, claim: null, kind: 'failed', reason: 'in_doubt' } as const
  })
  const body: DeliveryBody = { run: number, evaluated_at: evaluatedAt, events }
  return {
    kind: 'svc_delivery',
    workspaceId,
    requestId: newRequestId(),
    context: { campaign },
    body: Buffer.from(JSON.stringify(body)),
    events: events.length,
    partitionKey: deliveryPartitionKey(campaign),
  } as const
}
