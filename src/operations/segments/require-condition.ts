// Checks a condition against the store: whether the segments and campaigns that it names exist.
import { invalidRequest, type Fault } from '../../core/app-error.ts'
import type { SegmentCondition } from '../../core/segments/condition.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findCampaignFaults } from '../../store/segments/campaign-faults.ts'
import { resolveCondition, type ConditionPlace } from '../../store/segments/resolve-condition.ts'
import type { Store } from '../../store/store.ts'
import { toCondition, whereFaults } from './segment-body.ts'

const WHERE: ConditionPlace = { field: 'where' }

/** The condition without names of segments. Throws AppError `invalid_request` with every fault that the store finds. */
export async function requireCondition(
  store: Store,
  workspace: Workspace,
  condition: SegmentCondition,
  place = WHERE,
): Promise<SegmentCondition> {
  const resolved = await resolveCondition(store, workspace.id, condition, place)
  const faults = [...resolved.faults, ...(await findCampaignFaults(store, workspace.id, condition, WHERE.field))]
  if (faults.length > 0) throw invalidRequest(faults)
  return resolved.condition
}

/** The faults that the store finds in a condition as sent; none while it has others, because those may hide what it names. */
export async function storedWhereFaults(store: Store, workspace: Workspace, where: unknown): Promise<readonly Fault[]> {
  if (where === undefined || whereFaults(where, workspace).length > 0) return []
  const condition = toCondition(where as Readonly<Record<string, unknown>>)
  const { faults } = await resolveCondition(store, workspace.id, condition, WHERE)
  return [...faults, ...(await findCampaignFaults(store, workspace.id, condition, WHERE.field))]
}
