// Stores made-up people with their facts, and returns them as the predicate of segments sees them.
import type { Person, PersonMessage } from '../../../src/core/segments/holds-for.ts'
import { CUSTOMER_ID } from '../../../src/core/users/user.ts'
import { addMessageEvents } from '../../../src/store/campaigns/message-events.ts'
import type { Store } from '../../../src/store/store.ts'
import { addEvents } from '../../../src/store/users/events.ts'
import { removePreferences, savePreferences } from '../../../src/store/users/preferences.ts'
import { addIdentities } from '../../../src/store/users/user-identities.ts'
import { mergeUsers, saveUsers } from '../../../src/store/users/users.ts'
import type { MadeUser } from './segment-arbitraries.ts'

export interface PeopleOrder {
  readonly workspaceId: string
  readonly made: readonly MadeUser[]
  /** The id of the first user. */
  readonly firstId: number
  /** Campaign id → `campaigns.number`. */
  readonly campaigns: ReadonlyMap<string, number>
}

/** User id → the person, without merged users. */
export async function storePeople(store: Store, order: PeopleOrder): Promise<Map<number, Person>> {
  const { made, firstId } = order
  const users = made.map((user, index) => ({ ...user, id: firstId + index, isMerged: index > 0 && user.isMerged }))
  for (const user of users) await storeUser(store, user, order)
  const merged = users.filter((user) => user.isMerged)
  await mergeUsers(
    store,
    merged.map(({ id }) => ({ from: id, into: firstId })),
  )
  await removePreferences(
    store,
    merged.map(({ id }) => id),
  )
  return new Map(
    users.flatMap((user) => {
      if (user.isMerged) return []
      const aliases = user.id === firstId ? [user, ...merged] : [user]
      return [[user.id, toPerson(user, aliases, order)] as const]
    }),
  )
}

type NumberedUser = MadeUser & { readonly id: number }

async function storeUser(store: Store, user: NumberedUser, { workspaceId, campaigns }: PeopleOrder): Promise<void> {
  const { id, createdAt, preference } = user
  const attributes = Object.fromEntries(
    Object.entries(user.attributes).map(([name, value]) => [name, [value, 1, 1] as const]),
  )
  await saveUsers(store, [{ id, workspaceId, customerId: `c${id}`, attributes, emailKey: null, createdAt }])
  const numbers = Array.from({ length: user.customerIds }, (_, index) => id * 10 + index)
  await addIdentities(
    store,
    numbers.map((number) => {
      const identity = { workspaceId, name: CUSTOMER_ID, value: `c${number}`, userId: id, seenAt: 1, seenNumber: null }
      return { ...identity, number, isSingleAlias: false }
    }),
  )
  await addEvents(
    store,
    user.events.map((event, index) => ({
      id: id * 10 + index,
      workspaceId,
      userId: id,
      givenId: null,
      platform: null,
      appVersion: null,
      deviceId: null,
      ip: null,
      projectCode: null,
      receivedAt: 1,
      action: event.action,
      time: event.time,
      attributes: JSON.stringify(event.attributes),
    })),
  )
  await addMessageEvents(
    store,
    messagesOf(user).map((message, index) => ({
      customer: numbers.at(-1) as number,
      kind: message.kind,
      time: message.time,
      platform: 'EMAIL',
      campaign: campaigns.get(message.campaign) as number,
      device: 'd',
      messageId: `m${index}`,
      reason: null,
    })),
  )
  if (preference.updatedAt !== null) await savePreferences(store, [{ userId: id, preference, lastChange: 1 }], [])
}

/** Facts are reported with customer ids. */
function messagesOf(user: MadeUser): MadeUser['messages'] {
  return user.customerIds === 0 ? [] : user.messages
}

function toPerson(user: NumberedUser, aliases: readonly NumberedUser[], { campaigns }: PeopleOrder): Person {
  const messages = aliases.flatMap(messagesOf).flatMap(({ campaign, kind, time }) => {
    return kind === 'delivered'
      ? []
      : [{ campaign: campaigns.get(campaign) as number, kind, time } satisfies PersonMessage]
  })
  const { attributes, preference, createdAt } = user
  return { attributes, events: aliases.flatMap(({ events }) => events), messages, preference, createdAt }
}
