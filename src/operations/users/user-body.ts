// A user on the wire, as Get user, List users and the export show it.
import { Type } from 'typebox'
import { shownAttributes } from '../../actions/email-protection.ts'
import { toIso } from '../../core/time-value.ts'
import type { Identity } from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import { listNewestIdentifiersOf } from '../../store/users/user-identities.ts'
import type { Store } from '../../store/store.ts'
import { findUsers, measureUsers, type User } from '../../store/users/users.ts'
import { ATTRIBUTE_NUMBERS, IsoTime, Nullable } from '../fields.ts'
import type { Parts } from '../operation.ts'
import { toPortions } from '../portions.ts'

export const UserOutput = {
  customer_id: Nullable(Type.String()),
  attributes: Type.Record(Type.String(), Type.Unknown(), { description: ATTRIBUTE_NUMBERS }),
  user_identifiers: Type.Record(Type.String(), Type.String(), {
    description: 'Name and newest value of each identifier.',
  }),
  created_at: IsoTime,
}

interface UserSettings extends Pick<Parts, 'emailVault'> {
  readonly workspace: Workspace
}

export function toUserBody(user: User, identifiers: readonly Identity[], { workspace, emailVault }: UserSettings) {
  return {
    customer_id: user.customerId,
    attributes: shownAttributes(workspace, user, emailVault),
    user_identifiers: Object.fromEntries(identifiers.map(({ name, value }) => [name, value])),
    created_at: toIso(user.createdAt),
  }
}

/** A user and its body. */
export interface ShownUser {
  readonly id: number
  readonly body: ReturnType<typeof toUserBody>
}

/** Reads users in portions of bounded size, in the order of the ids. Leaves out users that have been merged meanwhile. */
export async function* readUserBodies(
  store: Store,
  ids: readonly number[],
  settings: UserSettings,
): AsyncGenerator<readonly ShownUser[]> {
  for (const portion of toPortions(ids, await measureUsers(store, ids))) {
    const users = new Map((await findUsers(store, portion)).map((user) => [user.id, user]))
    const identifiersOf = await listNewestIdentifiersOf(store, portion)
    yield portion.flatMap((id) => {
      const user = users.get(id)
      return user ? [{ id, body: toUserBody(user, identifiersOf.get(id) ?? [], settings) }] : []
    })
  }
}
