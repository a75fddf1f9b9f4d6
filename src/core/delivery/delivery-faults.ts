// Finds faults of the member `delivery` that the schema cannot find ("A campaign with delivery").
import type { Fault } from '../app-error.ts'
import { textProblem } from '../bounded-text.ts'
import { dimensionNameProblem } from '../campaigns/report.ts'
import { inDigits } from '../in-digits.ts'
import { conditionFaults } from '../segments/condition-faults.ts'
import type { LeafSettings } from '../segments/leaf-faults.ts'
import { resolveStartTime, START_TIME_PROBLEM } from './start-time.ts'

/** The most parts of `include`, and of `exclude`. */
export const AUDIENCE_PARTS_MAX = 20
export const VARIATIONS_MAX = 5
const SEGMENT_ID_LENGTH_MAX = 256
/** The most characters of a delivery as JSON: lists of campaigns return many. */
export const DELIVERY_JSON_LENGTH_MAX = 65_536
/** Percentages have at most two decimals, so that shares can add up to exactly 100. */
const PERCENT_PARTS = 100
const WHOLE = 100 * PERCENT_PARTS

/** A delivery as sent: members of the wrong type are undefined, members not sent are absent. */
export interface SentDelivery {
  readonly audience?: SentAudience | undefined
  readonly variations?: readonly (SentVariation | undefined)[] | undefined
  readonly campaign_control_percent?: number | undefined
  readonly start_at?: string | null | undefined
}

interface SentAudience {
  readonly include?: readonly unknown[] | undefined
  readonly exclude?: readonly unknown[] | undefined
}

interface SentVariation {
  readonly name?: string | undefined
  readonly share?: number | undefined
}

/** Faults of a delivery, whose path is `field`. */
export function deliveryFaults(sent: SentDelivery, field: string, workspace: LeafSettings): Fault[] {
  const { audience, variations = [], campaign_control_percent: control, start_at: startAt } = sent
  const isNoTime = typeof startAt === 'string' && resolveStartTime(startAt, workspace.timezone) === undefined
  return [
    ...partFaults(audience?.include ?? [], `${field}.audience.include`, workspace),
    ...partFaults(audience?.exclude ?? [], `${field}.audience.exclude`, workspace),
    ...variationFaults(variations, `${field}.variations`),
    ...percentFaults(control, `${field}.campaign_control_percent`),
    ...(isNoTime ? [{ field: `${field}.start_at`, problem: START_TIME_PROBLEM }] : []),
    ...sizeFaults(sent, field),
  ]
}

function partFaults(parts: readonly unknown[], field: string, workspace: LeafSettings): Fault[] {
  return parts.flatMap((part, index) => {
    const at = `${field}[${index}]`
    if (typeof part !== 'string') return conditionFaults(part, at, workspace)
    const problem = textProblem(part, SEGMENT_ID_LENGTH_MAX)
    return problem === undefined ? [] : [{ field: at, problem }]
  })
}

function variationFaults(variations: readonly (SentVariation | undefined)[], field: string): Fault[] {
  const names = variations.map((variation) => variation?.name)
  const faults = variations.flatMap((variation, index) => {
    const at = `${field}[${index}]`
    const { name, share } = variation ?? {}
    return [...nameFaults(name, names.indexOf(name), { at, field, index }), ...percentFaults(share, `${at}.share`)]
  })
  return faults.length > 0 ? faults : sumFaults(variations, field)
}

function nameFaults(
  name: string | undefined,
  first: number,
  { at, field, index }: { readonly at: string; readonly field: string; readonly index: number },
): Fault[] {
  if (name === undefined) return []
  const taken = first === index ? undefined : `must be unique: ${field}[${first}] has the same name`
  const problem = taken ?? dimensionNameProblem(name)
  return problem === undefined ? [] : [{ field: `${at}.name`, problem }]
}

function percentFaults(percent: number | undefined, field: string): Fault[] {
  if (percent === undefined || toParts(percent) / PERCENT_PARTS === percent) return []
  return [{ field, problem: 'must have at most two decimals' }]
}

/** Only if every share is valid. */
function sumFaults(variations: readonly (SentVariation | undefined)[], field: string): Fault[] {
  const shares = variations.map((variation) => variation?.share)
  if (shares.length === 0 || shares.includes(undefined)) return []
  const sum = shares.reduce<number>((total, share) => total + toParts(share ?? 0), 0)
  if (sum === WHOLE) return []
  return [{ field, problem: `must have shares that add up to 100, not to ${sum / PERCENT_PARTS}` }]
}

function toParts(percent: number): number {
  return Math.round(percent * PERCENT_PARTS)
}

function sizeFaults(sent: SentDelivery, field: string): Fault[] {
  if (JSON.stringify(sent).length <= DELIVERY_JSON_LENGTH_MAX) return []
  return [{ field, problem: `must have at most ${inDigits(DELIVERY_JSON_LENGTH_MAX)} characters as JSON` }]
}
