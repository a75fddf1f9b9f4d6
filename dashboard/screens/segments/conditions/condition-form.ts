// A condition as the editor holds it: what is typed, also while it is not complete, and conversion from and to conditions of the API.
import type { SegmentCondition, SegmentLeaf } from '../../../../src/core/segments/condition.ts'
import { fromLeaf, toLeaf, type LeafForm } from './leaf-form.ts'

/** `none`: `not` over all of them. */
export type GroupJoin = 'all' | 'any' | 'none'

export interface GroupForm {
  readonly kind: 'group'
  readonly join: GroupJoin
  readonly parts: readonly PartForm[]
}

export type PartForm = GroupForm | LeafForm

export const NO_CONDITIONS: GroupForm = { kind: 'group', join: 'all', parts: [] }

/** The root of the editor is a group, also for a condition that is a single leaf. */
export function fromCondition(condition: SegmentCondition): GroupForm {
  const form = fromPart(condition)
  return form.kind === 'group' ? form : { ...NO_CONDITIONS, parts: [form] }
}

function fromPart(condition: SegmentCondition): PartForm {
  if ('all' in condition) return { kind: 'group', join: 'all', parts: condition.all.map(fromPart) }
  if ('any' in condition) return { kind: 'group', join: 'any', parts: condition.any.map(fromPart) }
  if (!('not' in condition)) return fromLeaf(condition)
  const { not } = condition
  return { kind: 'group', join: 'none', parts: 'any' in not ? not.any.map(fromPart) : [fromPart(not)] }
}

/** What has been typed so far. The server says what is missing. */
export function writeCondition({ join, parts }: GroupForm): SegmentCondition {
  const conditions = parts.map((part) => (part.kind === 'group' ? writeCondition(part) : (toLeaf(part) as SegmentLeaf)))
  switch (join) {
    case 'all':
      return { all: conditions }
    case 'any':
      return { any: conditions }
    case 'none': {
      const [only] = conditions
      return { not: only && conditions.length === 1 ? only : { any: conditions } }
    }
  }
}

/** Where a part stands in the condition that `writeCondition` makes, as faults of the server name it. */
export function pathOfPart({ join, parts }: GroupForm, path: string, index: number): string {
  if (join !== 'none') return `${path}.${join}[${index}]`
  return parts.length === 1 ? `${path}.not` : `${path}.not.any[${index}]`
}

export function countLeaves({ parts }: GroupForm): number {
  return parts.reduce((sum, part) => sum + (part.kind === 'group' ? countLeaves(part) : 1), 0)
}
