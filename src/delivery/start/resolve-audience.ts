// Replaces the segments that an audience names by their conditions, as the freeze of a run will, and finds what keeps it from that.
import type { Fault } from '../../core/app-error.ts'
import { audienceCondition } from '../../core/delivery/audience/audience-condition.ts'
import type { AudiencePart, Delivery } from '../../core/delivery/delivery.ts'
import type { Expansion } from '../../core/segments/expand-segments.ts'
import { findCampaignFaults } from '../../store/segments/campaign-faults.ts'
import { resolveCondition } from '../../store/segments/resolve-condition.ts'
import type { Store } from '../../store/store.ts'

const FIELD = 'delivery.audience'

/**
 * The condition of the whole audience, or the faults: unknown segments, also inside others, and too many conditions in a part or in
 * all of them.
 */
export async function resolveAudience(
  store: Store,
  workspaceId: string,
  audience: Delivery['audience'],
): Promise<Expansion> {
  const ofParts: Fault[] = []
  for (const { part, field } of listParts(audience)) {
    const condition = typeof part === 'string' ? { segment: part } : part
    const { faults } = await resolveCondition(store, workspaceId, condition, { field })
    ofParts.push(...(typeof part === 'string' ? faults.map(({ problem }) => ({ field, problem })) : faults))
  }
  const whole = await resolveCondition(store, workspaceId, audienceCondition(audience), { field: FIELD })
  return { condition: whole.condition, faults: ofParts.length > 0 ? ofParts : whole.faults }
}

/** Unknown campaigns in the conditions of an audience. A start checks them; one that is deleted later has sent nobody anything. */
export async function findAudienceCampaignFaults(
  store: Store,
  workspaceId: string,
  audience: Delivery['audience'],
): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const { part, field } of listParts(audience)) {
    if (typeof part !== 'string') faults.push(...(await findCampaignFaults(store, workspaceId, part, field)))
  }
  return faults
}

function listParts(audience: Delivery['audience']): { readonly part: AudiencePart; readonly field: string }[] {
  return (['include', 'exclude'] as const).flatMap((name) => {
    return audience[name].map((part, index) => ({ part, field: `${FIELD}.${name}[${index}]` }))
  })
}
