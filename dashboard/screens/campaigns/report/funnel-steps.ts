// The steps of the delivery funnel: from the audience, reason by reason, to those who were sent a message.
import { FUNNEL_REMOVALS } from '../../../../src/core/campaigns/funnel-removals.ts'
import type { VariationBody } from '../../../../src/operations/statistics/campaign-stats-body.ts'

export type StepName = 'reachable_users_in_segment' | keyof typeof FUNNEL_REMOVALS | 'sent'

/** A number that is left, or one that is taken away. */
export type FunnelStep =
  | { readonly kind: 'left'; readonly name: StepName; readonly units: number }
  | { readonly kind: 'reason'; readonly reason: string; readonly units: number }
  | { readonly kind: 'pending'; readonly units: number }

type Funnel = Pick<VariationBody, 'delivery_funnel' | 'failure_breakdown'>

/** Steps that take nobody away are left out, as are the numbers after them. */
export function toFunnelSteps({ delivery_funnel: funnel, failure_breakdown: failures }: Funnel): FunnelStep[] {
  const known = new Set<string>(Object.values(FUNNEL_REMOVALS).flat())
  const taken = (reasons: readonly string[]) =>
    reasons
      .map((reason) => ({ kind: 'reason', reason, units: failures[reason] ?? 0 }) as const)
      .filter(({ units }) => units > 0)
      .toSorted((left, right) => right.units - left.units)
  const left = (name: StepName) => ({ kind: 'left', name, units: funnel[name] }) as const
  const early = Object.entries(FUNNEL_REMOVALS).flatMap(([name, reasons]) => {
    const removed = taken(reasons)
    return removed.length > 0 ? [...removed, left(name as keyof typeof FUNNEL_REMOVALS)] : []
  })
  const late = taken(Object.keys(failures).filter((reason) => !known.has(reason)))
  const { pending } = funnel
  const waiting = pending > 0 ? [{ kind: 'pending', units: pending } as const] : []
  return [left('reachable_users_in_segment'), ...early, ...late, ...waiting, left('sent')]
}

/** The audience, then everything that is taken away from it. */
export function termsOf(steps: readonly FunnelStep[]): number[] {
  return steps.flatMap((step, index) => (index === 0 || step.kind !== 'left' ? [step.units] : []))
}

/** How many are left after each step: where the bar of what it takes away begins. */
export function restsOf(steps: readonly FunnelStep[]): number[] {
  let rest = steps[0]?.units ?? 0
  return steps.map((step) => (step.kind === 'left' ? rest : (rest -= step.units)))
}

/** Whether the audience without everything that is taken away is what was sent. */
export function addsUp(steps: readonly FunnelStep[]): boolean {
  const [audience = 0, ...taken] = termsOf(steps)
  return audience - taken.reduce((sum, units) => sum + units, 0) === steps.at(-1)?.units
}
