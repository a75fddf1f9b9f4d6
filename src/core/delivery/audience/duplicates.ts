// Which of several messages of a run to one address is sent ("Freeze").
import { compareTexts, type Group } from '../../campaigns/facts.ts'
import type { MessageState } from '../message-state.ts'

/** One message of a run, among all to the same address. */
export interface SameAddress {
  readonly number: number
  readonly customerId: string
  readonly group: Group
  readonly state: MessageState
}

/**
 * The numbers of those that are removed as duplicates. Of the targets that are not removed for an earlier reason, the one with the
 * lowest customer id stays. If a control group has the address, none stays: whoever reads the mail would be in the control group too.
 */
export function chooseDuplicates(messages: readonly SameAddress[]): number[] {
  const targets = messages.filter(({ group, state }) => group === 'target' && state !== 'removed')
  const isControl = messages.some(({ group }) => group !== 'target')
  const [first] = targets.toSorted((left, right) => compareTexts(left.customerId, right.customerId))
  const staying = isControl ? undefined : first
  return targets.filter((message) => message !== staying).map(({ number }) => number)
}
