// Finds what the pipeline stores while a message is sent: a quick reader may follow a link before that is applied.
import { runOnceApplied } from '../../operations/applied-entries.ts'
import type { Parts } from '../../operations/operation.ts'
import { NOTHING_HERE } from '../answers/error-answer.ts'

/** What `find` finds; if that is nothing, waits for entries that were acknowledged and asks once more. Rejects as `runOnceApplied`. */
export function findOnceApplied<Found>(
  { appliedEntries }: Pick<Parts, 'appliedEntries'>,
  find: () => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const require = async () => {
    const found = await find()
    if (found === undefined) throw NOTHING_HERE
    return found
  }
  return runOnceApplied({ appliedEntries }, require).catch((error: unknown) => {
    if (error === NOTHING_HERE) return undefined
    throw error
  })
}
