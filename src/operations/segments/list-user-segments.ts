// List a user's segments: tells for each segment of the workspace whether one person is in it now.
import { setImmediate } from 'node:timers/promises'
import { Type } from 'typebox'
import { AppError } from '../../core/app-error.ts'
import { inDigits } from '../../core/in-digits.ts'
import { holdsFor } from '../../core/segments/holds-for.ts'
import type { Rule } from '../../core/segments/rule.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findPerson, PERSON_FACTS_MAX } from '../../store/segments/find-person.ts'
import { prepareRule } from '../../store/segments/matches.ts'
import { resolveCondition } from '../../store/segments/resolve-condition.ts'
import { listSegmentsOf, SEGMENTS_MAX, type Segment } from '../../store/segments/segments.ts'
import type { Store } from '../../store/store.ts'
import type { User } from '../../store/users/users.ts'
import { runOnceApplied } from '../applied-entries.ts'
import { Strict, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { findNamedUser, LOOKUP_FIELDS, lookupFaults, noSuchUser } from '../users/user-lookup.ts'

/** Conditions are read in such portions, because each may have 128 KiB. */
const SEGMENTS_AT_ONCE = 50

export const listUserSegments = defineOperation({
  name: 'list_user_segments',
  summary: "List a user's segments",
  description:
    'Returns all segments of the workspace, newest first, and whether the user is in each of them now. Identify the user by ' +
    '`customer_id`, or by `identifier_name` with `identifier_value`. `in` is null where that cannot be told: the user has more than ' +
    `${inDigits(PERSON_FACTS_MAX)} events that the segment asks for, or the segment has become too large by those that it names. ` +
    'Explain segment tells which conditions hold.',
  group: 'Segments',
  method: 'GET',
  url: '/v1/customer/:Workspace_ID/segments',
  requires: 'segments.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict(LOOKUP_FIELDS),
  body: null,
  faults: ({ query, workspace }) => lookupFaults(query, workspace, false),
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        segment_id: Type.String(),
        name: Type.String(),
        in: Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }),
      }),
      { maxItems: SEGMENTS_MAX },
    ),
  }),
  outputExample: {
    data: [
      { segment_id: '0198c0de-7a61-7bb1-9d0e-5f2a4c8b1e37', name: 'Returning customers', in: true },
      { segment_id: '0198c0dd-11f0-7c52-8a3b-2b9d6f1c7e04', name: 'Leads without consent', in: false },
    ],
  },
  // The facts of one person may take megabytes, so each workspace explains one person at a time.
  handle: ({ workspace, query, now }, parts) =>
    runOnceApplied(parts, () => {
      const work = async () => {
        const user = await findNamedUser(query, workspace, parts)
        if (!user) throw noSuchUser()
        return { data: await list(parts.database, { user, workspace, now }) }
      }
      return parts.queue.run(`explanations of segments ${workspace.id}`, work, workspace.limits.management_per_minute)
    }),
})

interface Question {
  readonly user: User
  readonly workspace: Workspace
  readonly now: number
}

async function list(store: Store, question: Question) {
  const data: { segment_id: string; name: string; in: boolean | null }[] = []
  for (let before: number | undefined, isLast = false; !isLast;) {
    const segments = await listSegmentsOf(store, question.workspace.id, { before, max: SEGMENTS_AT_ONCE })
    const rules = await findRules(store, segments, question)
    const verdicts = await judge(store, question.user, [...rules.values()])
    for (const { id, name } of segments) {
      const rule = rules.get(id)
      data.push({ segment_id: id, name, in: (rule && verdicts.get(rule)) ?? null })
    }
    before = segments.at(-1)?.number
    isLast = segments.length < SEGMENTS_AT_ONCE
  }
  return data
}

/** The id of a segment → its rule; none for segments that have become too large. */
async function findRules(
  store: Store,
  segments: readonly Segment[],
  { workspace, now }: Question,
): Promise<Map<string, Rule>> {
  const rules = new Map<string, Rule>()
  for (const { id, condition: sent } of segments) {
    const { condition, faults } = await resolveCondition(store, workspace.id, sent, { field: id })
    if (faults.length === 0) rules.set(id, await prepareRule(store, { workspace, condition, now }))
  }
  return rules
}

/** Reads the facts for all rules at once. If they are too many, each half by itself; a rule with too many alone has no verdict. */
async function judge(store: Store, user: User, rules: readonly Rule[]): Promise<Map<Rule, boolean>> {
  const verdicts = new Map<Rule, boolean>()
  if (rules.length === 0) return verdicts
  try {
    const person = await findPerson(store, user, { kind: 'all', rules })
    for (const rule of rules) {
      verdicts.set(rule, holdsFor(rule, person))
      // A rule may look at all facts for each of its conditions, so other requests get in between.
      await setImmediate()
    }
    return verdicts
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'conflict') throw error
  }
  if (rules.length === 1) return verdicts
  const middle = Math.floor(rules.length / 2)
  const halves = [await judge(store, user, rules.slice(0, middle)), await judge(store, user, rules.slice(middle))]
  return new Map(halves.flatMap((half) => [...half]))
}
