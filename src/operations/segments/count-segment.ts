// Count segment: tells how many users a condition holds for now, and how many of them could be sent a mail.
import { Type } from 'typebox'
import { countMatches, sampleMatches, type MatchSearch, type MatchSlice } from '../../store/segments/matches.ts'
import type { Store } from '../../store/store.ts'
import { FIRST_SLICE, nextSliceSize } from '../../core/segments/slice-size.ts'
import { NoFields, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { storedWhereFaults } from './require-condition.ts'
import { findNamedCondition, namedConditionFaults } from './require-segment.ts'
import { SegmentId, Where, WHERE_EXAMPLE, whereFaults } from './segment-body.ts'

/** The customer ids that are shown. */
const SAMPLE_MAX = 20

export const countSegment = defineOperation({
  name: 'count_segment',
  summary: 'Count users of a segment',
  description:
    'Counts the users for whom a condition, or that of a segment, holds now. The numbers are exact: the same statement ' +
    'decides who is in the audience of a campaign. Merged users count once. A million users take some seconds; other ' +
    'requests are answered meanwhile.',
  group: 'Segments',
  method: 'POST',
  isReadOnly: true,
  url: '/core-services/v1/segments/count',
  requires: 'segments.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: NoFields,
  body: Strict({ where: Type.Optional(Where), segment_id: Type.Optional(SegmentId) }),
  example: { where: WHERE_EXAMPLE },
  faults: ({ workspace, body }) => [...namedConditionFaults(body), ...whereFaults(body?.where, workspace)],
  storedFaults: ({ workspace, body }, store) => storedWhereFaults(store, workspace, body?.where),
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    users: Type.Integer({ description: 'For whom the condition holds.' }),
    with_address: Type.Integer({
      description: 'Of these, those with an email address and a customer id, without which nobody can be sent to.',
    }),
    sendable: Type.Integer({
      description:
        'Of these, those who are opted in (`OPTED_IN`, `DOUBLE_OPTED_IN`) and whose address is not suppressed.',
    }),
    sample: Type.Array(Type.String(), { description: `The customer ids of up to ${SAMPLE_MAX} of the users.` }),
  }),
  outputExample: { users: 1824, with_address: 1790, sendable: 1502, sample: ['customer-17', 'customer-42'] },
  // One count at a time for each workspace: it keeps a database busy for seconds.
  handle({ workspace, body, now }, { database, queue }) {
    const work = async () => {
      const { resolved: condition } = await findNamedCondition(database, workspace, body)
      return count(database, { workspace, condition, now })
    }
    return queue.run(`counts of segments ${workspace.id}`, work, workspace.limits.management_per_minute)
  },
})

async function count(store: Store, search: MatchSearch) {
  const sum = { users: 0, with_address: 0, sendable: 0 }
  const sample: string[] = []
  let max = FIRST_SLICE
  for (let after: number | undefined = 0; after !== undefined;) {
    const slice: MatchSlice = { ...search, after, max }
    const begunAt = performance.now()
    const counted = await countMatches(store, slice)
    max = nextSliceSize(max, performance.now() - begunAt)
    sum.users += counted.users
    sum.with_address += counted.withAddress
    sum.sendable += counted.sendable
    const missing = SAMPLE_MAX - sample.length
    if (counted.users > 0 && missing > 0) sample.push(...(await sampleMatches(store, slice, missing)))
    after = counted.next
  }
  return { ...sum, sample }
}
