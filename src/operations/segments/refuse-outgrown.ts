// Refuses a change of a segment with which others would become too large: segments that name it, and audiences of started campaigns.
import { AppError } from '../../core/app-error.ts'
import { ExpandedSizes, ownSizeOf, type OwnSize } from '../../core/segments/expanded-sizes.ts'
import { EXPANDED_LEAVES_MAX } from '../../core/segments/expand-segments.ts'
import { findCampaignByNumber } from '../../store/campaigns/campaigns.ts'
import { listAudiencesNaming, listSegmentsOf, type Segment } from '../../store/segments/segments.ts'
import type { Store } from '../../store/store.ts'

/** Conditions are read in such portions, because each may have 128 KiB. */
const SEGMENTS_AT_ONCE = 50
/** The most that an error names. */
const NAMED_MAX = 5

/** Call it under `lockSegments`. Throws AppError `conflict`, which names what would become too large. */
export async function refuseOutgrown(store: Store, changed: Segment, after: Segment): Promise<void> {
  const { names, own } = await readSizes(store, changed)
  const leavesBefore = new ExpandedSizes(own, changed.id).of(changed.id).leaves
  own.set(after.id, ownSizeOf(after.condition))
  const sizes = new ExpandedSizes(own, changed.id)
  if (sizes.of(changed.id).leaves <= leavesBefore) return
  const concerned = [...own.keys()].filter((id) => sizes.of(id).isConcerned)
  const segments = concerned.filter((id) => sizes.of(id).leaves > EXPANDED_LEAVES_MAX)
  if (segments.length > 0) {
    const quoted = segments.map((id) => JSON.stringify(names.get(id)))
    throw tooLarge('segments', quoted)
  }
  const campaigns = await findOutgrownCampaigns(store, changed, { sizes, concerned })
  if (campaigns.length > 0) throw tooLarge('audiences of the campaigns', campaigns)
}

/** The names and sizes of all segments of a workspace, by their ids. */
async function readSizes(store: Store, { workspaceId }: Segment) {
  const names = new Map<string, string>()
  const own = new Map<string, OwnSize>()
  for (let before: number | undefined, isLast = false; !isLast;) {
    const segments = await listSegmentsOf(store, workspaceId, { before, max: SEGMENTS_AT_ONCE })
    for (const { id, name, condition } of segments) {
      names.set(id, name)
      own.set(id, ownSizeOf(condition))
    }
    before = segments.at(-1)?.number
    isLast = segments.length < SEGMENTS_AT_ONCE
  }
  return { names, own }
}

interface Concerned {
  readonly sizes: ExpandedSizes
  /** The ids of the segment and of those that name it. */
  readonly concerned: readonly string[]
}

/** The ids of started campaigns whose audience has too many leaves, enough of them for an error. */
async function findOutgrownCampaigns(
  store: Store,
  { workspaceId }: Segment,
  { sizes, concerned }: Concerned,
): Promise<string[]> {
  const outgrown = new Set<string>()
  for (const id of concerned) {
    for await (const { campaign, audience } of listAudiencesNaming(store, { id, workspaceId })) {
      const parts = [...audience.include, ...audience.exclude]
      const own = parts.map((part) => (typeof part === 'string' ? { leaves: 1, named: [part] } : ownSizeOf(part)))
      if (sizes.sum(own).leaves <= EXPANDED_LEAVES_MAX) continue
      outgrown.add((await findCampaignByNumber(store, campaign))?.id ?? '')
      if (outgrown.size > NAMED_MAX) return [...outgrown]
    }
  }
  return [...outgrown]
}

function tooLarge(what: string, all: readonly string[]): AppError {
  const named = all.slice(0, NAMED_MAX).join(', ') + (all.length > NAMED_MAX ? ' and others' : '')
  const limit = `more than ${EXPANDED_LEAVES_MAX} conditions, with those of the segments that they name`
  return new AppError('conflict', `These ${what} name the segment and would have ${limit}: ${named}.`)
}
