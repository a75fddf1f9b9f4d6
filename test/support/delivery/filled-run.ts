// A run as the processes that send leave it, for tests of what reads and changes messages afterwards.
import type { MessageState } from '../../../src/core/delivery/message-state.ts'
import type { MessageProgress } from '../../../src/core/delivery/apply-event.ts'
import { changeDeliveryState, findDelivery } from '../../../src/store/delivery/deliveries.ts'
import { saveProgress } from '../../../src/store/delivery/message-progress.ts'
import { addMessages, type FrozenMessage } from '../../../src/store/delivery/messages.ts'
import { beginPhase, endRun, saveFrozenSlice, startRun, type RunPhase } from '../../../src/store/delivery/runs.ts'
import type { Database } from '../../../src/store/store.ts'

/** A message with what its test is about. */
export interface FilledMessage extends Partial<FrozenMessage>, Partial<Omit<MessageProgress, 'state' | 'reason'>> {
  readonly state: MessageState
  readonly customerId: string
  readonly userId: number
}

export interface FilledRun {
  readonly campaign: number
  readonly at: number
  readonly phase: RunPhase
  readonly messages: readonly FilledMessage[]
}

/** Adds the run of a started campaign, with its messages numbered from 1; returns its number. A finished run ends the campaign. */
export async function fillRun(database: Database, { campaign, at, phase, messages }: FilledRun): Promise<number> {
  return database.write(async (store) => {
    const delivery = await findDelivery(store, campaign)
    if (!delivery) throw new Error(`campaign ${campaign} has no delivery`)
    const { workspaceId, sender } = delivery
    const audience = {
      evaluatedAt: at,
      startedAt: at,
      lastUser: 0,
      isCapped: true,
      content: { linksBefore: [] },
      condition: { any: [] },
    }
    const run = await startRun(store, { campaign, workspaceId, sender: sender ?? 0, ...audience }, [])
    const frozen = messages.map((message, index) => toFrozen(message, run, index + 1))
    await addMessages(store, frozen)
    await saveProgress(
      store,
      frozen.map((message, index) => ({ ...message, ...NOT_TRIED, ...messages[index], ...toKey(message) })),
    )
    await saveFrozenSlice(store, run, { through: 0, withoutAddress: 1 })
    if (phase !== 'finished') await beginPhase(store, run, phase)
    else {
      await endRun(store, run, at)
      await changeDeliveryState(store, campaign, { to: 'finished' })
    }
    return run
  })
}

const NOT_TRIED = {
  nextAt: 0,
  claim: null,
  claimedAt: null,
  firstTriedAt: null,
  attemptedAt: null,
  sentAt: null,
  targets: null,
}

function toFrozen(
  { state, customerId, userId, ...message }: FilledMessage,
  run: number,
  number: number,
): FrozenMessage {
  const { group = 'target', variation = 'A', locale = null, reason = null } = message
  const emailKey = message.emailKey ?? `${customerId}@shop.example`
  return { run, number, userId, customerId, emailKey, group, variation, locale, state, reason }
}

function toKey({ run, number, reason }: FrozenMessage) {
  return { run, number, reason }
}
