// Finds customer ids of reports for which users were created: a misspelt id looks like a new customer.
import type { Warning } from '../../core/app-error.ts'
import { EVENTS_PER_ENTRY_MAX } from '../../core/event.ts'
import { inDigits } from '../../core/in-digits.ts'
import type { ReportEntry, Subject } from '../batch.ts'
import type { ResolvedUsers } from '../resolve-users.ts'

/** The most new customer ids that a warning quotes. */
const QUOTED_MAX = 5

/** The customers of a report for whom users were created, in its order. */
export function createdCustomersOf(
  { subjects }: ReportEntry,
  { created }: Pick<ResolvedUsers, 'created'>,
): readonly Subject[] {
  return created.size === 0 ? [] : subjects.filter(({ number }) => created.has(number))
}

/** Quotes the first of these customers, of which there is at least one. */
export function createdCustomersWarning({ kind }: ReportEntry, customers: readonly Subject[]): Warning {
  const [first] = customers as [Subject]
  const list = kind === 'svc_audience' ? 'members' : 'events'
  const quoted = customers.slice(0, QUOTED_MAX).map(({ identities: [customerId] }) => `"${customerId?.value}"`)
  const others = customers.length - quoted.length
  const all = [...quoted, ...(others > 0 ? [`${inDigits(others)} more`] : [])].join(', ')
  const field = `${list}[${first.number % EVENTS_PER_ENTRY_MAX}].customer_id`
  return { kind: 'created_customers', field, problem: `was unknown, and a user was created for it. Created: ${all}` }
}
