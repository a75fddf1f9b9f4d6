// Warns of what only the pipeline can know about the users of a request: customers whom a report created, because a misspelt id
// looks like a new customer; and identifiers that would have joined too many customer ids.
import { NO_WARNINGS, type Warning } from '../../core/app-error.ts'
import { EVENTS_PER_ENTRY_MAX } from '../../core/event.ts'
import { memberPath } from '../../core/field-path.ts'
import { inDigits } from '../../core/in-digits.ts'
import { isReport, type ReadEntry, type ReportEntry, type Subject } from '../batch.ts'
import type { ResolvedUsers } from '../resolve-users.ts'

/** The most new customer ids that a warning quotes. */
const QUOTED_MAX = 5

type Resolved = Pick<ResolvedUsers, 'created' | 'notFollowed'>

/** What a receipt says about the users of a request. */
export interface UserRemarks {
  /** The number of customers of a report for whom users were created. */
  readonly createdCustomers: number
  readonly warnings: readonly Warning[]
}

const NOTHING: UserRemarks = { createdCustomers: 0, warnings: NO_WARNINGS }

export function remarksOnUsers(read: ReadEntry, users: Resolved): UserRemarks {
  return isReport(read) ? remarksOnReport(read, users) : remarksOnSubject(read.subjects[0] as Subject, users)
}

function remarksOnReport(read: ReportEntry, { created }: Resolved): UserRemarks {
  const customers = created.size === 0 ? [] : read.subjects.filter(({ number }) => created.has(number))
  const [first] = customers
  if (!first) return NOTHING
  const list = read.kind === 'svc_audience' ? 'members' : 'events'
  const quoted = customers.slice(0, QUOTED_MAX).map(({ identities: [customerId] }) => `"${customerId?.value}"`)
  const others = customers.length - quoted.length
  const all = [...quoted, ...(others > 0 ? [`${inDigits(others)} more`] : [])].join(', ')
  const field = `${list}[${first.number % EVENTS_PER_ENTRY_MAX}].customer_id`
  const problem = `was unknown, and a user was created for it. Created: ${all}`
  return { createdCustomers: customers.length, warnings: [{ kind: 'created_customers', field, problem }] }
}

function remarksOnSubject(subject: Subject, { notFollowed }: Resolved): UserRemarks {
  const identifiers = notFollowed.get(subject)
  if (!identifiers) return NOTHING
  const problem =
    `was not followed: it would have joined more than ${inDigits(subject.customerIdsMax)} customer ids; ` +
    'only the other ids of the request identified the user'
  const warnings = identifiers.map(({ name }) => {
    return { kind: 'identity_not_followed' as const, field: memberPath('user_identifiers', name), problem }
  })
  return { createdCustomers: 0, warnings }
}
