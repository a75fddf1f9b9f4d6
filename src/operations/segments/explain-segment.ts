// Explain segment: tells whether one person is in a segment, and the verdict of each of its conditions.
import { Type } from 'typebox'
import { listLeaves, type SegmentCondition } from '../../core/segments/condition.ts'
import { holdsFor } from '../../core/segments/holds-for.ts'
import { CUSTOMER_ID } from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findPerson } from '../../store/segments/find-person.ts'
import { prepareRule } from '../../store/segments/matches.ts'
import { resolveCondition } from '../../store/segments/resolve-condition.ts'
import type { Store } from '../../store/store.ts'
import { findUser } from '../../store/users/users.ts'
import { runOnceApplied } from '../applied-entries.ts'
import { CustomerId, NoFields, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { noSuchUser } from '../users/user-lookup.ts'
import { storedWhereFaults } from './require-condition.ts'
import { findNamedCondition, namedConditionFaults, type FoundCondition } from './require-segment.ts'
import { SegmentId, Where, WHERE_EXAMPLE, whereFaults } from './segment-body.ts'

export const explainSegment = defineOperation({
  name: 'explain_segment',
  summary: 'Explain segment',
  description:
    'Tells whether a condition, or that of a segment, holds for one person now, and for each condition in it whether ' +
    'that holds. A condition on another segment has one verdict; explain that segment to see those of its own conditions. ' +
    'The response is 409 if the person has too many events to examine them for one request.',
  group: 'Segments',
  method: 'POST',
  isReadOnly: true,
  url: '/core-services/v1/segments/explain',
  requires: 'segments.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: NoFields,
  body: Strict({
    customer_id: CustomerId,
    where: Type.Optional(Where),
    segment_id: Type.Optional(SegmentId),
  }),
  example: { customer_id: 'customer-17', where: WHERE_EXAMPLE },
  faults: ({ workspace, body }) => [...namedConditionFaults(body), ...whereFaults(body?.where, workspace)],
  storedFaults: ({ workspace, body }, store) => storedWhereFaults(store, workspace, body?.where),
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: Type.Object({
    customer_id: Type.String(),
    in: Type.Boolean({ description: 'Whether the whole condition holds.' }),
    conditions: Type.Array(
      Type.Object({
        path: Type.String({ description: 'Where the condition stands, such as `where.all[1]`.' }),
        condition: Where,
        holds: Type.Boolean(),
      }),
    ),
  }),
  outputExample: {
    customer_id: 'customer-17',
    in: false,
    conditions: [
      { path: 'where.all[0]', condition: WHERE_EXAMPLE.all[0], holds: true },
      { path: 'where.all[1]', condition: WHERE_EXAMPLE.all[1], holds: false },
      { path: 'where.all[2].not', condition: { preference: { opt_in_status: ['OPTED_OUT'] } }, holds: false },
    ],
  },
  // The facts of one person may take megabytes, so each workspace explains one person at a time.
  handle: ({ workspace, body, now }, parts) =>
    runOnceApplied(parts, () => {
      const { database, queue } = parts
      const work = async () => {
        const condition = await findNamedCondition(database, workspace, body)
        const verdicts = await explain(database, { ...condition, workspace, now, customerId: body.customer_id })
        return { customer_id: body.customer_id, ...verdicts }
      }
      return queue.run(`explanations of segments ${workspace.id}`, work, workspace.limits.management_per_minute)
    }),
})

interface Question extends FoundCondition {
  readonly workspace: Workspace
  readonly now: number
  readonly customerId: string
}

async function explain(store: Store, { workspace, sent, resolved, now, customerId }: Question) {
  const user = await findUser(store, workspace.id, { name: CUSTOMER_ID, value: customerId })
  if (!user) throw noSuchUser()
  const toRule = (condition: SegmentCondition) => prepareRule(store, { workspace, condition, now })
  const rule = await toRule(resolved)
  const person = await findPerson(store, user, rule)
  const conditions = []
  for (const { path, leaf } of listLeaves(sent, 'where')) {
    const { condition } = await resolveCondition(store, workspace.id, leaf, { field: path })
    conditions.push({ path, condition: { ...leaf }, holds: holdsFor(await toRule(condition), person) })
  }
  return { in: holdsFor(rule, person), conditions }
}
