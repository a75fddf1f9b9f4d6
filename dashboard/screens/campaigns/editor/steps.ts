// The steps of the editor of a campaign, and to which of them a fault of the server belongs.
import type { Fault } from '../../../../src/core/app-error.ts'

export const EDITOR_STEPS = ['audience', 'content', 'goals', 'schedule', 'review'] as const
export type EditorStep = (typeof EDITOR_STEPS)[number]

export function toStep(text: string | undefined): EditorStep {
  return EDITOR_STEPS.find((step) => step === text) ?? 'audience'
}

/** Beginnings of the paths of a body → step. The first that fits counts. */
const PLACES: readonly (readonly [beginning: string, step: EditorStep])[] = [
  ['delivery.sender_id', 'content'],
  ['delivery.variations', 'content'],
  ['delivery.tracking', 'content'],
  ['delivery.coupons_when_empty', 'content'],
  ['delivery.start_at', 'schedule'],
  ['delivery.give_up_after_hours', 'schedule'],
  ['delivery.grace_hours', 'schedule'],
  ['delivery.capped', 'schedule'],
  ['conversion_goals', 'goals'],
  ['name', 'audience'],
  ['delivery.', 'audience'],
]

/** Undefined if no step can mend it. */
export function stepOfFault({ field }: Fault): EditorStep | undefined {
  return PLACES.find(([beginning]) => field.startsWith(beginning))?.[1]
}
