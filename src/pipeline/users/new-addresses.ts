// Finds the addresses that entries gave to users who did not have them, as if the entries were applied one by one: a user of the
// batch may have been merged since, with somebody who had the address. Reads and writes no table.
import { EMAIL } from '../../core/users/user-attributes.ts'
import type { User } from '../../store/users/users.ts'
import type { Subject } from '../batch.ts'
import { inLogOrder, type NumberedMerge } from './identity-graph.ts'

/** The address of a user, and the position of the entry that set it. */
export interface UserAddress {
  /** As in `users.email_key`. */
  readonly emailKey: string | null
  /** Less than that of any entry if none did. */
  readonly position: number
}

/** An address that an entry reported of a user, whether or not the user had it. Null takes it away. */
export interface GivenAddress extends UserAddress {
  readonly subject: Subject
  /** The subject's number. */
  readonly number: number
  /** The user at that entry, who may have been merged since. */
  readonly userId: number
}

export interface NewAddress {
  readonly subject: Subject
  readonly emailKey: string
}

const NO_ADDRESS: UserAddress = { emailKey: null, position: -1 }

export function addressOf({ attributes, emailKey }: Pick<User, 'attributes' | 'emailKey'>): UserAddress {
  const position = attributes[EMAIL]?.[2]
  return position === undefined ? NO_ADDRESS : { emailKey, position }
}

/** `before`: the addresses of users before the batch, and before its merges. */
export function findNewAddresses(
  given: readonly GivenAddress[],
  merges: readonly NumberedMerge[],
  before: ReadonlyMap<number, UserAddress>,
): NewAddress[] {
  const addresses = new Map(before)
  const addressAt = (userId: number) => addresses.get(userId) ?? NO_ADDRESS
  const found: NewAddress[] = []
  for (const step of inLogOrder(merges, given)) {
    if ('from' in step) {
      const younger = addressAt(step.from)
      if (younger.position > addressAt(step.into).position) addresses.set(step.into, younger)
      continue
    }
    const { subject, userId, emailKey, position } = step
    const had = addressAt(userId)
    // Entries of other partitions may have been applied before this one.
    if (position < had.position) continue
    if (emailKey !== null && emailKey !== had.emailKey) found.push({ subject, emailKey })
    addresses.set(userId, { emailKey, position })
  }
  return found
}
