// How many random cases a property test checks. The ordinary run checks few: each run draws others. PROPERTY_RUNS=10 checks ten times as
// many, after a change of what a property is about.

const FACTOR = Number(process.env['PROPERTY_RUNS'] ?? 1)

export function propertyRuns(ordinary: number): number {
  return Math.ceil(ordinary * FACTOR)
}
