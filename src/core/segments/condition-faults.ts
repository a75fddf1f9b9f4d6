// Finds every fault of a condition that needs no store ("Segments"): its shape, limits, names, values and instants.
import type { Fault } from '../app-error.ts'
import { inDigits } from '../in-digits.ts'
import { FaultList, type SentObject } from './fault-list.ts'
import { checkLeaf, LEAF_KINDS, type LeafKind, type LeafSettings } from './leaf-faults.ts'
import { isObject } from '../users/user.ts'

/** The most nodes (`all`, `any`, `not`) between the root and a leaf. */
export const DEPTH_MAX = 5
export const LEAVES_MAX = 50
/** The most characters of a condition as JSON: a page of segments has many. */
export const CONDITION_LENGTH_MAX = 131_072

const NODE_KINDS = ['all', 'any', 'not'] as const
const KINDS: readonly string[] = [...NODE_KINDS, ...LEAF_KINDS]

/** `field` is the path of the condition. A condition without faults is a `SegmentCondition`. */
export function conditionFaults(condition: unknown, field: string, settings: LeafSettings): Fault[] {
  const check = new ConditionCheck(settings)
  check.visit(condition, field, 0)
  const { faults } = check
  if (check.leaves > LEAVES_MAX) faults.add(field, `must have at most ${LEAVES_MAX} conditions, not ${check.leaves}`)
  if (!faults.isFull && JSON.stringify(condition).length > CONDITION_LENGTH_MAX) {
    faults.add(field, `must have at most ${inDigits(CONDITION_LENGTH_MAX)} characters as JSON`)
  }
  return faults.all
}

class ConditionCheck {
  readonly faults = new FaultList()
  readonly #settings: LeafSettings
  leaves = 0

  constructor(settings: LeafSettings) {
    this.#settings = settings
  }

  /** `above`: the number of nodes above. Checks no more nodes or leaves than the limits allow. */
  visit(sent: unknown, field: string, above: number): void {
    if (this.faults.isFull) return
    if (!isObject(sent)) return this.faults.add(field, 'must be a condition, which is an object')
    const kind = this.faults.exactlyOne(sent, field, KINDS)
    if (kind === 'all' || kind === 'any' || kind === 'not') this.#visitNode(sent, kind, { field, above })
    else this.#visitLeaf(sent, field, kind as LeafKind | undefined)
  }

  #visitNode(
    sent: SentObject,
    kind: (typeof NODE_KINDS)[number],
    { field, above }: { readonly field: string; readonly above: number },
  ): void {
    this.faults.object(sent, field, [kind])
    const inner = `${field}.${kind}`
    if (above >= DEPTH_MAX) return this.faults.add(field, `must not be nested in more than ${DEPTH_MAX} levels`)
    if (kind === 'not') return this.visit(sent[kind], inner, above + 1)
    const parts = this.faults.list(sent[kind], inner, { max: LEAVES_MAX })
    for (const [index, part] of parts.entries()) this.visit(part, `${inner}[${index}]`, above + 1)
  }

  #visitLeaf(sent: SentObject, field: string, kind: LeafKind | undefined): void {
    this.leaves++
    if (kind !== undefined && this.leaves <= LEAVES_MAX) checkLeaf(this.faults, { sent, field, kind }, this.#settings)
  }
}
